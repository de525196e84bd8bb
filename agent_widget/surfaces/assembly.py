"""Options as a user writes them, made into an opened session."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypedDict

from msgspec.structs import replace

from ..core.errors import InvalidOptions
from ..core.events import Todo, WhileRunning
from ..core.ids import Clock, IdSource
from ..core.usage import is_amount
from ..engine.approvals import AskUser
from ..engine.hooks import Hooks
from ..engine.permissions import Adjudicator
from ..engine.prompt import SystemPrompt, SystemText
from ..engine.recorder import GRACE_S
from ..engine.recording import Recording
from ..engine.runs import DEFAULT_MAX_STEPS
from ..engine.session import Session
from ..engine.subagents import Agent, agent_tools, own_tools
from ..extend.mcp import McpServers, all_servers, given_servers
from ..extend.settings import user_folder
from ..extend.switches import Switched, UserSwitches
from ..extend.trust import TrustWarning
from ..policy.budget import Budget, RunLimits, budget_option, check_price
from ..policy.compaction import Compaction, compaction_option
from ..policy.hooks import Hook
from ..policy.prompt import ApplicationPrompt
from ..policy.strangers import unmatched_rules
from ..providers.base import Model, ModelInfo
from ..providers.keys import TypedKeys
from ..providers.prices import PriceList, TokenPrices
from ..tools.base import Tool
from ..tools.mcp.client import has_sdk
from ..tools.mcp.config import ServerConfig
from ..tools.notebook import notebook_tools
from ..tools.registry import Registry, registry_of
from ..tools.todo import Todo as ToolTodo
from ..tools.todo import todo_tool
from .defaults import HELPER, Guarding, default_system, guards, workspace_tools
from .driver import Driver, Settings, clock_ms
from .keeping import Where, kept_at
from .keys import KnownKey
from .modelchoice import GivenModel, GivenModels, model_choice
from .optionkinds import require_kinds
from .taping import maker_of, tape_of_options, taped_agents, timed

GivenTool = Tool | Callable[..., Any]


class ChatOptions(TypedDict, total=False):
    """What a chat can be told, by name; ``AgentWidget`` says what each option means."""

    tools: Iterable[GivenTool]
    agents: Sequence[Agent]
    allow_tools: Sequence[str] | None
    exclude_tools: Sequence[str]
    system: SystemText
    system_append: str | None
    ask_user: AskUser | None
    permission: Mapping[str, Any] | None
    adjudicator: Adjudicator | Literal[False] | None
    fallback: Iterable[GivenModel]
    models: Iterable[GivenModel]
    thinking: str | int | None
    auto_retry: bool | None
    base_url: str | None
    api_key: str | Callable[[], str] | None
    namespace: dict[str, Any] | None
    notebook: bool
    workspace: str | Path | None
    max_steps: int
    max_seconds: float | None
    store: Where
    store_grace_s: float
    resume: str | None
    session_id: str | None
    while_running: WhileRunning | None
    input_control: bool
    hooks: Iterable[Hook]
    mcp_servers: Mapping[str, Mapping[str, Any]] | Literal[False] | None
    trust_project_hooks: bool | str
    on_warning: Callable[[TrustWarning], None] | None
    messages: Sequence[Mapping[str, Any]]
    output_type: object
    budget: Budget | Mapping[str, Any] | None
    compaction: Compaction | Mapping[str, Any] | bool | None
    prices: Mapping[str, TokenPrices | Mapping[str, object]] | None
    bare: bool  # no tool and no text but those that are given
    record: str | os.PathLike[str] | Recording | None
    clock_ms: Clock
    new_id: IdSource
    reads_settings: bool  # of the user and of the project: rules and hooks


class Assembly:
    """An opened session with the tools, rules and place that its options name.

    Raises InvalidOptions for what cannot work, SessionError ``session_not_found`` for an unknown
    ``resume``.
    """

    def __init__(
        self,
        model: GivenModels,
        options: ChatOptions,
        *,
        host_adjudicator: Adjudicator | None = None,
        application: Callable[[], ApplicationPrompt | None] = lambda: None,
    ) -> None:
        _require_known(options)
        ask_user = _one_ask_user(options.get("ask_user"), options.get("permission"))
        while_running = options.get("while_running")
        if while_running not in (None, "block", "steer"):
            advice = "Use 'block' or 'steer'."
            raise InvalidOptions(f"while_running={while_running!r} is no rule.", advice=advice)
        kept = kept_at(options.get("store"), options.get("resume"), options.get("session_id"))
        workspace = options.get("workspace", ".")
        root = None if workspace is None else Path(workspace)
        self.keys = TypedKeys()
        known = KnownKey(options.get("api_key"))
        guarding = Guarding(
            options.get("permission"),
            options.get("adjudicator"),
            tuple(options.get("hooks", ())),
            options.get("trust_project_hooks", False),
            options.get("on_warning"),
            options.get("reads_settings", True),
        )

        def hidden(text: str) -> str:
            return self.keys.hidden(known.hidden(text))

        guarded = guards(guarding, host_adjudicator, root or Path(), hidden)
        self._servers = self._mcp_servers(options, guarded.servers, root or Path())
        self._tape = tape_of_options(model, options)
        if self._tape is not None:
            self._tape.masks.add_source(lambda: known.values)
        budget, prices = budget_option(options.get("budget")), PriceList(options.get("prices"))

        def check(each: Model) -> None:
            _check_priced(budget, prices, each.info)

        kept_switches = _user_switches(options)
        switched = Switched() if kept_switches is None else kept_switches.read()
        auto_retry = _first(options.get("auto_retry"), switched.auto_retry, True)
        named = {**options, "api_key": known.key, "auto_retry": auto_retry}
        choice = model_choice(model, named, self.keys, check, maker_of(self._tape))
        agents = [
            choice.equipped(agent, check)
            for agent in taped_agents(options.get("agents", (HELPER,)), self._tape)
        ]
        self._own = self._own_tools(options, root)
        self._helpers = agent_tools(agents)
        self._allow = options.get("allow_tools")
        self._exclude = options.get("exclude_tools", ())
        registry = self.registry_with(options.get("tools", ()))
        known_tools = {*registry.names, *self._exclude, *(t.name for t in self._own)}
        known_tools |= {tool.name for agent in agents for tool in own_tools(agent, ())}
        make = functools.partial(
            Session,
            model=choice.model,
            models=timed(choice.options, self._tape),
            tools=registry,
            agents=agents,
            system=SystemPrompt(
                options.get("system"),
                default=None if options.get("bare", False) else default_system,
                append=options.get("system_append"),
                application=application,
            ),
            permissions=guarded.permissions,
            hooks=guarded.hooks,
            ask_user=ask_user,
            max_steps=options.get("max_steps", DEFAULT_MAX_STEPS),
            max_seconds=options.get("max_seconds"),
            while_running=while_running,
            input_control=options.get("input_control", False),
            output_type=options.get("output_type"),
            budget=budget,
            compaction=_compaction(options.get("compaction"), switched.auto_compaction),
            settings=kept_switches,
            prices=prices,
            store_grace_s=options.get("store_grace_s", GRACE_S),
            warnings=(
                *registry.warnings,
                *guarded.notices,
                *map(str, switched.problems),
                *unmatched_rules(guarded.given, known_tools),
                *unmatched_rules(guarded.kept, known_tools, only_slips=True),
            ),
        )
        can_answer = ask_user is not None or (self._tape is not None and self._tape.is_replay)
        settings = _settings(options, self._tape)
        self.driver = Driver(make, kept, has_ask_user=can_answer, settings=settings)
        if self._servers is not None:
            self._start(self._servers, guarded.hooks)
        if history := options.get("messages", ()):
            self.driver.command(lambda: self.driver.session.context.preload([*history]))

    def registry_with(self, given: Iterable[GivenTool]) -> Registry:
        """All tools of the session when ``given`` are those of code."""
        given = [*given]
        registry = registry_of(
            builtin=self._own,
            extension=self._mcp_tools,
            sdk=[*given, *self._helpers],
            allow=self._allow,
            exclude=self._exclude,
        )
        self._given = given
        return registry

    @property
    def _mcp_tools(self) -> tuple[Tool, ...]:
        return () if self._servers is None else self._servers.tools

    def _mcp_servers(
        self, options: ChatOptions, found: tuple[ServerConfig, ...], root: Path
    ) -> McpServers | None:
        """The servers of code and those that were ``found`` in files; None when there are none."""
        option = options.get("mcp_servers")
        if option is False or (option is None and options.get("bare", False)):
            return None
        configs = all_servers(given_servers(option), found)
        if not configs or not has_sdk():
            return None
        return McpServers(configs, folder=root)

    def _start(self, servers: McpServers, hooks: Hooks) -> None:
        session = self.driver.session

        async def refresh() -> None:
            registry = self.registry_with(self._given)
            await session.refresh_tools(replace(registry, warnings=()))

        if session.view.storage.read_only is not None:  # nothing can be called here
            return
        hooks.ready = servers.ready
        self.driver.companion = servers
        self.driver.command(lambda: servers.attach(session, refresh))

    def _own_tools(self, options: ChatOptions, root: Path | None) -> list[Tool]:
        if options.get("bare", False):
            return []
        notebook = options.get("notebook", True)
        own = [*(notebook_tools(options.get("namespace")) if notebook else ())]
        todo = todo_tool(self._show_todos)
        if self._tape is not None:
            self._tape.always_run(todo)
        return [*own, *workspace_tools(root), todo]

    def _show_todos(self, items: Iterable[ToolTodo]) -> None:
        """Show the plan; called on the thread of the todo tool, when the session is long there."""
        shown = tuple(Todo(item.content, item.status) for item in items)
        self.driver.engine.submit(lambda: self.driver.session.show_todos(shown))


def _user_switches(options: ChatOptions) -> UserSwitches | None:
    """The switches of the user's settings, for sessions that read settings."""
    if options.get("bare", False) or not options.get("reads_settings", True):
        return None
    return UserSwitches(user_folder())


