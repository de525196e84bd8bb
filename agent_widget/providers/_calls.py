"""Tool calls of one answer, put together from the fragments that servers stream.

The one place where indexes and ids of vendors become calls, whatever the wire.

The API numbers fragments by ``index`` and sends id and name once. Servers that call themselves
compatible leave out the index, the id or both, repeat them, use one index for all calls, or send
the arguments as an object; every such form seen in public is told apart here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ._parts import sendable
from .base import CallProgress, CallReady

_SHOWN_FRACTION: Final = 32
"""A growing call is shown again when it grew by this part of itself, so that showing costs O(n)."""


class _Call:
    """One call as far as it arrived; ``value`` holds arguments that came as JSON, not as text."""

    __slots__ = (
        "fragments",
        "id",
        "index",
        "is_whole",
        "name",
        "shown_chars",
        "size_chars",
        "value",
    )

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.fragments: list[str] = []
        self.size_chars = 0
        self.shown_chars = -1
        self.value: Any = None
        self.is_whole = False

    @property
    def text(self) -> str:
        if len(self.fragments) > 1:
            self.fragments = ["".join(self.fragments)]
        return self.fragments[0] if self.fragments else ""

    @property
    def has_arguments(self) -> bool:
        return bool(self.fragments) or self.value is not None

    def arguments(self) -> tuple[Any, str | None]:
        """As ``read_arguments``."""
        return (self.value, None) if self.value is not None else read_arguments(self.text)

    def is_complete(self) -> bool:
        """True when its arguments could end here: a further call may begin."""
        return self.value is not None or (bool(self.text) and read_arguments(self.text)[1] is None)


class CallCollector:
    """Collects the calls of one answer in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self.size_chars = 0
        self.marks_whole = False
        """True when this server says of each call that it is whole."""

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, fragment: object) -> CallProgress | None:
        """Take in an entry of ``delta.tool_calls``; how the call looks now, if that is news."""
        if not isinstance(fragment, Mapping):
            return None
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        index, call_id, name = fragment.get("index"), fragment.get("id"), function.get("name")
        call = self._call_for(
            index if isinstance(index, int) else None,
            call_id if isinstance(call_id, str) else "",
            name if isinstance(name, str) else "",
        )
        self._grow(call, function.get("arguments"))
        return self._progress(call)

    def settle(self, index: int, arguments: str | None = None) -> None:
        """The newest call at ``index`` is whole, with ``arguments`` where the server repeats them.

        Without such a call nothing happens.
        """
        self.marks_whole = True
        call = next((c for c in reversed(self._calls) if c.index == index), None)
        if call is None:
            return
        call.is_whole = True
        if arguments:
            self.size_chars += len(arguments) - call.size_chars
            call.fragments, call.size_chars = [arguments], len(arguments)

    def _call_for(self, index: int | None, call_id: str, name: str) -> _Call:
        call = self._known(index, call_id, name)
        if call is None:
            call = _Call(index)
            self._calls.append(call)
        call.id = call.id or call_id
        if not call.name or (name != call.name and not call.has_arguments):
            call.name += name  # a name may come in pieces, before any arguments
        return call

    def _known(self, index: int | None, call_id: str, name: str) -> _Call | None:
        """The call that a fragment belongs to, or None when it begins a new one."""
        calls = self._calls
        last = calls[-1] if calls else None
        if index is not None:
            call = next((c for c in reversed(calls) if c.index == index), None)
        elif call_id:
            call = next((c for c in calls if c.id == call_id), None if name else last)
        else:
            call = last
        if call is None or not name or not call.name:
            return call  # only the first fragment of a call names it
        if call_id and call.id:
            begins = call_id != call.id and (call.name != name or call.is_complete())
        else:
            begins = call.has_arguments and (call.name != name or call.is_complete())
        return None if begins else call

    def _grow(self, call: _Call, arguments: object) -> None:
        if isinstance(arguments, str):
            if arguments:
                call.fragments.append(arguments)
                call.size_chars += len(arguments)
                self.size_chars += len(arguments)
        elif arguments is not None:
            call.value = arguments

    def _progress(self, call: _Call) -> CallProgress | None:
        if call.size_chars < call.shown_chars + 1 + call.shown_chars // _SHOWN_FRACTION:
            return None
        call.shown_chars = call.size_chars
        return CallProgress(self._calls.index(call), call.name, sendable(call.text))

    def ready(self, new_id: Callable[[], str]) -> list[CallReady]:
        """All calls, each with an id of its own: the server's, else a new one."""
        used: set[str] = set()
        calls = []
        has_strays = any(call.has_arguments and not call.name for call in self._calls)
        for call in self._calls:
            known = call.id
            while not known or known in used:
                known = new_id()
            used.add(known)
            args, problem = call.arguments()
            is_robbed = has_strays and not call.has_arguments
            if is_robbed or (self.marks_whole and not call.is_whole):
                args, problem = None, "they did not arrive completely"
            calls.append(CallReady(sendable(known), sendable(call.name), args, problem))
        return calls


def read_arguments(text: str) -> tuple[Any, str | None]:
    """``(value, None)``, or ``(None, problem)`` when ``text`` is not JSON; blank text is ``{}``.

    Line breaks inside strings, which models write, are let through, and so is an empty object that
    gateways put before or behind the real one; nothing is completed or repaired.
    """
    value, problem = _read_json(text)
    if problem is not None and text.strip().startswith("{}"):
        value, problem = _read_json(text.strip()[2:])
    elif problem is not None and text.strip().endswith("{}"):
        value, problem = _read_json(text.strip()[:-2])
    return value, problem


def _read_json(text: str) -> tuple[Any, str | None]:
    if not text.strip():
        return {}, None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        try:
            value = json.loads(text, strict=False, parse_constant=_refuse, object_hook=_clean)
        except (ValueError, RecursionError) as error:
            return None, "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return ({}, None) if value is None else (_clean_text(value), None)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _clean(value: dict[str, Any]) -> dict[str, Any]:
    return {sendable(key): _clean_text(item) for key, item in value.items()}


def _clean_text(value: Any) -> Any:
    if isinstance(value, list):
        return [_clean_text(item) for item in value]
    return sendable(value) if isinstance(value, str) else value
