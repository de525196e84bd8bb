"""Input while a run is under way: who may send, what waits, and when it is used.

What waits and what holds is read from the writer's view, the one place where it is; every change
is a record first. Sources: session steering document; unified model, section 6.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import SessionError
from ..core.events import (
    EntryAppended,
    Event,
    InputApplied,
    InputChanged,
    InputPolicyChanged,
    InputReceived,
    InputWithdrawn,
    InteractionChanged,
    QueuedInput,
    QueueName,
    QueueUpdated,
    WhileRunning,
)
from ..core.ids import Clock, IdSource
from ..core.messages import Images, Prompt
from ..policy.input import (
    InputPolicy,
    Origin,
    PolicyChange,
    Standing,
    can_send,
    changed_policy,
    input_refusal,
    next_interaction,
    policy_after_run,
)
from ..policy.queues import QueueMode, taken
from ..view.context import context_start
from ..view.interaction import Interaction
from ..view.model import SessionView
from .run import ActiveRun
from .writer import Fact, Writer

ADVICE: Final = "Wait for the run, stop it, or set the input policy to 'steer'."


class Sent(Struct, frozen=True):
    """What became of a message: the run it belongs to, and the queue it waits in (None: said)."""

    run: ActiveRun
    message_id: str
    queue: QueueName | None = None


class AtRest(Exception):  # not an error: the caller starts a run instead
    """Nothing runs that the message could wait for."""


class _NothingLeft(Exception):
    """All that was to be used was taken back meanwhile."""


class Inputs:
    """The waiting input of a session and the rule that lets it in; lives on the engine's loop."""

    def __init__(self, writer: Writer, clock_ms: Clock, new_id: IdSource) -> None:
        self._writer = writer
        self._clock_ms = clock_ms
        self._new_id = new_id
        self._last_date = 0
        self.steering_mode: QueueMode = "all"
        self.follow_up_mode: QueueMode = "one-at-a-time"

    # --- what holds ----------------------------------------------------------------------------

    @property
    def policy(self) -> InputPolicy:
        """The input policy at its three levels."""
        rule = self._writer.view.input
        return InputPolicy(rule.run, rule.session, rule.agent)

    @property
    def standing(self) -> Standing:
        """Where the session stands, as stored."""
        return standing_of(self._writer.view)

    @property
    def waiting(self) -> tuple[QueuedInput, ...]:
        """What waits, oldest first, steering and follow-ups together."""
        return self._writer.view.input.waiting

    def waiting_in(self, queue: QueueName) -> tuple[QueuedInput, ...]:
        """What waits in one queue, oldest first."""
        return tuple(row for row in self.waiting if row.queue == queue)

    def refusal(self, origin: Origin = "user") -> SessionError | None:
        """Why a message may not come in now, or None."""
        if (reason := self._writer.recorder.read_only) is not None:
            return SessionError("session_in_use", reason, advice="It is read-only here.")
        found = input_refusal(self.policy, self.standing, origin)
        if found is None:
            return None
        advice = ADVICE if found.code == "INPUT_BLOCKED" else None
        return SessionError(found.code, found.message, advice=advice)

    def transition(
        self, standing: Standing, policy: InputPolicy | None = None
    ) -> tuple[dict[str, Any], list[Event]]:
        """What a record says of the interaction after a change, and the events that tell it."""
        view = self._writer.view
        before = Interaction(view.can_send, view.revision)
        rule = self.policy if policy is None else policy
        if self._writer.recorder.read_only is not None:
            standing = replace(standing, status="failed")
        after = next_interaction(before, can_send(rule, standing))
        events: list[Event] = []
        if rule != self.policy:
            events.append(InputPolicyChanged(run=rule.run, session=rule.session, agent=rule.agent))
        if after is not before:
            events.append(InteractionChanged(can_send=after.can_send, revision=after.revision))
        return {"can_send": after.can_send, "revision": after.revision}, events

    def transition_to_rest(self) -> tuple[dict[str, Any], list[Event]]:
        """``transition`` to a session in which nothing runs, with the run override cleared."""
        policy = policy_after_run(self.policy, self.policy.agent)
        return self.transition(Standing(), policy)

    def transition_around_summary(self, *, is_running: bool) -> tuple[dict[str, Any], list[Event]]:
        """``transition`` into or out of work on the conversation outside of a run."""
        return self.transition(Standing(status="running" if is_running else "idle"))

    def with_agent_default(self, default: WhileRunning | None) -> InputPolicyChanged:
        """What tells the input policy when the agent's own default is ``default``."""
        rule = self.policy
        return InputPolicyChanged(run=rule.run, session=rule.session, agent=default)

    async def set_policy(self, change: PolicyChange) -> None:
        """Store a new override, then let it hold. Raises STORAGE_ERROR: then nothing changed."""

        def make() -> Fact:
            self._writer.require_open()
            policy = changed_policy(self.policy, change)
            interaction, events = self.transition(self.standing, policy)
            data = {"scope": change.scope, "while_running": change.while_running}
            return {**data, "interaction": interaction}, events

        await self._writer.commit_made("policy", make)

    # --- what waits ----------------------------------------------------------------------------

    async def queue(
        self,
        text: object,
        queue: QueueName,
        origin: Origin = "user",
        note: Mapping[str, Any] | None = None,
    ) -> str:
        """Store a message that waits; returns its id. ``text`` may be a ``Prompt``.

        ``note`` says of context that nobody typed what it is: ``custom_type``, ``display`` and
        ``details``, which are stored with it.
        Raises AtRest when a user's message finds nothing running, INPUT_BLOCKED and the other
        refusals of the input policy, STORAGE_ERROR when it could not be stored.
        """
        note = note or {}
        kind, display = note.get("custom_type"), note.get("display")
        said = clean_prompt(text)
        row = QueuedInput(self._new_id("m"), said.text, queue, kind, display, said.images)

        def make() -> Fact:
            self._writer.require_open()
            if origin == "user" and not self.standing.run_active:
                raise AtRest
            if (refusal := self.refusal(origin)) is not None:
                raise refusal
            data = {
                "message_id": row.message_id,
                "text": row.text,
                "queue": queue,
                "date": self._date(),
                "origin": origin,
                **_blocks_of(row.images),
                **note,
            }
            received = InputReceived(
                message_id=row.message_id,
                text=row.text,
                queue=queue,
                kind=kind,
                display=display,
                images=row.images,
            )
            return data, (received, _queue_updated((*self.waiting, row)))

        await self._writer.commit_made("input_pending", make)
        return row.message_id

    async def edit(self, message_id: str, text: Any) -> None:
        """Change what a waiting message says. Raises INVALID_INPUT when it does not wait."""
        images = next((r.images for r in self.waiting if r.message_id == message_id), None)
        said = clean_prompt(Prompt(text, images)).text

        def make() -> Fact:
            self._writer.require_open()
            self._require_waiting((message_id,))
            data = {"message_id": message_id, "text": said}
            return data, (InputChanged(message_id=message_id, text=said),)

        await self._writer.commit_made("input_changed", make)

    async def withdraw(self, message_ids: Iterable[str]) -> tuple[str, ...]:
        """Take waiting messages back; returns their texts in the order given.

        Raises INVALID_INPUT when one of them does not wait (any more).
        """
        self._writer.require_open()
        ids = tuple(message_ids)
        if not ids:
            return ()
        texts: dict[str, str] = {}

        def make() -> Fact:
            self._require_waiting(ids)
            texts.update((row.message_id, row.text) for row in self.waiting)
            told = _queue_updated(self._without(ids))
            return {"message_ids": [*ids]}, (InputWithdrawn(message_ids=ids), told)

        await self._writer.commit_made("input_withdrawn", make)
        return tuple(texts[message_id] for message_id in ids)

    async def clear(self) -> dict[QueueName, tuple[str, ...]]:
        """Take back all that waits; returns the texts by queue. Stop never does this (K27)."""
        texts: dict[QueueName, tuple[str, ...]] = {
            "steering": tuple(row.text for row in self.waiting_in("steering")),
            "follow_up": tuple(row.text for row in self.waiting_in("follow_up")),
        }
        await self.withdraw(row.message_id for row in self.waiting)
        return texts

    def taken_back(self) -> tuple[Event, ...]:
        """What tells that all that waits is taken back, where another record says so."""
        ids = tuple(row.message_id for row in self.waiting)
        return (InputWithdrawn(message_ids=ids), _queue_updated(())) if ids else ()

    # --- what is used --------------------------------------------------------------------------

    async def apply_steering(self, run: ActiveRun, step: int) -> None:
        """Put what waits into the conversation, right before the request of a step.

        What waited before the run's own message stands before it, the rest at the end. Raises
        STORAGE_ERROR: then everything still waits.
        """
        batch = taken(self.waiting_in("steering"), self.steering_mode)
        while batch and run.is_live:
            retained = [row.message_id for row in batch if row.message_id in run.retained]
            added = [row.message_id for row in batch if row.message_id not in run.retained]
            if retained:
                await self._apply(run, step, retained, _before_last_user)
            if added:
                await self._apply(run, step, added, _last_message)
            # What came in while that was being stored came before the request, too.
            batch = self.waiting_in("steering") if self.steering_mode == "all" else ()

    async def use_follow_up(self, run: ActiveRun) -> bool:
        """Say the next follow-up, as the user would now; False when none waits."""
        rows = taken(self.waiting_in("follow_up"), self.follow_up_mode)
        used = [await self._say(run, row.message_id) for row in rows]
        return any(used)

    async def _apply(
        self,
        run: ActiveRun,
        step: int,
        ids: list[str],
        place: Callable[[SessionView], str | None],
    ) -> None:
        def make() -> Fact:
            rows = tuple(row for row in self.waiting if row.message_id in ids)
            if not rows or not run.is_live:
                raise _NothingLeft
            kept = tuple(row.message_id for row in rows)
            after = place(self._writer.view)
            event = InputApplied(
                message_ids=kept, after_message_id=after, inputs=rows, run_id=run.run_id
            )
            said = [
                {"id": row.message_id, "text": row.text, **_blocks_of(row.images), **_note_of(row)}
                for row in rows
            ]
            data = {"message_ids": [*kept], "after_message_id": after, "messages": said}
            told = _queue_updated(self._without(kept))
            return {**data, "run_id": run.run_id, "step": step}, (event, told)

        with contextlib.suppress(_NothingLeft):
            await self._writer.commit_made("input_applied", make)

    async def _say(self, run: ActiveRun, message_id: str) -> bool:
        def make() -> Fact:
            row = next((row for row in self.waiting if row.message_id == message_id), None)
            if row is None or run.is_stopping or not run.is_live:
                raise _NothingLeft
            told = _queue_updated(self._without((message_id,)))
            data = {"run_id": run.run_id, "origin": "follow_up"}
            if row.kind is None:
                said, message = as_said(message_id, Prompt(row.text, row.images))
                received = replace(said, run_id=run.run_id)
                return {**data, "message": message}, (received, told)
            entry = EntryAppended(
                message_id=message_id,
                kind=row.kind,
                text=row.text,
                display=row.display is not False,
                run_id=run.run_id,
            )
            named = {"message_id": message_id, "content": row.text, **_note_of(row)}
            return {**data, **named}, (entry, told)

        with contextlib.suppress(_NothingLeft):
            row = next((row for row in self.waiting if row.message_id == message_id), None)
            is_said = row is None or row.kind is None
            await self._writer.commit_made("message" if is_said else "custom_message", make)
            return True
        return False

    def _without(self, ids: Iterable[str]) -> tuple[QueuedInput, ...]:
        gone = {*ids}
        return tuple(row for row in self.waiting if row.message_id not in gone)

    def _require_waiting(self, ids: Iterable[str]) -> None:
        waiting = {row.message_id for row in self.waiting}
        for message_id in ids:
            if message_id not in waiting:
                message = f"The message {message_id!r} does not wait any more."
                raise SessionError("INVALID_INPUT", message)

    def _date(self) -> int:
        """Milliseconds, never smaller than before: what waits is ordered by it."""
        self._last_date = max(self._last_date, self._clock_ms())
        return self._last_date


