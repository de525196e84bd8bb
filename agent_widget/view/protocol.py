"""Shapes of what travels between kernel and browser, protocol 1.

The one source of these types: ``js/src/protocol.gen.ts`` is made from this module by
``python -m tests.support.typescript``, and a test fails when the two differ.
"""

from __future__ import annotations

from typing import Final, Literal, NotRequired, TypeAlias, TypedDict

from ..core.events import CallStop
from ..core.messages import Json, ToolState
from ..core.state import Status
from .model import Mark, Phase

PROTOCOL: Final = 1

PICTURE_CHARS: Final = 700_000
"""Bound of the pictures that a page shows of a message, as base64: a comm message has the room."""
PAGE_CHARS: Final = 9_200_000
"""Bound of the pictures that a page sends with a message, as base64: a server drops the connection
of a page that sends 10 MiB at once.
"""

DecisionWord = Literal["allow_once", "edit", "allow_session", "allow_project", "deny"]
QueueName = Literal["steering", "follow_up"]
WhileRunning = Literal["block", "steer"]
CommandName = Literal[
    "send",
    "stop",
    "retry",
    "reset",
    "compact",
    "decide",
    "dismiss",
    "edit",
    "branch",
    "edit_waiting",
    "remove_waiting",
    "set_input_policy",
    "stop_servers",
    "take_over",
    "fork",
    "set_model",
    "set_thinking",
    "set_key",
    "list_models",
]


class TextBlock(TypedDict):
    type: Literal["text"]
    text: str


class ImageBlock(TypedDict):
    """``data`` is base64."""

    type: Literal["image"]
    mime: str
    data: str


class SvgBlock(TypedDict):
    type: Literal["svg"]
    svg: str


class HtmlBlock(TypedDict):
    type: Literal["html"]
    html: str


class UnavailableBlock(TypedDict):
    """A picture that was kept and cannot be shown any more: its file is lost or damaged."""

    type: Literal["unavailable"]
    mime: str
    artifact_unavailable: Literal[True]


Block: TypeAlias = TextBlock | ImageBlock | SvgBlock | HtmlBlock | UnavailableBlock


class TextPart(TypedDict):
    type: Literal["text"]
    text: str


class ReasoningPart(TypedDict):
    """Named only: reasoning is kept for the model and never rendered."""

    type: Literal["reasoning"]


class Code(TypedDict):
    """What a call will run, and the language to show it in."""

    text: str
    language: str


class ToolErrorView(TypedDict):
    code: str | None
    message: str


CallRefusal: TypeAlias = Literal["denied", "blocked"]


class ToolPart(TypedDict):
    """A tool call; ``live`` is its output so far while it runs, ``stop`` how it took a Stop.

    ``refusal``: it did not run because somebody, or a rule, said no, or a hook stood in its way.
    """

    type: Literal["tool"]
    tid: str
    name: str
    input: Json
    state: ToolState
    code: Code | None
    prompt: str | None
    progress: str | None
    live: str | None
    output: list[Block] | None
    error: ToolErrorView | None
    duration_ms: int | None
    is_edited: bool
    stop: CallStop | None
    refusal: CallRefusal | None
    agent: AgentView | None


Part: TypeAlias = TextPart | ReasoningPart | ToolPart | ImageBlock | SvgBlock | UnavailableBlock


class Branch(TypedDict):
    """The message is number ``index`` (from 0) of ``count`` siblings."""

    index: int
    count: int


class Note(TypedDict):
    """The message is context that nobody typed; a page shows it if ``is_shown``."""

    kind: str
    is_shown: bool


class Message(TypedDict):
    """``is_steering``: it came while the run was under way, after the message before it."""

    mid: str
    role: Literal["user", "assistant"]
    parts: list[Part]
    mark: Mark | None
    is_steering: bool
    branch: Branch | None
    note: Note | None


class AgentView(TypedDict):
    """The nested run of a sub-agent."""

    name: str
    status: Status
    messages: list[Message]


class MessageWindow(TypedDict):
    """The loaded messages; ``items[0]`` has the absolute index ``first``."""

    first: int
    items: list[Message]


class Interaction(TypedDict):
    can_send: bool
    revision: int


class Retry(TypedDict):
    """A model call that failed, for ``reason``, and is made again after ``delay_ms``."""

    attempt: int
    max_attempts: int
    delay_ms: int
    reason: str


class ModelView(TypedDict):
    """``thinking_levels`` is empty for a model that does not reason; ``thinking`` null is its own
    default; ``choices`` are the models to choose from, ``alias`` is the name of this one.
    """

    label: str
    offline: bool
    notice: str | None
    alias: str
    choices: list[str]
    thinking_levels: list[str]
    thinking: str | None
    retry: Retry | None


