"""Other agents: a call of ``delegate_to_<name>`` is a run of its own inside its card, one of
``transfer_to_<name>`` hands the session over.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from ..core.errors import Cancelled, InvalidArgs, InvalidOptions, SessionError, ToolFailure
from ..core.events import (
    AgentCompleted,
    AgentProgress,
    AgentSpawned,
    Event,
    ProviderSwitched,
    RetryScheduled,
    ToolStarted,
    UsageUpdated,
    WhileRunning,
)
from ..core.feed import actions_of
from ..core.messages import Conversation, Message, user_message
from ..core.reducer import session_reducer
from ..core.replay import call_failure
from ..core.retraction import without_answer
from ..core.state import SessionState, empty_state
from ..providers.base import Model
from ..tools.base import CallText, Handoff, Kind, TextBlock, Tool, ToolContext, ToolOutput
from ..tools.registry import register
from ..tools.results import result_output
from .handoff import Handover
from .helperroom import HelperCompactor
from .inputcontrol import InputControl
from .loop import run_loop
from .ports import Ports, toolset_of
from .room import Room
from .toolrun import Delegate, left_open

MAIN: Final = "main"
"""The name of the session's own agent."""
PREFIX: Final = "delegate_to_"
TRANSFER_PREFIX: Final = "transfer_to_"
MAX_DEPTH: Final = 3
"""How deep sub-agents may call sub-agents; each of their runs has its own limit of steps,
and one run of the session starts at most ``MAX_AGENT_RUNS`` of them."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,48}\Z")
_PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"task": {"type": "string", "description": "What the agent has to do."}},
    "required": ["task"],
    "additionalProperties": False,
}
_NO_PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {},
    "additionalProperties": False,
}
_NO_HANDOFF: Final = (
    "A helper cannot hand the conversation over: its caller waits for its answer. Answer with what"
    " you have, and say who should go on."
)


class Agent(Struct, frozen=True):
    """A helper that the session's model can hand a task to, or the whole conversation.

    ``name`` matches ``[A-Za-z0-9_-]{1,48}`` and is not ``main``; ``tools`` None means the session's
    own tools without its helpers; ``model`` None means the session's model, a name is one as for
    the session. Its questions go to
    the same person. ``max_steps`` bounds the run of one task. With ``handoff`` the model has
    ``transfer_to_<name>`` in place of ``delegate_to_<name>``, and the agent tools to hand over to
    ``main`` and to the others that have it. While it has the conversation, ``while_running`` says
    what happens to messages, and with ``input_control`` it may change that itself.
    """

    name: str
    description: str
    system: str | None = None
    tools: Sequence[Tool | Callable[..., Any]] | None = None
    model: Model | str | None = None
    max_steps: int = field(default=20)
    handoff: bool = False
    while_running: WhileRunning | None = None
    input_control: bool = False

    def __post_init__(self) -> None:
        if self.while_running not in (None, "block", "steer"):
            message = f"while_running={self.while_running!r} is no rule."
            raise InvalidOptions(message, advice="Use 'block' or 'steer'.")
        name: object = self.name
        if name == MAIN or not isinstance(name, str) or not _NAME.match(name):
            advice = f"Use 1 to 48 letters, digits, '-' or '_', and not {MAIN!r}."
            raise InvalidOptions(f"The agent name {name!r} is not allowed.", advice=advice)
        self._require_kinds()
        if self.tools is not None:
            force_setattr(self, "tools", tuple(register(self.tools)))

    def _require_kinds(self) -> None:
        tools: object = self.tools
        steps: object = self.max_steps
        wrong = {
            "description": ("text", isinstance(self.description, str)),
            "system": ("text", isinstance(self.system, str | None)),
            "tools": ("a list", tools is None or _is_list(tools)),
            "model": ("a model or its name", isinstance(self.model, str | Model | None)),
            "max_steps": ("a whole number above 0", type(steps) is int and steps > 0),
            "handoff": ("True or False", isinstance(self.handoff, bool)),
            "input_control": ("True or False", isinstance(self.input_control, bool)),
        }
        for name, (right, fits) in wrong.items():
            if not fits:
                value = getattr(self, name)
                text = f"{name}={value!r} of the agent {self.name!r} cannot be."
                raise InvalidOptions(text, advice=f"Give {right}.")

    @property
    def own_model(self) -> Model | None:
        """Its model, if not that of the session. Raises InvalidOptions for one that is a name."""
        if isinstance(self.model, str):
            text = f"Nobody made a model of model={self.model!r} of the agent {self.name!r}."
            raise InvalidOptions(text, advice="Pass a model object here.")
        return self.model


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def agent_tools(agents: Iterable[Agent]) -> list[Tool]:
    """The tools through which the session's own agent reaches ``agents``, in their order."""
    return [_transfer(agent) if agent.handoff else AgentTool(agent) for agent in agents]


def transfer_tools(own: Agent, agents: Iterable[Agent]) -> list[Tool]:
    """The tools through which ``own`` hands over to the session's own agent and to others."""
    if not own.handoff:
        return []
    others = [agent for agent in agents if agent.handoff and agent.name != own.name]
    return [TransferTool(MAIN, "The assistant the user began with."), *map(_transfer, others)]


def own_tools(agent: Agent, tools: Iterable[Tool]) -> Sequence[Tool]:
    """The tools of ``agent`` in a session that has ``tools``."""
    if agent.tools is not None:
        return tuple(register(agent.tools))
    return [tool for tool in tools if not isinstance(tool, Delegate | TransferTool | InputControl)]


