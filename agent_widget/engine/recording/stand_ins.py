"""What stands in for tools, rules and agents of a recorded chat where the chat itself is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ...core.errors import InvalidArgs, ToolFailure
from ...core.events import Event, PermissionDecided
from ...policy.options import PermissionOptions, Ruling
from ...policy.paths import Paths
from ...tools.base import CallText, Kind, Tool, ToolContext, ToolOutput
from ...view.model import SessionView
from ..permissions import Judgement, Permissions
from ..subagents import MAIN, Agent, agent_tools
from . import wire
from .diary import plain_text
from .model import TapedModel
from .script import DELEGATE, TRANSFER, RecordedCall, Script
from .tape import Recording

_HANDOVER: Final = "Hand the conversation over to the agent {}. "


class RecordedTool:
    """A tool as the model saw it; its calls are checked and shown as they were."""

    read_only = False  # whether a call asked is recorded
    kind: Kind = "other"

    def __init__(self, spec: wire.Wire, calls: Sequence[RecordedCall]) -> None:
        self.name: str = spec["name"]
        self.description: str = spec["description"]
        self.parameters: Mapping[str, Any] = spec["parameters"]
        self._calls = [call for call in calls if call.tool == self.name]

    def validate(self, args: object) -> Mapping[str, Any]:
        call = next((each for each in self._calls if each.raw == args), None)
        if call is not None and call.invalid is not None:
            raise _refusal(self.name, call.invalid)
        checked = args if call is None else call.args
        if not isinstance(checked, Mapping):
            raise InvalidArgs(self.name, (f"expected an object, got {args!r}",))
        return checked

    def describe(self, args: Mapping[str, Any]) -> CallText:
        plain = plain_text(args)
        for call in self._calls:
            if call.args == args and call.text not in (None, plain):
                return CallText(str(call.text), call.language)
        return CallText(plain or "", "json")

    async def execute(self, _args: Mapping[str, Any], _context: ToolContext) -> ToolOutput:
        raise ToolFailure(f"{self.name} only gives what it gave in the recording.")


def _refusal(tool: str, message: str) -> InvalidArgs:
    """What says ``message``: the problems that were found, one line each."""
    head = InvalidArgs(tool, ("",)).message
    return InvalidArgs(tool, tuple(message.removeprefix(head).split("\n- ")))


class RecordedPermissions(Permissions):
    """Rules on calls as it was ruled; ``heard`` has to be told of all decisions."""

    def __init__(self, calls: Sequence[RecordedCall], paths: Paths) -> None:
        super().__init__(PermissionOptions(), paths)
        self._calls = calls
        self._decided: set[str] = set()

    def heard(self, event: Event, _view: SessionView) -> None:
        if isinstance(event, PermissionDecided):
            self._decided.add(event.tool_call_id)

    def ruling(self, tool: Tool, args: Mapping[str, Any]) -> Ruling:
        call = self._call(tool, args)
        if call is None:
            return Ruling("allow", "mode")
        if call.verdict == "ask":
            return Ruling("ask", "guard" if call.reason else "mode", None, call.reason)
        if call.source == "adjudicator":
            return Ruling("ask", "mode")
        return Ruling(cast("Any", call.verdict), cast("Any", call.source), call.rule, call.reason)

    async def adjudicated(self, tool: Tool, args: Mapping[str, Any]) -> Judgement | None:
        call = self._call(tool, args)
        if call is None or call.source != "adjudicator":
            return None
        return Judgement("safe", call.reason or "")

    def allow_in_project(self, rules: tuple[str, ...], tool: Tool | None = None) -> None:
        """For this session alone: nothing is written."""
        self.allow_for_session(rules, tool)

    def _call(self, tool: Tool, args: Mapping[str, Any]) -> RecordedCall | None:
        """The first such call that is not decided about."""
        same = (
            call
            for call in self._calls
            if call.tool == tool.name and call.args == args and call.call_id not in self._decided
        )
        return next(same, None)


class Cast:
    """The tools and agents of a recorded chat. ``own`` are tools that run again, by their spec."""

    def __init__(self, script: Script, tape: Recording, own: Sequence[Tool]) -> None:
        self._script = script
        self._tape = tape
        self._own = own
        self.agents: list[Agent] = []
        self.tools = self._tools(script.setup.tools)

    def _tools(self, specs: Sequence[wire.Wire]) -> list[Tool]:
        return [self._tool(spec) for spec in specs]

    def _tool(self, spec: wire.Wire) -> Tool:
        name = spec["name"]
        for prefix in (DELEGATE, TRANSFER):
            agent = name.removeprefix(prefix)
            if name.startswith(prefix) and agent != MAIN:
                known = next((each for each in self.agents if each.name == agent), None)
                return agent_tools([known or self._agent(agent, spec, prefix == TRANSFER)])[0]
        for tool in self._own:
            made = {"description": tool.description, "parameters": tool.parameters}
            if tool.name == name and spec == self._tape.plain({"name": name, **made}):
                return tool
        return RecordedTool(spec, self._script.calls)

    def _agent(self, name: str, spec: wire.Wire, is_successor: bool) -> Agent:
        setup = self._script.setups.get(name)
        specs = [] if setup is None else setup.tools
        own = [each for each in specs if not each["name"].startswith(TRANSFER)]
        is_same = setup is None or setup.model == self._script.setup.model
        agent = Agent(
            name,
            spec["description"].removeprefix(_HANDOVER.format(name)),
            system=None if setup is None else setup.system,
            tools=self._tools(own),
            model=None if is_same or setup is None else TapedModel(None, self._tape, setup.model),
            handoff=is_successor,
        )
        self.agents.append(agent)
        return agent
