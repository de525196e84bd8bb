"""Permission questions: one open at a time, answered once, denied when nobody can answer."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from ..core.events import Event, PermissionRequested, TurnError
from ..policy.permission import Decision, Question, read_answer, session_rule

AskUser = Callable[[Question], Any]
"""Host callable, sync or async; see ``policy.permission.read_answer`` for what it may return."""

NOBODY: Final = "There was nobody to ask: no ask_user and no widget on a page."
ADVICE: Final = "Pass ask_user=, display the widget, or use a tool that is read-only."


class Attendant(Protocol):
    """What shows questions to a person (the widget).

    ``attend`` returns only if it comes to a decision of its own (a terminal prompt, or a denial
    because no page is there to click on); the person's click comes through ``Approvals.answer``.
    It is cancelled once the question is answered.
    """

    def attend(self, question: Question) -> Awaitable[Decision]: ...


class Approvals:
    """The questions of a session, on the engine's loop."""

    def __init__(self, ask_user: AskUser | None, attendant: Attendant | None) -> None:
        self.ask_user = ask_user
        self.attendant = attendant
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._open: tuple[str, asyncio.Future[Decision]] | None = None
        self._has_told = False

    async def ask(self, question: Question, emit: Callable[[Event], None]) -> Decision:
        """The decision on ``question``; later ones wait in order. Never raises but cancellation."""
        self._waiting += 1
        async with self._turn:
            self._waiting -= 1
            is_shown = self.ask_user is None and self.attendant is not None
            emit(_requested(question, self._waiting, is_shown=is_shown))
            if self.ask_user is not None:
                return await self._ask_host(self.ask_user, question)
            if self.attendant is not None:
                decision = await self._ask_person(self.attendant, question)
            else:
                decision = Decision("deny", NOBODY, "none")
            if decision.source == "none" and not self._has_told:
                self._has_told = True
                emit(_nobody(question, decision))
            return decision

    def answer(self, permission_id: str, decision: Decision) -> bool:
        """Resolve the open question; False for a late, repeated or made-up answer."""
        if self._open is None or self._open[0] != permission_id or self._open[1].done():
            return False
        self._open[1].set_result(decision)
        return True

    async def _ask_host(self, ask_user: AskUser, question: Question) -> Decision:
        try:
            if inspect.iscoroutinefunction(ask_user):
                answer = await ask_user(question)
            else:
                answer = await asyncio.to_thread(ask_user, question)
                if inspect.isawaitable(answer):
                    answer = await answer
            return read_answer(answer)
        except Exception as error:  # noqa: BLE001  # a broken guard denies, whatever broke
            reason = f"ask_user failed with {type(error).__name__}: {error}"
            return Decision("deny", reason, "none")

    async def _ask_person(self, attendant: Attendant, question: Question) -> Decision:
        clicked: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._open = (question.permission_id, clicked)
        attended = asyncio.ensure_future(attendant.attend(question))
        try:
            await asyncio.wait({clicked, attended}, return_when=asyncio.FIRST_COMPLETED)
            if clicked.done():
                return clicked.result()
            return _attended(attended)
        finally:
            self._open = None
            attended.cancel()
            clicked.cancel()


def _attended(task: asyncio.Future[Decision]) -> Decision:
    error = None if task.cancelled() else task.exception()
    if task.cancelled() or error is not None:
        return Decision("deny", f"The question could not be shown: {error}", "none")
    return task.result()


def _requested(question: Question, waiting: int, *, is_shown: bool) -> PermissionRequested:
    return PermissionRequested(
        tool_call_id=question.tool_call_id,
        name=question.tool,
        prompt=question.prompt,
        permission_id=question.permission_id if is_shown else "",
        text=question.text,
        language=question.language,
        agent=question.agent,
        reason=question.reason,
        session_rule=session_rule(question.tool),
        waiting=waiting,
    )


def _nobody(question: Question, decision: Decision) -> TurnError:
    message = f"{question.tool} was denied. {decision.reason or NOBODY} {ADVICE}"
    return TurnError(
        scope="permission", message=message, recoverable=True, error_kind="nobody_to_ask"
    )
