"""Permission questions: one open at a time, answered once, denied when nobody can answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, get_args

from msgspec import Struct

from ..core.errors import SessionError
from ..core.events import Event, PermissionRequested, QueuedCall, TurnError, notice
from ..core.ids import Clock
from ..policy.permission import Answer, Decision, Question, read_answer
from .hostcalls import host_answer

AskUser = Callable[[Question], Any]
"""Host callable, sync or async; see ``policy.permission.read_answer`` for what it may return."""

STOPPED: Final = "The run was stopped."
NOBODY: Final = "There was nobody to ask: no ask_user and no widget on a page."
ADVICE: Final = "Pass ask_user=, display the widget, or use a tool that is read-only."

READING_MS: Final = 500
"""A question cannot be answered on a page before this: a click meant for something else is none."""


class Attendant(Protocol):
    """What shows questions to a person (the widget).

    ``attend`` returns only if it comes to a decision of its own (a terminal prompt, or a denial
    because no page is there to click on); the person's click comes through ``Approvals.answer``.
    It is cancelled once the question is answered.
    """

    def attend(self, question: Question) -> Awaitable[Decision]: ...


class Asking(Struct, frozen=True):
    """A question with what belongs to it.

    ``upcoming`` are the calls that ask next; ``check`` raises SessionError for an answer that
    cannot be carried out (arguments that do not fit, a rule that is none): the question stays open.
    ``is_form``: a call that runs wants to know what is in the question's ``args``.
    """

    question: Question
    options: tuple[str, ...]
    project_file: str | None
    upcoming: tuple[QueuedCall, ...]
    check: Callable[[Decision], None]
    is_form: bool = False


class Approvals:
    """The questions of a session, on the engine's loop."""

    def __init__(
        self, ask_user: AskUser | None, attendant: Attendant | None, clock_ms: Clock
    ) -> None:
        self.ask_user = ask_user
        self.attendant = attendant
        self._clock_ms = clock_ms
        self._published_ms = 0
        self._turn = asyncio.Lock()
        self._waiting: list[QueuedCall] = []
        self._stops = 0
        self._open: tuple[Asking, asyncio.Future[Decision]] | None = None
        self._has_told = False

    async def ask(
        self, asking: Asking, emit: Callable[[Event], None], known: Decision | None = None
    ) -> Decision:
        """The decision on a question; later ones wait in order. Never raises but cancellation.

        ``known`` is the answer of a recording; only ``ask_user`` is asked all the same.
        """
        question = asking.question
        waiting = QueuedCall(question.tool_call_id, question.tool, question.text, question.agent)
        stops = self._stops
        self._waiting.append(waiting)
        try:
            await self._turn.acquire()
        finally:
            self._waiting.remove(waiting)
        try:
            if stops != self._stops:
                return Decision("deny", STOPPED)
            is_shown = self.ask_user is None and self.attendant is not None and known is None
            queue = (*asking.upcoming, *self._waiting)
            emit(_requested(asking, queue, is_shown=is_shown))
            self._published_ms = self._clock_ms()
            if self.ask_user is not None:
                return await self._ask_host(self.ask_user, asking)
            if known is not None:
                decision = known
            elif self.attendant is not None:
                decision = await self._ask_person(self.attendant, asking)
            else:
                decision = Decision("deny", NOBODY, source="none")
            if decision.source == "none" and not self._has_told:
                self._has_told = True
                emit(_nobody(question, decision))
            return decision
        finally:
            self._turn.release()

    def answer(self, permission_id: str, decision: Decision, *, is_click: bool = False) -> bool:
        """Resolve the open question; False for a late, repeated or made-up answer.

        Raises SessionError for an answer that was not on offer or cannot be carried out, or a
        click within ``READING_MS``; the question then stays open.
        """
        if self._open is None:
            return False
        asking, answered = self._open
        if asking.question.permission_id != permission_id or answered.done():
            return False
        if is_click:
            self._require_read()
        if decision.answer not in asking.options:
            text = f"{decision.answer!r} was not on offer for this question."
            raise SessionError("INVALID_INPUT", text)
        asking.check(decision)
        answered.set_result(decision)
        return True

    def withdraw(self) -> None:
        """Deny the open question and those that wait behind it, because of a Stop."""
        self._stops += 1
        if self._open is not None and not self._open[1].done():
            self._open[1].set_result(Decision("deny", STOPPED))

    def _require_read(self) -> None:
        now_ms = self._clock_ms()
        # A clock that was set back must not keep the question shut for as long.
        self._published_ms = min(self._published_ms, now_ms)
        if now_ms - self._published_ms < READING_MS:
            raise SessionError(
                "QUESTION_TOO_EARLY",
                f"The question was open for less than {READING_MS} ms; it is still open.",
                advice="Read it, then answer.",
            )

    async def _ask_host(self, ask_user: AskUser, asking: Asking) -> Decision:
        question = asking.question
        try:
            decision = read_answer(await host_answer("ask_user", ask_user, question))
            asking.check(decision)
            return decision
        except Exception as error:  # noqa: BLE001  # a broken guard denies, whatever broke
            reason = f"ask_user failed with {type(error).__name__}: {error}"
            return Decision("deny", reason, source="none")

    async def _ask_person(self, attendant: Attendant, asking: Asking) -> Decision:
        clicked: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._open = (asking, clicked)
        attended = asyncio.ensure_future(attendant.attend(asking.question))
        try:
            await asyncio.wait({clicked, attended}, return_when=asyncio.FIRST_COMPLETED)
            if clicked.done():
                return clicked.result()
            return _attended(attended)
        finally:
            self._open = None
            attended.cancel()
            clicked.cancel()


def decision_in_words(answer: Any, reason: str | None, args: Any, rules: Any) -> Decision:
    """The decision that a page words so. Raises INVALID_INPUT, INVALID_RULE for what is none."""
    if answer not in get_args(Answer):
        raise SessionError("INVALID_INPUT", f"{answer!r} is no answer to a question.")
    rules = [] if rules is None else rules
    if not isinstance(rules, list | tuple) or not all(isinstance(r, str) for r in rules):
        raise SessionError("INVALID_RULE", f"{rules!r} is no list of rules.")
    return Decision(answer, reason or None, args, tuple(rules))


def _attended(task: asyncio.Future[Decision]) -> Decision:
    error = None if task.cancelled() else task.exception()
    if task.cancelled() or error is not None:
        return Decision("deny", f"The question could not be shown: {error}", source="none")
    return task.result()


def _requested(
    asking: Asking, queue: tuple[QueuedCall, ...], *, is_shown: bool
) -> PermissionRequested:
    question = asking.question
    return PermissionRequested(
        tool_call_id=question.tool_call_id,
        name=question.tool,
        prompt=question.text if asking.is_form else question.prompt,
        permission_id=question.permission_id if is_shown else "",
        text=question.text,
        language=question.language,
        agent=question.agent,
        reason=question.reason,
        args=dict(question.args),
        options=asking.options,
        rules=question.rules,
        project_file=asking.project_file,
        queue=queue,
        is_form=True if asking.is_form else None,
    )


def _nobody(question: Question, decision: Decision) -> TurnError:
    why = "" if question.reason is None else f"It asked because: {question.reason.rstrip('.')}. "
    message = f"{question.tool} was denied. {why}{decision.reason or NOBODY} {ADVICE}"
    return notice("permission", "nobody_to_ask", message)
