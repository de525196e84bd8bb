"""The chat behind a widget: a driven session, its bridge, and the clicks that arrive."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Protocol

from ..core.errors import SessionError
from ..policy.permission import Decision
from ..providers.keys import TypedKeys
from ..view.live import Delivery
from ..view.locale.shown import Shown
from ..view.locale.words import ENGLISH, Words, words_of
from .attendant import WidgetAttendant
from .bridge import Bridge, Transport, trait_snapshot
from .driver import Driver
from .kernel.context import DisplayContext
from .kernel.inbox import Inbox


class Widget(Transport, Protocol):
    """What a chat needs of the widget that shows it."""

    @property
    def comm(self) -> Any: ...

    def on_msg(self, callback: Callable[..., None]) -> None: ...


class Chat:
    """What an AgentWidget does, apart from its traits.

    ``is_own`` says that the session ends with the widget: it is not one that was passed in.
    """

    def __init__(
        self,
        driver: Driver,
        widget: Widget,
        *,
        is_own: bool,
        delivery: Delivery | None = None,
        keys: TypedKeys | None = None,
    ) -> None:
        self.driver = driver
        self.displayed: DisplayContext | None = None
        self.inbox = Inbox(self._deliver)
        self._widget = widget
        self._is_own = is_own
        self._delivery = delivery
        self._keys = keys
        self._bridge: Bridge | None = None
        self._attendant = WidgetAttendant(
            driver.host,
            has_page=lambda: self._bridge is not None and bool(self._bridge.views),
            was_displayed=lambda: self.displayed is not None,
            answer=self._answer,
        )
        driver.attend(self._attendant)

    def first_snapshot(self) -> dict[str, Any]:
        session = self.driver.session
        return trait_snapshot(session.stream_id, 0, Shown().of(session.view))

    def words(self) -> Words:
        """The words of the language in which the chat is shown now."""
        return words_of(self.driver.session.view.locale or ENGLISH)

    def set_locale(self, locale: str) -> None:
        """Show the chat in another language. Raises InvalidOptions where there is none."""

        async def change() -> None:
            self.driver.session.set_locale(locale)

        self.driver.command(change)

    def connect(self) -> None:
        """Join session and browser, once the widget has its comm."""
        driver = self.driver
        greeted = self._attendant.page_greeted
        self._bridge = Bridge(
            driver.session, self._widget, driver.engine.loop, greeted, self._delivery, self._keys
        )
        self._widget.on_msg(self._on_msg)
        comm = self._widget.comm
        if driver.tap is not None and comm is not None:
            driver.tap.watch(comm.comm_id, self.inbox)

    def is_idle_and_unseen(self) -> bool:
        """Whether nothing runs and no page shows it; the session is the widget's own."""
        is_seen = self._bridge is not None and bool(self._bridge.views)
        view = self.driver.session.view
        return self._is_own and not is_seen and not (view.is_busy or view.is_compacting)

    def set_delivery(self, delivery: Delivery) -> None:
        """Show answers so from the next block on."""
        if self._bridge is not None:
            self.driver.engine.call_soon(self._bridge.set_delivery, delivery)

    def close(self) -> None:
        comm = self._widget.comm
        if self.driver.tap is not None and comm is not None:
            self.driver.tap.unwatch(comm.comm_id)
        if self._is_own:
            self.driver.close()
        if self._bridge is not None:
            self.driver.engine.call_soon(self._bridge.close)

    # --- messages of the browser ---------------------------------------------------------------

    def _on_msg(self, _widget: object, content: object, buffers: object) -> None:
        self.inbox.receive(content, buffers, "on_msg")

    def _deliver(self, content: dict[str, Any], _buffers: object, _path: str) -> None:
        if self._bridge is not None:
            self.driver.engine.call_soon(self._bridge.receive, content)

    def _answer(self, permission_id: str, decision: Decision) -> None:
        def decide() -> None:
            with contextlib.suppress(SessionError):  # answered elsewhere meanwhile
                self.driver.session.answer(permission_id, decision)

        self.driver.engine.call_soon(decide)