class Question(TypedDict):
    """The one open permission question; ``text`` is exactly what will run.

    ``options`` are the answers on offer, ``rules`` what allowing for the session or the project
    adds (a person may narrow them), ``project_file`` where the latter are written. With ``is_form``
    a running call asks for what is in ``args``, and ``tool`` names who asks.
    """

    pid: str
    tid: str
    tool: str
    agent: str | None
    reason: str | None
    text: str
    language: str | None
    args: Json
    options: list[DecisionWord]
    rules: list[str]
    project_file: str | None
    is_form: NotRequired[bool]


class QueuedQuestion(TypedDict):
    """A call that will ask once the open question is answered."""

    tid: str
    tool: str
    agent: str | None
    text: str


class Permission(TypedDict):
    """The mode, and a warning that stays in sight while it lets everything run."""

    mode: str
    warning: str | None


class WaitingInput(TypedDict):
    """A stored message that is not part of the conversation yet; ``images`` counts its pictures."""

    mid: str
    text: str
    queue: QueueName
    images: NotRequired[int]


class InputPolicy(TypedDict):
    """``while_running`` holds now; ``override`` is the session's own setting."""

    while_running: WhileRunning
    override: WhileRunning | None


class Storage(TypedDict):
    """``trouble``: why records are not stored yet; ``read_only``: why nothing can be sent."""

    label: str
    is_durable: bool
    trouble: str | None
    read_only: str | None


class Todo(TypedDict):
    content: str
    status: Literal["pending", "in_progress", "completed"]


class ErrorView(TypedDict):
    code: str | None
    message: str
    advice: str | None


class Notice(TypedDict):
    nid: str
    code: str
    message: str


class Usage(TypedDict):
    """``cost``, and what caches ``saved``, are decimal numbers in ``currency``; null where not all
    of it is known.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    requests: int
    cost: str | None
    saved: str | None
    currency: str | None
    context_tokens: int | None
    context_window: int | None


class Command(TypedDict):
    """What can be typed for a prompt or a resource."""

    text: str
    hint: str


class Server(TypedDict):
    """An MCP server."""

    name: str
    state: Literal["starting", "connected", "failed", "closed"]
    message: str | None
    tool_count: int
    commands: list[Command]


class Draft(TypedDict):
    """A call whose arguments are still arriving."""

    name: str
    arguments: str


class Top(TypedDict):
    """What changes rarely: everything but messages and drafts."""

    session_id: str
    status: Status
    phase: Phase
    interaction: NotRequired[Interaction]
    can_stop: bool
    can_retry: bool
    model: ModelView
    permission: Permission
    question: Question | None
    queue: list[QueuedQuestion]
    waiting: list[WaitingInput]
    input_policy: InputPolicy
    storage: Storage
    name: str | None
    todos: list[Todo]
    error: ErrorView | None
    notices: list[Notice]
    servers: NotRequired[list[Server]]
    usage: Usage | None


class SessionView(Top):
    """The whole view."""

    drafts: NotRequired[list[Draft]]
    messages: MessageWindow


class Snapshot(TypedDict):
    """What the ``snapshot`` trait holds, and what answers ``hello``."""

    protocol: int
    epoch: str
    seq: int
    view: SessionView


class PatchMessage(TypedDict):
    """``seq`` is exactly one more than that of the patch before."""

    kind: Literal["patch"]
    epoch: str
    seq: int
    ops: list[Json]


class Receipt(TypedDict):
    """A command was carried out. ``text`` and ``images`` (data addresses) are what it took back."""

    kind: Literal["reply"]
    request_id: str
    ok: Literal[True]
    message_id: NotRequired[str]
    queue: NotRequired[QueueName]
    text: NotRequired[str]
    images: NotRequired[list[str]]
    models: NotRequired[list[str]]


class Refusal(TypedDict):
    """A command was not carried out, and why."""

    kind: Literal["reply"]
    request_id: str
    ok: Literal[False]
    code: str
    message: str


ReplyMessage: TypeAlias = Receipt | Refusal


class EventsMessage(TypedDict):
    """The events of the session, for a page that greeted with ``"events": true``: as code reads
    them, each once and in order.
    """

    kind: Literal["events"]
    epoch: str
    events: list[Json]


class HistoryMessage(TypedDict):
    """Older messages; ``items[0]`` has the absolute index ``first``."""

    kind: Literal["history"]
    request_id: str
    epoch: str
    first: int
    items: list[Message]
