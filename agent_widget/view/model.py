"""SessionView: what a person sees of a session, as one immutable value."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from ..core.bashevents import BASH
from ..core.events import CallStop, QueuedCall, QueuedInput, Todo, WhileRunning
from ..core.mcpevents import McpCommand
from ..core.messages import Json, TextPart
from ..core.state import SessionState, empty_state

Phase = Literal[
    "idle",
    "error",
    "preparing",
    "streaming",
    "tooling",
    "awaiting_confirmation",
    "retrying",
    "compacting",
    "summarizing",
    "stopping",
    "failed",
    "closed",
]
BUSY_PHASES: Final = frozenset(
    {"preparing", "streaming", "tooling", "awaiting_confirmation", "retrying", "compacting"}
    | {"stopping"}
)
STREAMING_PHASES: Final = frozenset({"streaming", "tooling", "awaiting_confirmation", "stopping"})
Mark = Literal["stopped", "incomplete", "failed"]
MAX_NOTICES: Final = 20


class Notice(Struct, frozen=True):
    """Something worth knowing that ended nothing; ``nid`` identifies it for dismissal.

    Hosts word it by ``code`` and ``detail``; ``message`` is the fallback, and may be empty.
    """

    nid: str
    code: str
    message: str = ""
    detail: Mapping[str, Json] | None = None


class ErrorView(Struct, frozen=True, kw_only=True):
    """Why the last run failed and what to do about it; ``recoverable`` is always said."""

    message: str
    recoverable: bool
    code: str | None = None
    advice: str | None = None


class QuestionView(Struct, frozen=True):
    """The one open question; ``text`` is exactly what will run.

    With ``is_form`` it is about no call: ``tool`` asks for what is in ``args``.
    """

    pid: str
    tid: str
    tool: str
    text: str
    language: str | None = None
    agent: str | None = None
    reason: str | None = None
    args: Json = None
    options: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    project_file: str | None = None
    is_form: bool = False


class RetryView(Struct, frozen=True):
    """A model call that failed, for ``reason``, and waits to be made again."""

    attempt: int
    max_attempts: int
    delay_ms: int
    reason: str


class ModelView(Struct, frozen=True):
    """The model of the next run, by name ``alias``; ``choices`` are those to choose from.

    ``thinking_levels`` is empty for one that does not reason; ``thinking`` None is what its server
    likes.
    """

    label: str = ""
    offline: bool = False
    notice: str | None = None
    alias: str = ""
    choices: tuple[str, ...] = ()
    thinking_levels: tuple[str, ...] = ()
    thinking: str | None = None
    retry: RetryView | None = None


def _sum(one: str | None, other: str | None) -> str:
    return format(Decimal(one or 0) + Decimal(other or 0), "f")


class UsageView(Struct, frozen=True):
    """Tokens of all model calls so far, sub-agents included.

    ``cost`` is what they cost, a decimal number in ``currency``, ``uncached_cost`` what they would
    have cost without a cache; None once that is not known of one of them, or when they are paid
    in several currencies. ``context_tokens`` of
    ``context_window`` are in use after the last call of the session's own agent, where its window
    is known, and not known after a compaction until the next one; ``last`` are the four kinds of
    the last call.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    requests: int = 0
    cost: str | None = "0"
    currency: str | None = None
    context_tokens: int | None = None
    context_window: int | None = None
    last: tuple[int, int, int, int] = (0, 0, 0, 0)
    uncached_cost: str | None = "0"

    @property
    def saved(self) -> str | None:
        """What caches have saved so far, in ``currency``; None for nothing, and if not known."""
        if self.cost is None or self.uncached_cost is None:
            return None
        saved = Decimal(self.uncached_cost) - Decimal(self.cost)
        return format(saved, "f") if saved > 0 else None

    def in_context(self, window: int | None) -> UsageView:
        """This, with what the last call held in a window of that size; None: not known."""
        if window is None:
            return replace(self, context_tokens=None, context_window=None)
        return replace(self, context_tokens=sum(self.last), context_window=window)

    def with_context_of(self, other: UsageView) -> UsageView:
        """This, with the context that ``other`` tells of."""
        return replace(
            self, context_tokens=other.context_tokens, context_window=other.context_window
        )

    def plus(
        self,
        tokens: tuple[int, int, int, int],
        cost: str | None,
        currency: str | None,
        uncached_cost: str | None = None,
    ) -> UsageView:
        """This and one more call; ``tokens`` are the four kinds in the order above."""
        is_known = self.cost is not None and cost is not None
        is_known = is_known and self.currency in (None, currency)
        is_compared = is_known and self.uncached_cost is not None and uncached_cost is not None
        return UsageView(
            self.input_tokens + tokens[0],
            self.output_tokens + tokens[1],
            self.cache_read_tokens + tokens[2],
            self.cache_write_tokens + tokens[3],
            self.requests + 1,
            _sum(self.cost, cost) if is_known else None,
            currency if is_known else None,
            self.context_tokens,
            self.context_window,
            tokens,
            _sum(self.uncached_cost, uncached_cost) if is_compared else None,
        )

    @property
    def total_tokens(self) -> int:
        kinds = (self.input_tokens, self.output_tokens, self.cache_read_tokens)
        return sum(kinds) + self.cache_write_tokens


