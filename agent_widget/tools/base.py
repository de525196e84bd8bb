"""What a tool is to the engine: a name, a schema, a check of arguments, and a run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from msgspec import Struct, field

T = TypeVar("T")

Kind: TypeAlias = Literal["read", "edit", "execute", "network", "other"]
"""What a call does to the world outside of the session; modes and rules go by it."""


class TextBlock(Struct, frozen=True, tag="text"):
    """Plain text; may hold ANSI escapes, which every consumer strips or renders safely."""

    text: str
    audience: Literal["all", "user", "model"] = "all"


class ImageBlock(Struct, frozen=True, tag="image"):
    """A raster image: ``mime`` is image/png, image/jpeg, image/gif or image/webp; base64 data."""

    mime: str
    data: str
    audience: Literal["all", "user", "model"] = "user"


class SvgBlock(Struct, frozen=True, tag="svg"):
    """An SVG document as text; shown as an image, never inlined."""

    svg: str
    audience: Literal["all", "user", "model"] = "user"


class HtmlBlock(Struct, frozen=True, tag="html"):
    """HTML for the person (a table); sanitised before it is shown."""

    html: str
    audience: Literal["all", "user", "model"] = "user"


Block = TextBlock | ImageBlock | SvgBlock | HtmlBlock


class Handoff(Struct, frozen=True):
    """What a tool returns to hand the session to ``agent``, by the name of one it knows.

    The run ends once all calls of the answer have ended; the next message is that agent's.
    """

    agent: str


class ToolOutput(Struct, frozen=True):
    """Result of a call. The model gets the text blocks not meant for the user alone.

    ``is_error`` marks a call that ran and failed (a traceback): the model sees its content.
    ``handoff`` names the agent that the session goes to (see ``Handoff``).
    """

    content: tuple[Block, ...] = ()
    is_error: bool = False
    handoff: str | None = None

    def text_for_model(self) -> str:
        """What the model reads: text blocks of audience all or model, joined by newlines."""
        texts = [b.text for b in self.content if isinstance(b, TextBlock) and b.audience != "user"]
        return "\n".join(texts)


class MainThread(Protocol):
    """Runs functions on the kernel's main thread (or, without a kernel, a documented stand-in)."""

    def submit(self, job: Callable[[], T], *, interruptible: bool = True) -> Future[T]:
        """Queue ``job``; the future ends with its result. Callable from any thread.

        Cancelling the future before the job starts drops it.
        """
        ...

    def submit_coroutine(self, factory: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Run ``factory()`` as a task on the main thread's loop, in a copy of the caller's context.

        The future raises ToolFailure where no loop can turn there.
        """
        ...

    def interrupt(self, future: Future[Any]) -> None:
        """Raise KeyboardInterrupt in that job if it is running, else drop it."""
        ...

    def waits_for(self) -> str | None:
        """Why a job would not start now, as a person reads it, or None when main is free."""
        ...


class StopSign(threading.Event):
    """An event that knows whether anybody saw it set: a call that did ended because of it.

    It is true once it is set, so that ``while not context.cancelled`` means what it says.
    """

    was_seen = False

    def __bool__(self) -> bool:
        return self.is_set()

    def is_set(self) -> bool:
        return self._seen(super().is_set())

    def wait(self, timeout: float | None = None) -> bool:
        return self._seen(super().wait(timeout))

    def _seen(self, is_set: bool) -> bool:
        self.was_seen = self.was_seen or is_set
        return is_set


class Elicitation(Struct, frozen=True):
    """What whoever carries out a call wants to know of the person: a form, or a page to visit.

    ``text`` is the whole question, ``defaults`` the fields as they are before anyone fills them
    in (none for a page). ``check`` returns the fields to send, or raises
    InvalidArgs. ``asker`` says who asks.
    """

    asker: str
    text: str
    defaults: Mapping[str, Any]
    check: Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Elicited(Struct, frozen=True):
    """The answer: ``fields`` when the person gave one, None when not."""

    fields: Mapping[str, Any] | None


async def _nobody_answers(_elicitation: Elicitation) -> Elicited:
    """Where there is nobody to ask, nobody has answered."""
    return Elicited(None)


def _let_go(_work: asyncio.Future[ToolOutput]) -> None:
    """What a call whose caller is gone does later is dropped."""


class ToolContext(Struct, frozen=True):
    """What a running call may use; members are callable from any thread, but for the last two.

    ``progress`` replaces the card's progress line; ``output`` appends to its live output;
    ``cancelled`` is set, and true, once the call should end; ``main`` runs code on the main thread.
    ``left_behind`` takes, on the loop of ``execute``, what goes on after that was cancelled;
    ``elicit`` asks the person there for what the call turns out to need.
    """

    call_id: str
    tool_name: str
    progress: Callable[[str | None], None]
    output: Callable[[str], None]
    main: MainThread
    cancelled: StopSign = field(default_factory=StopSign)
    left_behind: Callable[[asyncio.Future[ToolOutput]], None] = _let_go
    elicit: Callable[[Elicitation], Awaitable[Elicited]] = _nobody_answers


@runtime_checkable
class Tool(Protocol):
    """A tool the engine can run."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON Schema of the arguments (type object)."""
        ...

    @property
    def read_only(self) -> bool:
        """True when a call changes nothing and reads no secret: it needs no question."""
        ...

    @property
    def kind(self) -> Kind:
        """What a call does; unless a tool says more, ``read`` or ``other`` by ``read_only``."""
        return "read" if self.read_only else "other"

    def validate(self, args: object) -> Mapping[str, Any]:
        """The arguments, coerced to the schema. Raises InvalidArgs with all problems at once."""
        ...

    def describe(self, args: Mapping[str, Any]) -> CallText:
        """What a person has to read before the call may run: whole, never shortened."""
        ...

    async def execute(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Run the call. Sync bodies run in a worker thread. Raises ToolFailure or anything else."""
        ...


class CallText(Struct, frozen=True):
    """``text`` is exactly what will run; ``language`` is for highlighting (python, json, …)."""

    text: str
    language: str | None = None