class TransferTool:
    """A tool that hands the session to the agent of a name."""

    def __init__(self, agent: str, description: str) -> None:
        self._agent = agent
        self._description = description

    @property
    def name(self) -> str:
        return TRANSFER_PREFIX + self._agent

    @property
    def description(self) -> str:
        return f"Hand the conversation over to the agent {self._agent}. {self._description}"

    @property
    def parameters(self) -> Mapping[str, Any]:
        return _NO_PARAMETERS

    @property
    def read_only(self) -> bool:
        return True  # the agent's own calls ask

    @property
    def kind(self) -> Kind:
        return "read"

    def validate(self, args: object) -> Mapping[str, Any]:
        if args == {}:
            return {}
        raise InvalidArgs(self.name, (f"expected no arguments, got {args!r}",))

    def describe(self, _args: Mapping[str, Any]) -> CallText:
        return CallText(f"Hand over to {self._agent}")

    async def execute(self, _args: Mapping[str, Any], _context: ToolContext) -> ToolOutput:
        return result_output(Handoff(self._agent))


def _transfer(agent: Agent) -> TransferTool:
    return TransferTool(agent.name, agent.description)


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
        ports.agent_runs.require_one()
        nested = _NestedRun(ports, self._agent, call_id, args["task"])
        name = self._agent.name
        spawned = AgentSpawned(tool_call_id=call_id, name=name)
        await ports.commit("agent_run", {"tool_call_id": call_id, "name": name}, spawned)
        try:
            reason = await run_loop(nested.ports)
        except asyncio.CancelledError:
            await _ended(ports, call_id, "aborted", nested.left_open(ports.why_stopped()))
            raise
        except SessionError as error:
            left = nested.left_open("error")
            await _ended(ports, call_id, "error", left, message=error.message)
            raise ToolFailure(f"The helper {name} failed: {error.message}") from error
        if reason == "interrupted":
            await _ended(ports, call_id, "aborted", nested.left_open(ports.why_stopped()))
            raise Cancelled
        await _ended(ports, call_id, "completed")
        text = nested.last_text or f"({self._agent.name} gave no answer: {reason})"
        return ToolOutput((TextBlock(text, audience="all"),))


async def _nothing_waits(_step: int) -> None:
    """What a person sends goes to the session's own agent."""


async def _is_over() -> bool:
    return False


async def _ended(
    ports: Ports,
    call_id: str,
    outcome: Any,
    calls: Sequence[dict[str, Any]] = (),
    message: str | None = None,
) -> None:
    told = AgentCompleted(tool_call_id=call_id, outcome=outcome, message=message)
    calls = ports.left.results.told(calls)
    data = {"tool_call_id": call_id, "outcome": outcome, "message": message, "open_calls": calls}
    await ports.commit("agent_run", data, *map(call_failure, calls), told)


class _NestedRun:
    """Surroundings of an agent's run: its own conversation, everything else of its caller."""

    def __init__(self, outer: Ports, agent: Agent, call_id: str, task: str) -> None:
        self._outer = outer
        self._call_id = call_id
        self._task = user_message(f"{call_id}-task", task)
        self.state: SessionState = empty_state()
        self._compactor: HelperCompactor | None = None
        if outer.room is not None:
            self._compactor = HelperCompactor(outer.room.main, self._work, self._tell)
        toolset = toolset_of(register(own_tools(agent, outer.toolset().tools)))
        self.ports: Ports = replace(
            outer,
            lineup=outer.lineup if (own := agent.own_model) is None else outer.lineup.led_by(own),
            toolset=lambda: toolset,
            system=agent.system,
            conversation=self._conversation,
            room=self._compactor and Room(self._compactor.main, self._compactor),
            emit=self._emit,
            commit=self._commit,
            max_steps=agent.max_steps,
            before_request=_nothing_waits,
            goes_on=_is_over,
            handover=Handover(refusal=_NO_HANDOFF),
            left=outer.left.within(call_id),
            agent=agent.name,
            agent_id=call_id,
            final=None,
            depth=outer.depth + 1,
        )

    @property
    def last_text(self) -> str:
        texts = (message.text for message in reversed(self.state.messages))
        return next((text for text in texts if text), "")

    def left_open(self, reason: str) -> list[dict[str, Any]]:
        return left_open(self.state, reason, self._call_id)

    def _conversation(self) -> Conversation:
        work = self._work() if self._compactor is None else self._compactor.read()
        return Conversation.of([self._task, *work])

    def _work(self) -> Sequence[Message]:
        return self.state.messages[:]

    def _tell(self, message: str) -> None:
        self._outer.emit(AgentProgress(tool_call_id=self._call_id, message=message))

    def _emit(self, event: Event) -> None:
        self._fold(event)
        self._outer.emit(self._marked(event))
        if isinstance(event, ToolStarted) and event.agent_id is None:
            self._tell(f"Calls {event.name}")

    async def _commit(self, kind: Any, data: dict[str, Any], *events: Event) -> None:
        marked = tuple(self._marked(event) for event in events)
        await self._outer.commit(kind, {"agent_id": self._call_id, **data}, *marked)
        for event in events:
            self._fold(event)

    def _fold(self, event: Event) -> None:
        if event.agent_id is not None:
            return
        if isinstance(event, UsageUpdated) and self._compactor is not None:
            self._compactor.counted(event)
        if isinstance(event, RetryScheduled | ProviderSwitched):
            if event.message_id is not None:
                self.state = without_answer(self.state, event.message_id)
        else:
            for action in actions_of(event):
                self.state = session_reducer(self.state, action)

    def _marked(self, event: Event) -> Event:
        return event if event.agent_id else replace(event, agent_id=self._call_id)
