"""AgentWidget: the chat in a notebook.

The widget declares traits and forwards; ``_Chat`` holds the session, the bridge and the host's
ways of waiting. Clicks come through ``on_msg`` and through the kernel's tap, whichever is first.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import anywidget
import traitlets
from msgspec.structs import replace

from ..core.errors import InvalidOptions, SessionError
from ..core.events import Todo
from ..core.ids import TimeOrderedIds
from ..core.messages import Conversation
from ..core.state import SessionState
from ..engine.approvals import AskUser
from ..engine.permissions import Adjudicator, Permissions
from ..engine.run import ActiveRun, RunResult
from ..engine.runtime import EngineThread, engine_thread
from ..engine.session import DEFAULT_MAX_STEPS, Session
from ..engine.subagents import Agent, AgentTool
from ..extend.settings import ProjectSettings, user_folder, user_rules
from ..policy.options import default_dialect, permission_options
from ..policy.permission import Decision
from ..policy.rules import Problem, rules_of
from ..providers.base import Model
from ..providers.catalog import resolve_model
from ..store.memory import MemoryStore
from ..tools.base import Tool
from ..tools.bash import bash_tool
from ..tools.files import file_tools
from ..tools.notebook import notebook_tools
from ..tools.registry import register
from ..tools.todo import Todo as ToolTodo
from ..tools.todo import todo_tool
from .attendant import WidgetAttendant
from .bridge import Bridge, trait_snapshot
from .fallback import view_as_html, view_as_markdown, view_as_text
from .kernel.context import DisplayContext
from .kernel.host import Host, detect_host
from .kernel.inbox import Inbox
from .kernel.mainthread import HostThread
from .kernel.scriptthread import main_thread
from .kernel.tap import CommTap, install_tap
from .kernel.waiting import refuse_deadlock, wait_async, wait_blocking
from .paths import DiskPaths
from .run import Run

T = TypeVar("T")

STATIC: Final = Path(__file__).parents[1] / "static"
COMMAND_TIMEOUT_S: Final = 30.0

DEFAULT_SYSTEM: Final = """\
You are an assistant inside a Jupyter notebook, next to the user's data. Look before you answer: \
list_variables and describe_variable read the user's variables, run_python runs code in the user's \
own namespace after the user allowed it. Prefer short code whose last expression or plot shows the \
result. read_file, list_files and search_files read the working directory, edit_file, write_file \
and bash change it after the user allowed it. Never guess values you can read. Answer in Markdown, \
briefly."""

SECRET_FILES: Final = (
    "read(**/.env)",
    "read(**/.env.*)",
    "read(**/*.pem)",
    "read(**/*.key)",
    "read(**/id_rsa*)",
    "read(**/id_ed25519*)",
    "read(**/.netrc)",
    "read(**/credentials*)",
)
"""Ask rules that always hold: what reading needs no question for is not secrets."""

HELPER: Final = Agent(
    name="helper",
    description="Hand a self-contained task to a helper agent; it sees only the task text.",
    system="You are a helper agent. Do the task with your tools and report the result briefly.",
)