def _compaction(option: object, auto: bool | None) -> Compaction:
    """What code says of compaction, and ``auto`` where it does not say that."""
    if option is None:
        option = auto
    elif isinstance(option, Mapping) and auto is not None:
        option = {"auto": auto, **option}
    return compaction_option(option)


def _first(*values: bool | None) -> bool:
    """The first of ``values`` that says something."""
    return next(value for value in values if value is not None)


def _settings(options: ChatOptions, tape: Recording | None) -> Settings:
    """Time, ids and recording: those of code, else those of a replay, else the usual ones."""
    usual = (None, None) if tape is None else (tape.clock_ms, tape.new_id)
    return Settings(
        options.get("clock_ms") or usual[0] or clock_ms, options.get("new_id") or usual[1], tape
    )


def _require_known(options: Mapping[str, object]) -> None:
    """Refuse options that there are not, and values of the wrong kind. Raises InvalidOptions."""
    known = ChatOptions.__annotations__
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"Did you mean {near[0]}?" if near else "Known ones: help(AgentWidget)."
            raise InvalidOptions(f"There is no option {name}.", advice=hint)
    require_kinds(options)
    for name in ("tools", "agents", "hooks"):
        value = options.get(name, ())
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise InvalidOptions(f"{name}={value!r} is no list.", advice=f"Write {name}=[…].")
    _require_each("agents", options.get("agents", ()), Agent, "Pass Agent(…) objects.")
    _require_each("hooks", options.get("hooks", ()), Hook, "Make them with python_hook(…).")
    steps = options.get("max_steps", 1)
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise InvalidOptions(f"max_steps={steps!r} is no whole number above 0.")
    RunLimits(max_seconds=options.get("max_seconds"))  # type: ignore[arg-type]
    grace_s = options.get("store_grace_s", GRACE_S)
    if not is_amount(grace_s) or not grace_s:
        raise InvalidOptions(f"store_grace_s={grace_s!r} is no number of seconds above 0.")
    for name in ("prices", "namespace"):
        value = options.get(name)
        if value is not None and not isinstance(value, Mapping):
            raise InvalidOptions(f"{name}={value!r} is no mapping.")


def _require_each(name: str, values: Any, kind: type, advice: str) -> None:
    for value in values:
        if not isinstance(value, kind):
            raise InvalidOptions(f"{name} holds {value!r}.", advice=advice)


def _check_priced(budget: Budget | None, prices: PriceList, info: ModelInfo) -> None:
    """Refuse a model that a limit in dollars could not limit. Raises InvalidOptions."""
    if budget is None or budget.max_usd is None or info.offline:
        return
    now_ms = clock_ms()
    currency = prices.currency(info.name, base_url=info.base_url, at_ms=now_ms)
    check_price(budget, info.label, currency)


def _one_ask_user(ask_user: AskUser | None, permission: Mapping[str, Any] | None) -> AskUser | None:
    inner = permission.get("ask_user") if isinstance(permission, Mapping) else None
    if ask_user is not None and inner is not None:
        raise InvalidOptions("ask_user is given twice.", advice="Give it once.")
    chosen = ask_user if ask_user is not None else inner
    if chosen is not None and not callable(chosen):
        advice = "Pass a function that gets a Question and returns True, False or an answer word."
        raise InvalidOptions(f"ask_user is {chosen!r}, which cannot be called.", advice=advice)
    return chosen