def _note_of(row: QueuedInput) -> dict[str, Any]:
    if row.kind is None:
        return {}
    return {"custom_type": row.kind, "display": row.display is not False}


def standing_of(view: SessionView) -> Standing:
    """Where the session stands, as its view says."""
    is_working = view.is_busy or view.phase in ("summarizing", "compacting")
    status: Literal["idle", "running", "failed"] = "running" if is_working else "idle"
    if view.phase == "failed" or view.storage.read_only is not None:
        status = "failed"
    return Standing(
        status=status,
        run_active=view.is_busy,
        stop_committed=view.stopping,
        is_closed=view.phase == "closed",
    )


def clean_text(text: object) -> str:
    """``text`` as it is kept. Raises INVALID_INPUT for what is no text or blank."""
    if not isinstance(text, str) or not text.strip():
        message = f"A message must be text that is not blank, got {text!r}."
        raise SessionError("INVALID_INPUT", message)
    return text.encode("utf-8", "replace").decode("utf-8")  # no lone surrogates in history


def clean_prompt(said: object) -> Prompt:
    """What is said, a text or a ``Prompt``, as it is kept. Raises INVALID_INPUT as above, unless
    the text is blank beside pictures: then it is empty.
    """
    text, images = (said.text, said.images) if isinstance(said, Prompt) else (said, None)
    if images and isinstance(text, str) and not text.strip():
        return Prompt("", images)
    return Prompt(clean_text(text), images or None)


def as_said(message_id: str, said: Prompt) -> tuple[InputReceived, dict[str, Any]]:
    """A message of the user as an event, and as a record holds it."""
    message = {"id": message_id, "role": "user", "text": said.text, **_blocks_of(said.images)}
    return InputReceived(message_id=message_id, text=said.text, images=said.images), message


def _blocks_of(images: Images) -> dict[str, Any]:
    return {"images": [image.block for image in images]} if images else {}


def _last_message(view: SessionView) -> str | None:
    messages = view.chat.messages
    return messages[-1].id if len(messages) else None


def _before_last_user(view: SessionView) -> str | None:
    messages, start = view.chat.messages, context_start(view)
    first = 0 if start is None else start + 1  # what is before a summary, the model does not read
    for index in range(len(messages) - 1, first - 1, -1):
        if messages[index].role == "user":
            return messages[index - 1].id if index else None
    return messages[start].id if start is not None else None


def _queue_updated(rows: Iterable[QueuedInput]) -> QueueUpdated:
    rows = tuple(rows)
    return QueueUpdated(
        steering=tuple(row.text for row in rows if row.queue == "steering"),
        follow_up=tuple(row.text for row in rows if row.queue == "follow_up"),
    )