class AgentWidget(anywidget.AnyWidget):
    """A chat with an agent, next to your data.

    ``model`` is ``"provider:name"``, a ``Model``, or None: then OPENAI_API_KEY decides, and without
    it the offline model answers. ``tools`` are functions or ``@tool`` tools beside those of the
    notebook (``notebook=False`` leaves these out) and of ``workspace``, the folder in which file
    tools and bash work (None leaves them out); ``agents`` are helpers that the model can hand
    tasks to. ``namespace`` is where code runs and variables are read (default: the notebook's).

    ``permission`` is ``{"mode": ..., "rules": {"allow": [...], "ask": [...], "deny": [...]},
    "ask_user": ...}``; modes are default, accept_edits, plan, allow_all and deny_all. ``ask_user``
    (here or there) answers permission questions in code instead of a person: it gets a
    ``Question`` and returns True, False or one of the answer words. ``adjudicator`` judges calls
    that would ask, before a person does.

    Raises InvalidOptions for a model, tool or option that cannot work.
    """

    _esm: ClassVar[Path] = STATIC / "widget.js"
    snapshot = traitlets.Dict().tag(sync=True)

    def __init__(  # noqa: PLR0913  # what a user may choose, all by name
        self,
        model: str | Model | None = None,
        *,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        agents: Sequence[Agent] = (HELPER,),
        system: str | None = None,
        ask_user: AskUser | None = None,
        permission: Mapping[str, Any] | None = None,
        adjudicator: Adjudicator | None = None,
        base_url: str | None = None,
        api_key: str | Callable[[], str] | None = None,
        namespace: dict[str, Any] | None = None,
        notebook: bool = True,
        workspace: str | Path | None = ".",
        max_steps: int = DEFAULT_MAX_STEPS,
        **unknown: object,
    ) -> None:
        _refuse_unknown(unknown)
        ask_user = _one_ask_user(ask_user, permission)
        root = None if workspace is None else Path(workspace)
        permissions, problems = _permissions(permission, adjudicator, root or Path())
        client = resolve_model(model, base_url=base_url, api_key=api_key)
        own = [*(notebook_tools(namespace) if notebook else ()), *_workspace_tools(root)]
        own.append(todo_tool(self._show_todos))
        helpers = [AgentTool(agent) for agent in agents]
        registry = register([*own, *tools, *helpers])
        session = functools.partial(
            Session,
            model=client,
            tools=registry,
            system=system or DEFAULT_SYSTEM,
            permissions=permissions,
            ask_user=ask_user,
            max_steps=max_steps,
            warnings=(*registry.warnings, *map(str, problems)),
        )
        self._chat = _Chat(session, self, has_ask_user=ask_user is not None)
        super().__init__(snapshot=self._chat.first_snapshot())
        self._chat.connect()

    # --- talking -------------------------------------------------------------------------------

    def send(  # a chat's send takes text; ipywidgets' own still works
        self, content: str | dict[str, Any], buffers: Any = None
    ) -> Run:
        """Say something and return at once; the run goes on by itself.

        Raises SessionError INPUT_BLOCKED while a run is under way, INVALID_INPUT for blank text.
        """
        if isinstance(content, dict):
            return super().send(content, buffers)  # type: ignore[no-any-return]
        return self._chat.start(lambda session, context: session.send(content, context))

    def ask(self, text: str, timeout_s: float | None = None) -> RunResult:
        """Say something and wait for the answer: ``send(text).result()``."""
        self._chat.require_waitable()
        return self.send(text).result(timeout_s)

    def stop(self) -> None:
        """Stop the run under way; harmless when nothing runs. Text so far stays."""
        self._chat.stop()

    def retry(self) -> Run:
        """Run again from the last call that finished after the last message of the user."""
        return self._chat.start(lambda session, context: session.retry(context))

    def reset(self) -> None:
        """Start over with an empty conversation. Raises SESSION_BUSY while a run is under way."""
        self._chat.command(self._chat.session.reset)

    def close(self) -> None:
        """Stop what runs, end the session, close the view. Harmless twice."""
        chat: _Chat | None = self.__dict__.get("_chat")  # None: construction failed
        if chat is not None and not sys.is_finalizing():  # then the engine's thread is gone
            chat.close()
        super().close()

    # --- looking -------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The session behind the widget; its methods run on the engine's loop."""
        return self._chat.session

    @property
    def state(self) -> SessionState:
        """Messages, status and error now: an immutable value."""
        return self._chat.session.state

    @property
    def messages(self) -> Conversation:
        """The conversation now: an immutable sequence."""
        return self._chat.session.messages

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        self._chat.displayed = DisplayContext.capture()
        view = self._chat.session.view
        fallback = {
            "text/plain": view_as_text(view),
            "text/markdown": view_as_markdown(view),
            "text/html": view_as_html(view),
        }
        bundle: Any = super()._repr_mimebundle_(**kwargs)
        if isinstance(bundle, tuple):
            return {**fallback, **_without_text(bundle[0])}, *bundle[1:]
        return {**fallback, **_without_text(bundle or {})}

    def __repr__(self) -> str:
        return f"AgentWidget({self._chat.session.model.info.label!r})"

    def _show_todos(self, items: Iterable[ToolTodo]) -> None:
        self._chat.show_todos(items)  # the chat is made after its tools

    # --- traits and messages, for the bridge ---------------------------------------------------

    def send_message(self, content: dict[str, Any]) -> None:
        super().send(content)

    def write_snapshot(self, snapshot: dict[str, Any]) -> None:
        self.snapshot = snapshot

    def click_context(self) -> contextvars.Context | None:
        displayed = self._chat.displayed
        return None if displayed is None else displayed.context.copy()


