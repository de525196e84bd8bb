"""AgentWidget: the chat in a notebook.

The widget declares traits and forwards: ``Assembly`` makes the session, ``Driver`` waits for its
runs, ``Chat`` holds the bridge to the page. Clicks come through ``on_msg`` and through the kernel's
tap, whichever is first.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Protocol, Self

import traitlets

from ..core.errors import InvalidOptions
from ..core.events import CompactionResult, WhileRunning
from ..core.messages import Conversation
from ..core.state import SessionState
from ..engine.approvals import AskUser
from ..engine.permissions import Adjudicator
from ..engine.prompt import SystemText
from ..engine.recorder import GRACE_S
from ..engine.recording import Recording, ReplayMismatch
from ..engine.run import ActiveRun, RunResult
from ..engine.session import DEFAULT_MAX_STEPS, Session
from ..engine.subagents import Agent
from ..extend.trust import TrustWarning
from ..policy.budget import Budget
from ..policy.compaction import Compaction
from ..policy.hooks import Hook
from ..policy.prompt import ApplicationPrompt
from ..providers.prices import TokenPrices
from ..tools.base import Tool
from ..view.live import Delivery, delivery_of
from ..view.locale.words import locale_of
from .assembly import Assembly, ChatOptions
from .branches import Branches
from .chat import Chat
from .commands import ShellCommands
from .defaults import HELPER
from .embedding import EmbeddableWidget, front_end
from .fallback import view_as_html, view_as_markdown, view_as_text
from .images import prompt_of
from .keeping import Where
from .kernel.context import DisplayContext
from .kernel.reruns import run_cells
from .modelchoice import GivenModel, GivenModels
from .run import Run

LOCALE_VARIABLE: Final = "AGENT_WIDGET_LOCALE"


class Assembled(Protocol):
    """A session that was made elsewhere (``ChatSession``)."""

    @property
    def assembly(self) -> Assembly: ...


class AgentWidget(EmbeddableWidget):
    """A chat with an agent, next to your data.

    ``model`` is ``"provider:name"``, a ``Model``, or None: then OPENAI_API_KEY decides, and without
    it the offline model answers. With a list, or with ``fallback``, the next model takes over where
    one fails; ``models`` are those to choose from in the page (none: all that are known),
    ``thinking`` is how much the model thinks (off, minimal, low, medium, high or xhigh, or a number
    of tokens; None: as its server likes), and ``auto_retry`` makes calls that failed in passing
    again (None: as your settings say, else it does). ``api_key`` is a key, or a function that is
    called for each request; it and ``base_url`` are for the server of the first model alone.

    ``tools`` are functions or ``@tool`` tools beside those of the notebook (``notebook=False``
    leaves these out) and of ``workspace``, the folder in which file tools and bash work (None
    leaves them out); ``agents`` are helpers that the model can hand tasks to, or the conversation.
    Of all of these, those named in ``allow_tools`` (None: all) and not in ``exclude_tools`` are
    there. ``namespace`` is where code runs and variables are read (default: the notebook's);
    ``system`` is a text, or a function from the names of the active tools to one, and
    ``system_append`` follows it, or the default text. A deployment may set
    ``AgentWidget.application_prompt``: from the next run on it stands where there is no
    ``system``, or before it, as its policy says.

    ``permission`` is ``{"mode": ..., "rules": {"allow": [...], "ask": [...], "deny": [...]},
    "ask_user": ...}``; modes are default, accept_edits, plan, allow_all and deny_all. ``ask_user``
    (here or there) answers permission questions in code instead of a person: it gets a
    ``Question`` and returns True, False or one of the answer words. ``adjudicator`` judges calls
    that would ask, before a person does; without it ``AgentWidget.host_adjudicator``, which a
    deployment may set, does so unless a mode is given. False switches both off.

    ``store`` is where the chat is kept: a file (``"chats.db"``), a folder, a database URL or a
    ``SessionStore``; without it AGENT_WIDGET_STORE decides, else memory, until the kernel ends. One
    that has not answered for ``store_grace_s`` keeps nobody waiting any more: commands are refused,
    and what happens waits to be written.
    ``resume`` goes on with a stored session: its id, or ``"last"``. ``session_id`` names the
    session and goes on with it if it is there. ``while_running`` says what happens to messages
    sent while the agent works: ``"block"`` (default) or ``"steer"``; with ``input_control`` the
    agent may change that itself. A run ends after ``max_steps`` model calls, or ``max_seconds`` on
    the clock.
    ``budget`` is a ``Budget``, or a mapping of ``max_usd``, ``max_total_tokens`` and
    ``on_exceeded``; ``prices`` are those of models that are in no list, per million tokens:
    ``{"my-model": {"input_mtok": 0.25, "output_mtok": 2}}``.

    ``compaction`` says when a long conversation is summarised by itself: a ``Compaction``, a
    mapping of its fields, or False for never.

    ``hooks`` are hooks of code (``python_hook``) beside those of your settings; those of the
    project run only with ``trust_project_hooks``: True, or the fingerprint of the warning that
    ``on_warning`` gets (else it is a notice), which holds for exactly that content.
    ``mcp_servers`` maps names to MCP servers: ``{"command": ..., "args": [...], "env": {...}}`` or
    ``{"url": ..., "headers": {...}}`` (needs ``agent_widget[mcp]``). Their tools ask unless a rule
    allows them; those of your settings and of a trusted project come beside them, False leaves
    all out.
    ``delivery`` is a mapping of ``text`` (stream, final) and ``thinking`` (stream, final, off):
    when the page shows them. ``locale`` is the language of the chat: ``"de"``, ``"en"``, ``"fr"``,
    ``"es"``, ``"ja"``, ``"zh"``, ``"ar"``, also with a region; without it AGENT_WIDGET_LOCALE
    decides, else the page that shows the chat. What people, tools and models say stays as it is.
    ``record`` is a file for all that models, tools and people answer, or a ``Recording``: it is
    written where there is none, else played. ``model=replay(file)`` only plays.
    ``output_type`` is the shape of answers (see ``query``). With ``session``, a ``ChatSession``,
    the widget shows that one and the other options are not used: code, page and tests drive the
    same session, which does not end with the widget.

    Raises InvalidOptions for a model, tool or option that cannot work, SessionError
    ``session_not_found`` for an unknown ``resume``.
    """

    _esm: ClassVar[str] = front_end("widget.js")
    host_adjudicator: ClassVar[Adjudicator | None] = None
    application_prompt: ClassVar[ApplicationPrompt | None] = None
    snapshot = traitlets.Dict().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)

    def __init__(  # noqa: PLR0913  # what a user may choose, all by name
        self,
        model: GivenModels = None,
        *,
        fallback: Iterable[GivenModel] = (),
        models: Iterable[GivenModel] = (),
        thinking: str | int | None = None,
        auto_retry: bool | None = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        agents: Sequence[Agent] = (HELPER,),
        allow_tools: Sequence[str] | None = None,
        exclude_tools: Sequence[str] = (),
        system: SystemText = None,
        system_append: str | None = None,
        ask_user: AskUser | None = None,
        permission: Mapping[str, Any] | None = None,
        adjudicator: Adjudicator | Literal[False] | None = None,
        base_url: str | None = None,
        api_key: str | Callable[[], str] | None = None,
        namespace: dict[str, Any] | None = None,
        notebook: bool = True,
        workspace: str | Path | None = ".",
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        store: Where = None,
        store_grace_s: float = GRACE_S,
        resume: str | None = None,
        session_id: str | None = None,
        while_running: WhileRunning | None = None,
        input_control: bool = False,
        budget: Budget | Mapping[str, Any] | None = None,
        compaction: Compaction | Mapping[str, Any] | bool | None = None,
        prices: Mapping[str, TokenPrices | Mapping[str, object]] | None = None,
        hooks: Iterable[Hook] = (),
        mcp_servers: Mapping[str, Mapping[str, Any]] | Literal[False] | None = None,
        trust_project_hooks: bool | str = False,
        on_warning: Callable[[TrustWarning], None] | None = None,
        output_type: object = None,
        delivery: Delivery | Mapping[str, str] | None = None,
        locale: str | None = None,
        record: str | PathLike[str] | Recording | None = None,
        session: Assembled | None = None,
        **unknown: object,
    ) -> None:
        _refuse_unknown(unknown)
        if session is not None and not hasattr(session, "assembly"):
            advice = "Pass what create_session(…) gave."
            raise InvalidOptions(f"session={session!r} is no session.", advice=advice)
        wanted_locale = locale_of(locale) if locale is not None else _host_locale()
        options: ChatOptions = {
            "tools": tools,
            "agents": agents,
            "allow_tools": allow_tools,
            "exclude_tools": exclude_tools,
            "system": system,
            "system_append": system_append,
            "ask_user": ask_user,
            "permission": permission,
            "adjudicator": adjudicator,
            "fallback": fallback,
            "models": models,
            "thinking": thinking,
            "auto_retry": auto_retry,
            "base_url": base_url,
            "api_key": api_key,
            "namespace": namespace,
            "notebook": notebook,
            "workspace": workspace,
            "max_steps": max_steps,
            "max_seconds": max_seconds,
            "store": store,
            "store_grace_s": store_grace_s,
            "resume": resume,
            "session_id": session_id,
            "while_running": while_running,
            "input_control": input_control,
            "budget": budget,
            "compaction": compaction,
            "prices": prices,
            "hooks": hooks,
            "mcp_servers": mcp_servers,
            "trust_project_hooks": trust_project_hooks,
            "on_warning": on_warning,
            "output_type": output_type,
            "record": record,
        }
        self._assembly = (
            Assembly(
                model,
                options,
                host_adjudicator=type(self).host_adjudicator,
                application=lambda: type(self).application_prompt,
            )
            if session is None
            else session.assembly
        )
        self._driver = self._assembly.driver
        wanted = None if delivery is None else delivery_of(delivery)
        own, keys = session is None, self._assembly.keys
        self._chat = Chat(self._driver, self, is_own=own, delivery=wanted, keys=keys)
        if wanted_locale is not None:
            self._chat.set_locale(wanted_locale)
        words = self._chat.words().for_page()
        super().__init__(snapshot=self._chat.first_snapshot(), words=words)
        self._chat.connect()
        cells = run_cells(self._driver.host)
        if cells is not None:
            cells.add(self, self._chat.is_idle_and_unseen)

    # --- talking -------------------------------------------------------------------------------

    def send(  # a chat's send takes text; ipywidgets' own still works
        self, content: str | dict[str, Any] = "", buffers: Any = None, *, images: object = ()
    ) -> Run:
        """Say something and return at once; the run goes on by itself.

        ``images`` are pictures that it is about: matplotlib figures, PIL images, paths, or the
        bytes of PNG, JPEG, WebP or GIF files, at most 10 of 3.9 MB each; they need no text.
        While a run is under way it waits for that run's next step, if the input policy is
        ``steer``. Raises SessionError INPUT_BLOCKED if it is ``block``, INVALID_INPUT for blank
        text and for what is no image, or too large.
        """
        if isinstance(content, dict):
            return super().send(content, buffers)  # type: ignore[no-any-return]
        said = prompt_of(content, images)
        return self._driver.start(lambda session, context: session.send(said, context))

    def ask(
        self, text: str = "", timeout_s: float | None = None, *, images: object = ()
    ) -> RunResult:
        """Say something and wait for the answer: ``send(text, images=images).result()``."""
        self._driver.require_waitable()
        said = prompt_of(text, images)
        run = self._driver.start(lambda session, context: session.send(said, context))
        return run.result(timeout_s)

    def steer(self, text: str = "", *, images: object = ()) -> str:
        """Say something that the agent sees before its next step; returns the message's id.

        Whatever the input policy says: it is code that says it. At rest it waits for the next run.
        """
        return self._driver.enqueue(prompt_of(text, images), "steering")

    def follow_up(self, text: str = "", *, images: object = ()) -> str:
        """Say something for when the run would end; returns the message's id."""
        return self._driver.enqueue(prompt_of(text, images), "follow_up")

    def edit(self, message_id: str, text: str) -> Run:
        """Say an earlier message anew, on a branch beside the old one; its images stay.

        What was done before stays done: variables, files and money are not undone by a branch.
        Raises SESSION_BUSY while a run is under way, ``tree.not_found`` for an unknown message.
        """

        async def admit(session: Session, context: contextvars.Context) -> ActiveRun:
            return (await session.tree.edit(message_id, text, context))[0]

        return self._driver.start(admit)

    def fork(self, message_id: str | None = None) -> str:
        """Make a new session of the conversation, up to and with a message; returns its id.

        Open it with ``AgentWidget(store=..., resume=<id>)``. This session does not change.
        """
        forked: str = self._driver.command(lambda: self.session.tree.fork(message_id))
        return forked

    def take_over(self) -> None:
        """Go on here with a session that could only be read, once its owner is gone.

        Raises SessionError ``session_in_use``, which says who has it.
        """
        self._driver.command(self.session.take_over)

    def compact(self, instructions: str | None = None) -> CompactionResult:
        """Stop what runs, then let the model read a summary in place of what was said earlier.

        Nothing is lost: the whole conversation stays stored and shown. ``instructions`` say what
        the summary must attend to. Raises SessionError ``compaction.nothing_to_compact`` and the
        others that ``Session.compact`` names: then the conversation is as it was.
        """
        return self._driver.compact(instructions)

    def stop(self) -> None:
        """Stop the run under way; harmless when nothing runs. Text so far stays."""
        self._driver.stop()

    def retry(self) -> Run:
        """Run again from the last call that finished after the last message of the user."""
        return self._driver.start(lambda session, context: session.retry(context))

    def reset(self) -> None:
        """Start over with an empty conversation. Raises SESSION_BUSY while a run is under way."""
        self._driver.command(self._driver.session.reset)

    def refresh_tools(self, tools: Iterable[Tool | Callable[..., Any]]) -> None:
        """Put ``tools`` in the place of those given before, from the model's next step on.

        New ones are active, what was switched off stays off. Raises InvalidOptions for what is no
        tool; then nothing has changed.
        """
        registry = self._assembly.registry_with(tools)
        self._driver.command(lambda: self._driver.session.refresh_tools(registry))

    def set_model(self, model: GivenModel) -> None:
        """Make ``model`` that of the next run; a run under way keeps its own.

        Raises SessionError ``assembly_failed`` for what is no model, ``no_credentials`` where its
        key is missing; then nothing has changed.
        """
        self._driver.command(lambda: self.session.models.set_model(model))

    def set_thinking(self, level: str | int) -> bool:
        """Let the model think so much from the next run on, or as near to that as it can.

        A number is a budget of tokens. False when that could not be stored. Whether thinking is
        shown is for ``delivery`` to say.
        """
        stored: bool = self._driver.command(lambda: self.session.models.set_thinking_level(level))
        return stored

    def list_models(self) -> tuple[str, ...]:
        """The models of the server, as ``set_model`` takes them. Raises ModelError."""
        names: tuple[str, ...] = self._driver.command(self.session.models.list_models)
        return names

    def set_delivery(self, delivery: Delivery | Mapping[str, str]) -> None:
        """Show text and thinking as ``delivery`` says, from the next block on."""
        self._chat.set_delivery(delivery_of(delivery))

    @property
    def locale(self) -> str:
        """The language in which the chat is shown; setting it changes it at once, on every page.

        Raises InvalidOptions for a language that is not there.
        """
        return self._chat.words().locale

    @locale.setter
    def locale(self, locale: str) -> None:
        self._chat.set_locale(locale)

    def close(self) -> None:
        """Stop what runs, end the session, close the view. Harmless twice.

        Raises ReplayMismatch when this was a replay and not all of the recording was used.
        """
        chat: Chat | None = self.__dict__.get("_chat")  # None: construction failed
        try:
            if chat is not None and not sys.is_finalizing():  # then the engine's thread is gone
                chat.close()
        finally:
            super().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with suppress(*(() if kind is None else (ReplayMismatch,))):  # what went wrong goes on
            self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await asyncio.to_thread(self.__exit__, *raised)

    # --- looking -------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The session behind the widget; its methods run on the engine's loop."""
        return self._driver.session

    @property
    def tree(self) -> Branches:
        """All that was said, on every branch: printed, a tree; checkpoints, labels, navigation."""
        return Branches(self._driver)

    @property
    def commands(self) -> ShellCommands:
        """Shell commands of your own that are part of the conversation."""
        return ShellCommands(self._driver)

    @property
    def state(self) -> SessionState:
        """Messages, status and error now: an immutable value."""
        return self._driver.session.state

    @property
    def messages(self) -> Conversation:
        """The conversation now: an immutable sequence."""
        return self._driver.session.messages

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        self._chat.displayed = DisplayContext.capture()
        view, words = self._driver.session.view, self._chat.words()
        fallback = {
            "text/plain": view_as_text(view, words),
            "text/markdown": view_as_markdown(view, words),
            "text/html": view_as_html(view, words),
        }
        bundle: Any = super()._repr_mimebundle_(**kwargs)
        if isinstance(bundle, tuple):
            return {**fallback, **_without_text(bundle[0])}, *bundle[1:]
        return {**fallback, **_without_text(bundle or {})}

    def __repr__(self) -> str:
        return f"AgentWidget({self._driver.session.model.info.label!r})"

    # --- traits and messages, for the bridge ---------------------------------------------------

    def send_message(self, content: dict[str, Any]) -> None:
        super().send(content)

    def write_snapshot(self, snapshot: dict[str, Any]) -> None:
        self.snapshot = snapshot

    def write_words(self, words: dict[str, Any]) -> None:
        self.words = words

    def click_context(self) -> contextvars.Context | None:
        displayed = self._chat.displayed
        return None if displayed is None else displayed.context.copy()


def _without_text(bundle: Mapping[str, Any]) -> dict[str, Any]:
    return {kind: data for kind, data in bundle.items() if kind != "text/plain"}


def _host_locale() -> str | None:
    """The language that the environment asks for, if any. Raises InvalidOptions for another one."""
    asked = os.environ.get(LOCALE_VARIABLE)
    return locale_of(asked) if asked else None


def _refuse_unknown(unknown: Mapping[str, object]) -> None:
    if unknown:
        names = ", ".join(sorted(unknown))
        own = AgentWidget.__init__.__kwdefaults__ or ()
        near = get_close_matches(next(iter(unknown)), own, 1)
        known = "Known options are listed in help(AgentWidget)."
        advice = f"Did you mean {near[0]}? {known}" if near else known
        raise InvalidOptions(f"AgentWidget has no option {names}.", advice=advice)
