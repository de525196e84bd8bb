"""SessionExplorer: a session as a state machine, step by step, to teach with."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Final

import traitlets

from ..core.errors import InvalidOptions, SessionError
from ..engine.runtime import engine_thread
from ..view.timeline import Step, timeline_of
from .driver import COMMAND_TIMEOUT_S, Driver
from .embedding import EmbeddableWidget, front_end
from .exploration import Exploration, Following
from .recorded import is_recording, records_in_store, session_file, timeline_in_file
from .replayed import explored_recording

_SOURCES: Final = (
    "Pass an AgentWidget, a ChatSession, the file of a session (records.jsonl), its folder, a "
    "recording, or a store with session_id=."
)
_log = logging.getLogger(__name__)


class SessionExplorer(EmbeddableWidget):
    """Shows how a session came to be: its state machine, each action, the state, each request.

    ``source`` is a chat or session that runs here, which is then followed live; a file of records
    or events as JSON Lines; a recording, which is played again offline (``session_id`` is then the
    number of one of several chats); or a store (file, folder, URL or object) with ``session_id``,
    None being the session written last. ``at`` is the step it opens at (-1: the last); set it to
    move every view there.

    Nothing here changes the session: ``what_if`` folds a copy. Saved in a notebook or an HTML
    export all but "what if" works without a kernel. Raises InvalidOptions for what is no source,
    SessionError ``session_not_found``.
    """

    _esm: ClassVar[str] = front_end("explorer.js")
    at = traitlets.Int(-1).tag(sync=True)
    frames = traitlets.Any().tag(
        sync=True,
        to_json=lambda value, _widget: value.wire(),
        from_json=lambda _json, widget: widget.frames,
    )
    lane = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        source: object,
        *,
        session_id: str | None = None,
        at: int = -1,
    ) -> None:
        self._following: Following | None = None
        driver = _driver_of(source)
        if driver is None:
            explored = _read(source, session_id)
        else:
            self._following = _followed(driver)
            explored = self._following.exploration
        super().__init__(frames=explored, at=at)
        self.on_msg(self._on_msg)
        if self._following is not None:
            self._following.send = self._say
            self._following.save = self._save

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps so far, each with its event, its actions and the state after it."""
        return (*self._explored.steps,)

    def what_if(self, at: int, change: Mapping[str, Any] | None) -> dict[str, Any]:
        """Fold again from step ``at`` with ``change``, and show it as a second lane; its wire form.

        ``change`` is ``{"kind": "skip"}``, ``{"kind": "actions", "actions": [...]}``, ``{"kind":
        "deny", "reason": ...}`` or ``{"kind": "allow", "output": ...}``; None takes the lane away.
        ``first`` in the result is the first step whose state differs. Printed, the explorer shows
        the lane as a second table. Raises SessionError INVALID_INPUT.
        """
        self.lane = self._explored.lane(at, change)
        shown: dict[str, Any] = self.lane
        return shown

    def close(self) -> None:
        """Let go of the session and close the view. Harmless twice."""
        following, self._following = self.__dict__.get("_following"), None
        if following is not None:
            engine_thread().call_soon(following.end)
        super().close()

    def __repr__(self) -> str:
        return self._explored.table()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        table = self._explored.table()
        fallback = {"text/plain": table, "text/html": f"<pre>{escape(table)}</pre>"}
        bundle: Any = super()._repr_mimebundle_(**kwargs)
        if isinstance(bundle, tuple):
            return {**(bundle[0] or {}), **fallback}, *bundle[1:]
        return {**(bundle or {}), **fallback}

    # --- the page ------------------------------------------------------------------------------

    @property
    def _explored(self) -> Exploration:
        explored: Exploration = self.frames
        return explored

    def _on_msg(self, _widget: object, content: object, _buffers: object) -> None:
        if isinstance(content, Mapping):
            engine_thread().call_soon(self._receive, content)

    def _receive(self, content: Mapping[str, Any]) -> None:
        match content:
            case {"kind": "hello", "have": int(have)}:
                if self._following is not None:
                    self._following.is_watched = True
                self._say({"kind": "welcome"})
                start = max(0, have - 1)  # the last one may have grown
                if start < len(self._explored.steps):
                    self._say(self._explored.since(start))
            case {"kind": "what_if", "at": int(at), "change": change}:
                try:
                    self.what_if(at, change)
                    self._say({"kind": "folded"})
                except SessionError as error:
                    said = " ".join(filter(None, (error.message, error.advice)))
                    self._say({"kind": "refused", "message": said})

    def _say(self, message: dict[str, Any]) -> None:
        try:
            self.send(message)
        except Exception:  # noqa: BLE001  # the page may be gone: the session goes on
            _log.warning("a %s message could not be sent", message["kind"], exc_info=True)

    def _save(self) -> None:
        try:
            self.send_state("frames")
        except Exception:  # noqa: BLE001  # as above
            _log.warning("the steps could not be synced", exc_info=True)


def _driver_of(source: object) -> Driver | None:
    """The driver of a chat or session that runs here, None where ``source`` is none."""
    for name in ("driver", "_driver"):
        found = getattr(source, name, None)
        if isinstance(found, Driver):
            return found
    return None


def _followed(driver: Driver) -> Following:
    following = Following(driver.session, driver.engine.loop, driver.session.model.info.label)
    driver.engine.submit(following.begin).result(COMMAND_TIMEOUT_S)
    return following


def _read(source: object, session_id: str | None) -> Exploration:
    if isinstance(source, str | os.PathLike):
        file = session_file(Path(source).expanduser())
        if file is not None and is_recording(file):
            return explored_recording(file, session_id)
        if file is not None and session_id is None:
            return Exploration(timeline_in_file(file), file.name, is_live=False)
    if not isinstance(source, str | os.PathLike) and not hasattr(source, "load"):
        raise InvalidOptions(f"{source!r} is nothing to explore.", advice=_SOURCES)
    store: Any = source
    if isinstance(store, Path | str) and _is_missing(store):
        raise InvalidOptions(f"There is no file {str(store)!r}.", advice=_SOURCES)
    found, records = records_in_store(store, session_id)
    return Exploration(timeline_of(records), found, is_live=False)


def _is_missing(where: str | Path) -> bool:
    text = str(where)
    return (
        "://" not in text
        and not text.startswith(("jsonl:", "memory:"))
        and not Path(text).expanduser().exists()
    )