class _Chat:
    """What an AgentWidget does, apart from its traits."""

    def __init__(
        self, session: Callable[..., Session], widget: AgentWidget, *, has_ask_user: bool
    ) -> None:
        self.displayed: DisplayContext | None = None
        self.host: Host = detect_host()
        self.main: HostThread = main_thread(self.host)
        self.tap: CommTap | None = install_tap(self.host)
        self.engine: EngineThread = engine_thread()
        self.inbox = Inbox(self._deliver)
        self._widget = widget
        self._bridge: Bridge | None = None
        self._has_ask_user = has_ask_user
        self._attendant = WidgetAttendant(
            self.host,
            has_page=lambda: self._bridge is not None and bool(self._bridge.views),
            was_displayed=lambda: self.displayed is not None,
            answer=self._answer,
        )
        self.session = session(
            store=MemoryStore(),
            main=self.main,
            clock_ms=clock_ms,
            new_id=TimeOrderedIds(clock_ms),
            attendant=self._attendant,
        )
        self.command(self.session.open)

    def first_snapshot(self) -> dict[str, Any]:
        return trait_snapshot(self.session.session_id, 0, self.session.view)

    def connect(self) -> None:
        """Join session and browser, once the widget has its comm."""
        self._bridge = Bridge(
            self.session, self._widget, self.engine.loop, self._attendant.page_greeted
        )
        self._widget.on_msg(self._on_msg)
        comm = self._widget.comm
        if self.tap is not None and comm is not None:
            self.tap.watch(comm.comm_id, self.inbox)

    def close(self) -> None:
        comm = self._widget.comm
        if self.tap is not None and comm is not None:
            self.tap.unwatch(comm.comm_id)
        self.command(self.session.close)
        if self._bridge is not None:
            self.engine.call_soon(self._bridge.close)

    def show_todos(self, items: Iterable[ToolTodo]) -> None:
        """Show the plan; called on the thread of the todo tool."""
        shown = tuple(Todo(item.content, item.status) for item in items)
        self.engine.call_soon(self.session.show_todos, shown)

    # --- commands from code --------------------------------------------------------------------

    def start(self, admit: Callable[[Session, contextvars.Context], Any]) -> Run:
        """Admit a run; its tools see the caller's context, so their output is this cell's."""
        context = contextvars.copy_context()
        active: ActiveRun = self.command(lambda: admit(self.session, context))
        return Run(active.run_id, active.future, self)

    def command(self, work: Callable[[], Any]) -> Any:
        """Run ``work()`` on the engine's loop and wait for its answer, which needs no click."""
        if self.engine.is_current:
            raise SessionError(
                "wrong_thread",
                "This was called on the engine's own thread, which it would block.",
                advice="In an async tool, await the session's method instead.",
            )
        return self.engine.submit(work).result(COMMAND_TIMEOUT_S)

    def stop(self) -> None:
        with contextlib.suppress(SessionError):  # nothing runs: fine
            self.command(self.session.stop)

    def stop_run(self, run_id: str) -> None:
        def stop_if_current() -> None:
            if self.session.run_id == run_id:
                self.engine.submit(self.session.stop)

        self.engine.call_soon(stop_if_current)

    # --- waiting -------------------------------------------------------------------------------

    def require_waitable(self) -> None:
        """Raises WaitRefused where a waiting cell would keep the click from arriving."""
        refuse_deadlock(self.host, needs_click=not self._has_ask_user)

    def wait(self, future: Future[RunResult], timeout_s: float | None) -> RunResult:
        if not future.done():
            self.require_waitable()
        with self._attendant.waiting():
            return wait_blocking(
                future,
                main=self.main,
                on_interrupt=self._interrupted,
                tap=self.tap,
                tick=self._attendant.tick,
                timeout_s=timeout_s,
            )

    async def wait_async(self, future: Future[RunResult]) -> RunResult:
        if not future.done():
            self.require_waitable()
        with self._attendant.waiting():
            return await wait_async(
                future,
                main=self.main,
                on_interrupt=self._interrupted,
                tick=self._attendant.tick,
            )

    def _interrupted(self) -> None:
        self.engine.submit(self.session.stop)

    # --- messages of the browser ---------------------------------------------------------------

    def _on_msg(self, _widget: object, content: object, buffers: object) -> None:
        self.inbox.receive(content, buffers, "on_msg")

    def _deliver(self, content: dict[str, Any], _buffers: object, _path: str) -> None:
        if self._bridge is not None:
            self.engine.call_soon(self._bridge.receive, content)

    def _answer(self, permission_id: str, decision: Decision) -> None:
        def decide() -> None:
            with contextlib.suppress(SessionError):  # answered elsewhere meanwhile
                self.session.answer(permission_id, decision)

        self.engine.call_soon(decide)


