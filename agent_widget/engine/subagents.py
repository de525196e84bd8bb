"""Sub-agents: a call of ``delegate_to_<name>`` is a run of its own inside its card."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from ..core.errors import InvalidArgs, InvalidOptions, ModelError, ToolFailure
from ..core.events import AgentCompleted, AgentSpawned, Event
from ..core.feed import actions_of
from ..core.messages import Conversation, Message, user_message
from ..core.reducer import session_reducer
from ..core.state import SessionState, empty_state
from ..providers.base import Model
from ..tools.base import CallText, Kind, TextBlock, Tool, ToolContext, ToolOutput
from ..tools.registry import register
from .loop import run_loop
from .ports import Ports, toolset_of
from .toolrun import Delegate, cancellation, open_calls

PREFIX: Final = "delegate_to_"
MAX_DEPTH: Final = 3
"""How deep sub-agents may call sub-agents; each of their runs has its own limit of steps."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,48}\Z")
_PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"task": {"type": "string", "description": "What the agent has to do."}},
    "required": ["task"],
    "additionalProperties": False,
}


class Agent(Struct, frozen=True):
    """A helper that the session's model can hand a task to.

    ``name`` matches ``[A-Za-z0-9_-]{1,48}``; ``tools`` None means the session's own tools without
    its helpers; ``model`` None means the session's model. Its questions go to the same person.
    """

    name: str
    description: str
    system: str | None = None
    tools: Sequence[Tool] | None = None
    model: Model | None = None
    max_steps: int = field(default=20)

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            advice = "Use 1 to 48 letters, digits, '-' or '_'."
            raise InvalidOptions(f"The agent name {self.name!r} is not allowed.", advice=advice)


class AgentTool(Delegate):
    """The tool through which the session's model reaches an agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def name(self) -> str:
        return PREFIX + self._agent.name

    @property
    def description(self) -> str:
        return self._agent.description

    @property
    def parameters(self) -> Mapping[str, Any]:
        return _PARAMETERS

    @property
    def read_only(self) -> bool:
        return True  # handing over a task changes nothing; the agent's own calls ask

    @property
    def kind(self) -> Kind:
        return "read"

    def validate(self, args: object) -> Mapping[str, Any]:
        if isinstance(args, Mapping) and isinstance(args.get("task"), str) and len(args) == 1:
            return args
        raise InvalidArgs(self.name, (f"expected {{'task': <string>}}, got {args!r}",))

    def describe(self, args: Mapping[str, Any]) -> CallText:
        return CallText(args["task"])

    async def execute(self, _args: Mapping[str, Any], _context: ToolContext) -> ToolOutput:
        raise ToolFailure(f"{self.name} can only run inside a session.")

    async def run_within(self, ports: Ports, call_id: str, args: dict[str, Any]) -> ToolOutput:
        """Run the agent on ``task``; its last answer is the call's output."""
        if ports.depth >= MAX_DEPTH:
            raise ToolFailure(f"Helpers may be nested {MAX_DEPTH} deep, and this would be deeper.")
        nested = _NestedRun(ports, self._agent, call_id, args["task"])
        ports.emit(AgentSpawned(tool_call_id=call_id, name=self._agent.name))
        try:
            reason = await run_loop(nested.ports)
        except asyncio.CancelledError:
            for call, agent_id in open_calls(nested.state):
                nested.ports.emit(cancellation(call, agent_id))
            _ended(ports, call_id, "aborted")
            raise
        except ModelError as error:
            _ended(ports, call_id, "error", error.message)
            raise ToolFailure(f"The helper {self._agent.name} failed: {error.message}") from error
        _ended(ports, call_id, "completed")
        text = nested.last_text or f"({self._agent.name} gave no answer: {reason})"
        return ToolOutput((TextBlock(text, audience="all"),))


def _ended(ports: Ports, call_id: str, outcome: Any, message: str | None = None) -> None:
    ports.emit(AgentCompleted(tool_call_id=call_id, outcome=outcome, message=message))


class _NestedRun:
    """Surroundings of an agent's run: its own conversation, everything else of its caller."""

    def __init__(self, outer: Ports, agent: Agent, call_id: str, task: str) -> None:
        self._outer = outer
        self._call_id = call_id
        self._task = user_message(f"{call_id}-task", task)
        self.state: SessionState = empty_state()
        given = agent.tools
        own = [tool for tool in outer.toolset().tools if not isinstance(tool, Delegate)]
        toolset = toolset_of(register(own if given is None else given))
        self.ports: Ports = replace(
            outer,
            model=agent.model or outer.model,
            toolset=lambda: toolset,
            system=agent.system,
            conversation=self._conversation,
            emit=self._emit,
            commit=self._commit,
            max_steps=agent.max_steps,
            agent=agent.name,
            depth=outer.depth + 1,
        )

    @property
    def last_text(self) -> str:
        texts = (message.text for message in reversed(self.state.messages))
        return next((text for text in texts if text), "")

    def _conversation(self) -> Conversation:
        messages: list[Message] = [self._task, *self.state.messages]
        return Conversation.of(messages)

    def _emit(self, event: Event) -> None:
        self._fold(event)
        self._outer.emit(self._marked(event))

    async def _commit(self, kind: Any, data: dict[str, Any], *events: Event) -> None:
        marked = tuple(self._marked(event) for event in events)
        await self._outer.commit(kind, {**data, "agent_id": self._call_id}, *marked)
        for event in events:
            self._fold(event)

    def _fold(self, event: Event) -> None:
        if event.agent_id is None:
            for action in actions_of(event):
                self.state = session_reducer(self.state, action)

    def _marked(self, event: Event) -> Event:
        return event if event.agent_id else replace(event, agent_id=self._call_id)