class CallFacts(Struct, frozen=True):
    """What the chat state does not say of a tool call: what it runs, how long it took.

    ``is_denied`` from the decision on, before the call ends; ``stop`` says how it took a Stop.
    """

    text: str | None = None
    language: str | None = None
    duration_ms: int | None = None
    is_edited: bool = False
    is_denied: bool = False
    stop: CallStop | None = None


class AgentView(Struct, frozen=True):
    """A sub-agent's run; ``message`` is what it is at or, once it has ended, how that went."""

    name: str = ""
    state: Literal["running", "completed", "aborted", "error"] = "running"
    message: str | None = None


class BlockPlace(Struct, frozen=True):
    """Where a block of an answer begins: behind so much text and so many other parts."""

    message_id: str
    index: int
    text_chars: int
    other_parts: int


class LiveCall(Struct, frozen=True):
    """What a running call reports: its progress line and its output so far."""

    progress: str | None = None
    output: TextPart | None = None


class Draft(Struct, frozen=True):
    """A call whose arguments are still arriving."""

    name: str
    arguments: TextPart


class InputView(Struct, frozen=True):
    """What happens to messages sent now: what waits, and the rule while a run is under way.

    ``run`` overrides ``session`` overrides ``agent``; where none is set, input is blocked.
    """

    waiting: tuple[QueuedInput, ...] = ()
    run: WhileRunning | None = None
    session: WhileRunning | None = None
    agent: WhileRunning | None = None

    @property
    def while_running(self) -> WhileRunning:
        """What holds now."""
        return self.run or self.session or self.agent or "block"


class StorageView(Struct, frozen=True):
    """Where the session is kept, and what is wrong with that (None: nothing)."""

    label: str = ""
    is_durable: bool = False
    trouble: str | None = None
    waiting_count: int = 0
    read_only: str | None = None


class ServerView(Struct, frozen=True):
    """An MCP server; ``message`` says why it is not there, ``commands`` what a person can type."""

    name: str
    state: Literal["starting", "connected", "failed", "closed"] = "starting"
    message: str | None = None
    tool_count: int = 0
    commands: tuple[McpCommand, ...] = ()


class NoteView(Struct, frozen=True):
    """What kind of context a message is that nobody typed, and whether a person sees it."""

    kind: str
    is_shown: bool = True


class Branch(Struct, frozen=True):
    """A message that has siblings: it is number ``index`` (from 0) of ``count``."""

    index: int
    count: int


NO_FACTS: Final = CallFacts()
NOT_LIVE: Final = LiveCall()