def _workspace_tools(root: Path | None) -> list[Tool]:
    """File tools and bash for ``root``; without bash where no shell is installed."""
    if root is None:
        return []
    tools: list[Tool] = [*file_tools(root)]
    with contextlib.suppress(InvalidOptions):
        tools.append(bash_tool(root, shell=default_dialect(os.name)))
    return tools


def clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def _without_text(bundle: Mapping[str, Any]) -> dict[str, Any]:
    return {kind: data for kind, data in bundle.items() if kind != "text/plain"}


def _refuse_unknown(unknown: Mapping[str, object]) -> None:
    if unknown:
        names = ", ".join(sorted(unknown))
        advice = "Known options are listed in help(AgentWidget)."
        raise InvalidOptions(f"AgentWidget has no option {names}.", advice=advice)


def _one_ask_user(ask_user: AskUser | None, permission: Mapping[str, Any] | None) -> AskUser | None:
    inner = permission.get("ask_user") if isinstance(permission, Mapping) else None
    if ask_user is not None and inner is not None:
        raise InvalidOptions("ask_user is given twice.", advice="Give it once.")
    chosen = ask_user if ask_user is not None else inner
    if chosen is not None and not callable(chosen):
        advice = "Pass a function that gets a Question and returns True, False or an answer word."
        raise InvalidOptions(f"ask_user is {chosen!r}, which cannot be called.", advice=advice)
    return chosen


def _permissions(
    option: Mapping[str, Any] | None, adjudicator: Adjudicator | None, root: Path
) -> tuple[Permissions, tuple[Problem, ...]]:
    """What lets calls run here: code's own rules, the user's, the project's; and what is wrong."""
    given = permission_options(option, host_shell=default_dialect(os.name))
    user = user_folder()
    project = ProjectSettings(root, user)
    own, own_problems = user_rules(user)
    shared, shared_problems = project.rules()
    secrets = rules_of(ask=SECRET_FILES)
    options = replace(given, rules=given.rules.joined(own, shared, secrets))
    paths = DiskPaths(root)
    permissions = Permissions(options, paths, project=project, adjudicator=adjudicator)
    return permissions, (*own_problems, *shared_problems)


if not (STATIC / "widget.js").exists():  # pragma: no cover - only in an unbuilt checkout
    raise ImportError("The front end is not built. Run `make lab`, or `pip install -e .`, first.")
