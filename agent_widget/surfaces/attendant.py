"""Who answers a permission question: the page, the keyboard, or nobody.

The ladder: a page that greeted the widget shows the card. Without one, after a grace time, a main
thread that waits for the run asks at the keyboard. Where neither can be, the answer is deny.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ..policy.permission import Decision, Question
from .kernel.host import Host
from .kernel.prompt import terminal_question

GRACE_S: Final = 5.0
"""How long a question waits for a page to greet before the next rung is tried."""

_NO_PAGE: Final = "No page shows this widget and nobody can type an answer here."


class WidgetAttendant:
    """Stands between the questions of a session and the person in front of it.

    ``has_page`` and ``was_displayed`` tell about the widget; ``attend`` runs on the engine's loop,
    ``tick`` on the main thread while that waits for a run.
    """

    def __init__(
        self,
        host: Host,
        has_page: Callable[[], bool],
        was_displayed: Callable[[], bool],
        answer: Callable[[str, Decision], None],
        *,
        grace_s: float = GRACE_S,
    ) -> None:
        self._host = host
        self._has_page = has_page
        self._was_displayed = was_displayed
        self._answer = answer
        self._grace_s = grace_s
        self._lock = threading.Lock()
        self._unseen: Question | None = None
        self._waits = 0
        self._greeted = asyncio.Event()

    async def attend(self, question: Question) -> Decision:
        """Return only to deny: a click or a typed answer arrives by itself and cancels this."""
        if self._host.kernel is not None or self._host.kind == "marimo":
            await self._page_greets()
        if self._has_page():
            await asyncio.Event().wait()
        if self._host.allow_stdin() and self._waits:
            with self._lock:
                self._unseen = question
            try:
                await asyncio.Event().wait()
            finally:
                with self._lock:
                    self._unseen = None
        if self._host.allow_stdin() and self._was_displayed():
            await asyncio.Event().wait()  # a page that reloads, or opens later, will show it
        return Decision("deny", _NO_PAGE, source="none")

    async def _page_greets(self) -> None:
        self._greeted = asyncio.Event()
        if not self._has_page():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._greeted.wait(), self._grace_s)

    def page_greeted(self) -> None:
        """A page shows the widget now; called on the engine's loop."""
        self._greeted.set()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While the main thread waits for a run and calls ``tick``."""
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1

    def tick(self) -> None:
        """Ask at the keyboard when a question has no page; called on the waiting main thread."""
        with self._lock:
            question, self._unseen = self._unseen, None
        if question is None:
            return
        text = f"{question.prompt}:\n{question.text}"
        typed = terminal_question(text, self._host, rule_for_session=", ".join(question.rules[:1]))
        decision = (
            Decision("deny", _NO_PAGE, source="none")
            if typed is None
            else Decision(typed.decision, typed.reason)
        )
        self._answer(question.permission_id, decision)
