"""Which content of a file a person saw before a change, and which changes are this program's."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from ..core.errors import ToolFailure
from .workspace import Place

Digest: TypeAlias = str | None
"""What identifies a file's content; None: there is no file, or it cannot be read."""

_CALLS: Final = 500
_FILES: Final = 500
_CHANGES: Final = 200


def digest_of(data: bytes) -> Digest:
    return hashlib.sha256(data).hexdigest()


class Revisions:
    """Remembers what calls were shown with, and every write of these tools. On any thread.

    Calls are told apart by their arguments: of two with equal ones, the last one shown counts.
    The newest 500 calls and files are kept; a call that was not shown is not checked. ``turn``
    is held from reading a file until it is written.
    """

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self._lock = threading.Lock()
        self._shown: OrderedDict[str, Digest] = OrderedDict()
        self._written: OrderedDict[Place, deque[tuple[Digest, Digest]]] = OrderedDict()

    def shown(self, args: Mapping[str, Any], digest: Digest) -> None:
        """A person is shown the call with ``args`` against that content."""
        with self._lock:
            _put(self._shown, _key(args), digest, _CALLS)

    def wrote(self, place: Place, before: Digest, after: Digest) -> None:
        """A call of these tools made ``after`` of ``before``."""
        with self._lock:
            changes = self._written.get(place) or deque(maxlen=_CHANGES)
            changes.append((before, after))
            _put(self._written, place, changes, _FILES)

    def require_as_shown(self, args: Mapping[str, Any], place: Place, now: Digest) -> None:
        """Raises ToolFailure when something other than these tools changed the file since.

        Several changes of one answer are all shown before the first of them runs, so what
        earlier calls wrote is no reason to refuse later ones.
        """
        with self._lock:
            key = _key(args)
            if key not in self._shown:
                return
            digest = self._shown[key]
            for before, after in self._written.get(place, ()):
                if before == digest:
                    digest = after
        if digest != now:
            what = "appeared" if digest is None else "is gone" if now is None else "changed"
            raise ToolFailure(
                f"{place.relative} {what} after this change was shown, so it was not made. "
                "Read the file again."
            )


def _put(kept: OrderedDict[Any, Any], key: object, value: object, limit: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > limit:
        kept.popitem(last=False)


def _key(args: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(args, sort_keys=True).encode()).hexdigest()
