"""Context that nobody typed: what an extension adds to a conversation.

The model reads it as a user message; a person sees it, or does not. Source: AgentSession document
(``send_custom_message``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

from msgspec import Struct

from ..core.errors import SessionError
from ..core.events import EntryAppended, Event, HistoryLoaded, QueueName
from ..core.ids import IdSource
from ..core.replay import PRELOAD
from ..core.wire import messages_from_wire, messages_to_wire
from .inputs import AtRest, Inputs, clean_text
from .run import ActiveRun
from .runs import Runs
from .writer import Fact, Writer


class Expanded(Struct, frozen=True):
    """What a message stands for: its text, and texts that go with it, each with its heading."""

    text: str
    attached: tuple[str, ...] = ()


Expand = Callable[[str], Awaitable[Expanded]]
ATTACHED: Final = "attachment"
Deliver = Literal["append", "steering", "follow_up", "next_run"]


class Added(Struct, frozen=True):
    """What became of it: the message's id, and the run that it started or waits for, if any."""

    message_id: str
    run: ActiveRun | None = None


class InputReceipt(Struct, frozen=True):
    """What became of strict input: ``accepted`` by the run ``target``, or refused.

    ``closed``: no run was there to take it; ``rejected``: the run takes none, for ``reason``.
    """

    state: Literal["accepted", "closed", "rejected"]
    input_id: str | None = None
    target: str | None = None
    reason: SessionError | None = None


class Context:
    """Input beside what a person types: context of extensions, and input for one run alone.

    Lives on the engine's loop.
    """

    def __init__(self, writer: Writer, inputs: Inputs, runs: Runs, new_id: IdSource) -> None:
        self._writer = writer
        self._inputs = inputs
        self._runs = runs
        self._new_id = new_id
        self._next: list[dict[str, Any]] = []
        self.expand: Expand | None = None
        """What a person types may stand for more: commands, and what they attach by name."""
        self.stop_starting: Callable[[], None] = lambda: None
        """Waits no more for what starts beside the session."""

    async def add(  # what an extension may say of it, all by name
        self,
        kind: str,
        text: object,
        *,
        display: bool = True,
        details: Any = None,
        deliver: Deliver = "append",
        start_run: bool = False,
    ) -> Added:
        """Add ``text`` to the conversation, of a ``kind`` that names what it is.

        At rest it is appended at once, and with ``start_run`` a run answers it; ``next_run`` keeps
        it in memory and adds it after the next message of the user. While a run is under way it
        waits in a queue like a message (``append`` is then ``steering``). ``details`` is JSON that
        is stored and shown to nobody. Raises INVALID_INPUT, STORAGE_ERROR: then nothing is added.
        """
        said = clean_text(text)
        entry = {
            "message_id": self._new_id("m"),
            "custom_type": kind,
            "content": said,
            "display": display,
            "details": details,
        }
        if deliver == "next_run":
            self._next.append(entry)
            return Added(entry["message_id"])
        run = self._runs.active
        if run is not None:
            queue: QueueName = "follow_up" if deliver == "follow_up" else "steering"
            note = {name: entry[name] for name in ("custom_type", "display", "details")}
            return Added(await self._inputs.queue(said, queue, "program", note), run)

        def make() -> Fact:
            self._runs.require_rest()
            if (refusal := self._inputs.refusal("program")) is not None:
                raise refusal
            return entry, (appended(entry),)

        await self._writer.commit_made("custom_message", make)
        started = await self._runs.admit("program", {}, None) if start_run else None
        return Added(entry["message_id"], started)

    async def expanded(self, text: str) -> str:
        """What the message ``text`` stands for; what is attached goes with it.

        Raises what ``expand`` raises: then nothing is said.
        """
        if self.expand is None or not text:  # a picture alone stands for nothing else
            return text
        said = await self.expand(text)
        if self._runs.active is not None:
            return "\n\n".join((said.text, *said.attached))
        for each in said.attached:
            await self.add(ATTACHED, each, deliver="next_run")
        return said.text

    def tell(self, event: Event) -> None:
        """Tell what an extension has to say; it is not stored."""
        self._writer.emit(event)

    async def submit_input(self, text: object) -> InputReceipt:
        """Give a message to the run under way, and to no other: never a new run, never the next.

        What that run has not used when it ends is taken back.
        """
        self._writer.require_open()
        run = self._runs.active
        if run is None:
            return InputReceipt("closed")
        try:
            message_id = await self._inputs.queue(text, "steering")
        except AtRest:
            return InputReceipt("closed", target=run.run_id)
        except SessionError as refused:
            return InputReceipt("rejected", target=run.run_id, reason=refused)
        run.strict.add(message_id)
        if not run.is_live:
            await self._runs.take_back(run)
        return InputReceipt("accepted", message_id, run.run_id)

    async def preload(self, messages: object) -> None:
        """Begin the conversation with messages of elsewhere, as they are: no pairs are mended.

        ``messages`` is JSON data, as ``ChatSession.messages()`` gives it. Raises INVALID_INPUT for
        what is no list of messages, SESSION_BUSY when something was said here already.
        """
        try:
            history = messages_to_wire(messages_from_wire(messages))
        except SessionError as error:
            raise SessionError("INVALID_INPUT", error.message, advice=error.advice) from error

        def make() -> Fact:
            self._runs.require_rest()
            if len(self._writer.view.chat.messages):
                raise SessionError("SESSION_BUSY", "This conversation has messages already.")
            data = {"custom_type": PRELOAD, "data": history}
            return data, (HistoryLoaded(history=history),)

        await self._writer.commit_made("custom", make)

    def taken(self) -> list[dict[str, Any]]:
        """What waited for the next run; it waits no more."""
        taken, self._next = self._next, []
        return taken

    def put_back(self, entries: list[dict[str, Any]]) -> None:
        """The run was refused: they wait for the next one."""
        self._next = [*entries, *self._next]


def appended(entry: dict[str, Any]) -> EntryAppended:
    """How such an entry is told."""
    return EntryAppended(
        message_id=entry["message_id"],
        kind=entry["custom_type"],
        text=entry["content"],
        display=entry["display"],
    )