class SessionView(Struct, frozen=True):
    """The whole view. Each field is immutable and shared with earlier views.

    ``facts`` maps tool call ids to what a card shows beside the call's state, ``live`` those of
    running calls to what they report; ``marks`` maps ids of messages that were cut short;
    ``drafts`` maps indexes of calls being written; ``steered`` holds ids of messages that came
    while a run was under way; ``branches`` maps ids of messages that have siblings, ``notes`` those
    of messages that nobody typed. ``agents`` maps ids of delegate calls. ``blocks`` holds where the
    blocks of the newest answer begin, of the main agent (None) and of each sub-agent. ``is_spent``
    says that the budget let no further call through; ``locale`` is the language in which it is
    shown, once one was chosen; the view itself is English. ``servers`` maps names of MCP servers.
    With ``is_compacting_at_rest`` the phase ``compacting`` is no part of a run: a person asked.
    ``usage`` adds up the session, ``run_usage`` the run under way, or the last one. ``unread``
    holds ids of messages that no model reads, ``commands`` those of a person's commands that run.
    """

    session_id: str = ""
    chat: SessionState = field(default_factory=empty_state)
    phase: Phase = "idle"
    stopping: bool = False
    can_send: bool = True
    revision: int = 0
    model: ModelView = ModelView()
    question: QuestionView | None = None
    queue: tuple[QueuedCall, ...] = ()
    mode: str = "default"
    mode_warning: str | None = None
    todos: tuple[Todo, ...] = ()
    error: ErrorView | None = None
    notices: tuple[Notice, ...] = ()
    usage: UsageView = UsageView()
    facts: Mapping[str, CallFacts] = field(default_factory=dict)
    live: Mapping[str, LiveCall] = field(default_factory=dict)
    marks: Mapping[str, Mark] = field(default_factory=dict)
    drafts: Mapping[int, Draft] = field(default_factory=dict)
    input: InputView = InputView()
    storage: StorageView = StorageView()
    name: str | None = None
    steered: frozenset[str] = frozenset()
    branches: Mapping[str, Branch] = field(default_factory=dict)
    notes: Mapping[str, NoteView] = field(default_factory=dict)
    agents: Mapping[str, AgentView] = field(default_factory=dict)
    blocks: Mapping[str | None, tuple[BlockPlace, ...]] = field(default_factory=dict)
    is_spent: bool = False
    locale: str | None = None
    servers: Mapping[str, ServerView] = field(default_factory=dict)
    is_compacting_at_rest: bool = False
    run_usage: UsageView = UsageView()
    unread: frozenset[str] = frozenset()
    commands: frozenset[str] = frozenset()

    @property
    def bash_running(self) -> bool:
        """A command of the person runs; a run may be under way or not."""
        return bool(self.commands)

    @property
    def connection(self) -> Literal["none", "open", "retrying", "closed"]:
        """Whether the session is there to talk to, and whether its model answers."""
        if self.phase == "closed":
            return "closed"
        if not self.session_id:
            return "none"
        return "retrying" if self.is_retrying else "open"

    @property
    def is_busy(self) -> bool:
        """A run is under way."""
        return self.phase in BUSY_PHASES and not self.is_compacting_at_rest

    @property
    def is_idle(self) -> bool:
        """No run is under way, retries and what follows from it included."""
        return not self.is_busy

    @property
    def is_streaming(self) -> bool:
        """A model or a tool is at work; false in a back-off and in a compaction (K16)."""
        return self.phase in STREAMING_PHASES

    @property
    def is_compacting(self) -> bool:
        return self.phase == "compacting"

    @property
    def is_retrying(self) -> bool:
        """The run, or a summary, waits before it asks its model again."""
        return self.model.retry is not None and not self.stopping

    @property
    def is_summarizing(self) -> bool:
        """What a branch leaves behind is being summed up."""
        return self.phase == "summarizing"

    def _is_command(self, message_id: str) -> bool:
        note = self.notes.get(message_id)
        return note is not None and note.kind == BASH

    @property
    def can_stop(self) -> bool:
        return (self.is_busy or self.is_compacting_at_rest) and not self.stopping

    @property
    def can_retry(self) -> bool:
        """True at rest after a run that did not end by itself, and that may end otherwise."""
        if (
            self.is_busy
            or self.is_spent
            or self.phase in ("compacting", "closed", "failed")
            or not len(self.chat.messages)
        ):
            return False
        if self.storage.read_only is not None:
            return False
        if self.chat.status == "error":
            return True
        said = (m for m in reversed(self.chat.messages) if not self._is_command(m.id))
        if (last := next(said, None)) is None:
            return False
        return last.role == "user" or last.id in self.marks
