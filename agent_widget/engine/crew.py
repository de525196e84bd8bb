"""Who can answer in a session, and with which tools: immutable values, replaced as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidOptions
from ..core.events import Event, ModelChanged, ToolsChanged, WhileRunning
from ..policy.models import NO_THINKING, clamped_level
from ..providers.base import Model
from ..tools.base import Tool
from ..tools.registry import Registry, active_names, refreshed_active, register
from .ports import Toolset, toolset_of
from .prompt import System
from .retry import Lineup
from .subagents import MAIN, Agent, own_tools, transfer_tools


class Toolbox(Struct, frozen=True):
    """All tools of an agent, and those that its model has.

    An unchanged set stays the very same ``active`` object: the same bytes at every request.
    """

    tools: Registry
    active: Toolset

    @classmethod
    def of(cls, tools: Registry) -> Toolbox:
        return cls(tools, toolset_of(tools))

    @property
    def names(self) -> tuple[str, ...]:
        return self.active.tools.names

    def choosing(self, names: Sequence[str]) -> Toolbox:
        """With these tools active, in this order; unknown names are left out."""
        return self._with(self.tools, active_names(self.tools.names, names))

    def refreshed(self, tools: Registry) -> Toolbox:
        """With ``tools`` as all there are: a new one is active, what was switched off stays off."""
        return self._with(tools, refreshed_active(tools.names, self.tools.names, self.names))

    def _with(self, tools: Registry, names: Sequence[str]) -> Toolbox:
        chosen = tools.only(names)
        is_same = [*chosen] == [*self.active.tools]
        return Toolbox(tools, self.active if is_same else toolset_of(chosen))


class Member(Struct, frozen=True):
    """One who can answer; ``agent`` is None for the session's own.

    ``while_running`` is its rule for messages; ``control`` the tool with which it changes it.
    """

    name: str
    model: Model
    system: System
    toolbox: Toolbox
    agent: Agent | None = None
    while_running: WhileRunning | None = None
    control: tuple[Tool, ...] = ()


class Crew(Struct, frozen=True):
    """The session's own agent, called ``MAIN``, those it may hand over to, and who answers now.

    ``fallback`` takes over where a model fails, ``thinking`` is how much all of them shall think
    (None: as their servers like), ``alias`` the name of the session's model, and ``choices`` those
    that a person can choose from.
    """

    members: Mapping[str, Member]
    name: str = MAIN
    fallback: tuple[Model, ...] = ()
    thinking: str | None = None
    alias: str = ""
    choices: tuple[str, ...] = ()

    @property
    def current(self) -> Member:
        return self.members[self.name]

    @property
    def own_model(self) -> Model:
        """The model of the session, and of agents that have none of their own."""
        return self.members[MAIN].model

    @property
    def lineup(self) -> Lineup:
        """The models of a run that begins now."""
        return Lineup((self.current.model, *self.fallback), self.thinking)

    @property
    def others(self) -> tuple[str, ...]:
        """The names that the conversation can go to."""
        return tuple(name for name in self.members if name != self.name)

    def handed_to(self, name: str) -> Crew:
        return replace(self, name=name)

    def choosing(self, names: Sequence[str]) -> Crew:
        """With these tools active for who answers now."""
        member = self.current
        chosen = replace(member, toolbox=member.toolbox.choosing(names))
        return replace(self, members={**self.members, self.name: chosen})

    def refreshed(self, tools: Registry) -> Crew:
        """With ``tools`` as the session's own, also for agents that have none of their own."""
        agents = tuple(member.agent for member in self.members.values() if member.agent)
        members = {
            name: replace(member, toolbox=member.toolbox.refreshed(_tools(member, tools, agents)))
            for name, member in self.members.items()
        }
        return replace(self, members=members)

    def with_model(self, model: Model, alias: str) -> Crew:
        """With ``model`` as the session's own; it thinks as much as before, if it can."""
        members = {
            name: member
            if member.agent is not None and member.agent.model is not None
            else replace(member, model=model)
            for name, member in self.members.items()
        }
        thinking = self.thinking
        if thinking is not None:
            thinking = clamped_level(thinking, model.info.thinking_levels or NO_THINKING)
        return replace(self, members=members, thinking=thinking, alias=alias)

    def with_thinking(self, level: str) -> Crew:
        return replace(self, thinking=level)

    def choosing_from(self, choices: tuple[str, ...]) -> Crew:
        """With these as the models to choose from."""
        return replace(self, choices=choices)

    def changes_since(self, before: Crew) -> list[Event]:
        """The events that tell the way from ``before`` to this."""
        events: list[Event] = []
        if self.name != before.name or self.current.model is not before.current.model:
            events.append(self.model_changed)
        now, then = self.current.toolbox, before.current.toolbox
        if now.active is not then.active:
            events.append(ToolsChanged(names=now.names, previous=then.names))
        return events

    @property
    def model_changed(self) -> ModelChanged:
        """What tells which model answers, and for whom."""
        info = self.current.model.info
        label = info.label if self.name == MAIN else f"{self.name} · {info.label}"
        return ModelChanged(
            label=label,
            offline=info.offline,
            notice=info.notice,
            alias=self.alias,
            choices=self.choices,
            thinking_levels=info.thinking_levels,
            thinking=self.thinking,
        )

    @property
    def stored(self) -> dict[str, Any]:
        """What a record says of it."""
        return {"agent": self.name, "tools": [*self.current.toolbox.names]}

    @property
    def models(self) -> tuple[Model, ...]:
        """The models of all of them, and those that take over."""
        return (*(member.model for member in self.members.values()), *self.fallback)


def crew_of(
    model: Model,
    system: System,
    tools: Registry,
    agents: Iterable[Agent],
    while_running: WhileRunning | None,
    control_of: Callable[[str], Tool],
) -> Crew:
    """The crew of a session that has these tools, and of the agents that it knows.

    ``while_running`` is the rule of the session's own agent, ``control_of`` makes the tool with
    which an agent of that name changes its own. Raises InvalidOptions for two agents of one name,
    or one that is called ``MAIN``.
    """
    agents = tuple(agents)
    toolbox = Toolbox.of(tools)
    members = {MAIN: Member(MAIN, model, system, toolbox, while_running=while_running)}
    for agent in agents:
        if agent.name in members:
            advice = "Give each agent a name of its own."
            raise InvalidOptions(f"There is already an agent {agent.name!r}.", advice=advice)
        member = Member(
            agent.name,
            agent.own_model or model,
            agent.system,
            members[MAIN].toolbox,
            agent,
            agent.while_running,
            (control_of(agent.name),) if agent.input_control else (),
        )
        toolbox = Toolbox.of(_tools(member, tools, agents))
        members[agent.name] = replace(member, toolbox=toolbox)
    return Crew(members)


def _tools(member: Member, tools: Registry, agents: tuple[Agent, ...]) -> Registry:
    if member.agent is None:
        return tools
    own = own_tools(member.agent, tools)
    return register([*own, *transfer_tools(member.agent, agents), *member.control])
