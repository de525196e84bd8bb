"""The file of a recording: JSON Lines, version 1. ``format.md`` describes it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from ...core.errors import InvalidOptions, SessionError

VERSION: Final = 1
HEADER: Final = "agent_widget_recording"
_LOOK_BACK: Final = 8
"""Among so many requests before it a request looks for the one it goes on from."""

Wire = dict[str, Any]


@dataclass
class Setup:
    """What requests have in common: the model, its system text, its tools, further options.

    ``line`` is where it stands in the file, ``tool_lines`` where each tool does; 0 is nowhere yet.
    """

    model: Wire
    system: str | None
    tools: list[Wire]
    options: Wire = field(default_factory=dict)
    line: int = 0
    tool_lines: dict[str, int] = field(default_factory=dict)

    def is_same(self, other: Setup) -> bool:
        mine = (self.model, self.system, self.tools, self.options)
        return mine == (other.model, other.system, other.tools, other.options)


@dataclass
class Exchange:
    """A request and its answer; ``lines`` says where each message stands in the file.

    ``error`` is set when the answer ended with one, ``is_stopped`` when it was cut by its reader.
    """

    setup: Setup
    messages: list[Wire]
    events: list[Wire]
    error: Wire | None = None
    is_stopped: bool = False
    line: int = 0
    lines: list[int] = field(default_factory=list)


NOTES: Final = ("input", "retry", "reset", "stop", "call", "other")
"""Kinds of facts about what a replay does by itself, and an explorer of the recording needs."""
FACTS: Final = ("result", "decision", "late", *NOTES)


@dataclass
class Fact:
    """What happened beside the exchanges, ``kind`` says what: its whole line."""

    kind: str
    wire: Wire
    line: int = 0


Item: TypeAlias = Exchange | Fact


def is_checked(item: Item) -> bool:
    """Whether a replay has to use ``item``."""
    return isinstance(item, Exchange) or item.kind in ("result", "decision")


class RecordingFile:
    """The items of a recording, in order.

    Raises InvalidOptions for what cannot be read, SessionError ``recording_failed`` for what
    cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.items: list[Item] = []
        self._encoder: _Encoder | None = _Encoder()
        self._is_begun = False

    @classmethod
    def read(cls, path: Path) -> RecordingFile:
        file = cls(path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidOptions(f"The recording {path} cannot be read: {error}.") from error
        file.items = [*_Decoder(path).items(text)]
        file._encoder, file._is_begun = None, True
        return file

    def append(self, item: Item) -> None:
        """Write ``item`` behind the others, at once; the first one begins the file anew."""
        if self._encoder is None:
            self._encoder = _Encoder()
            for known in self.items:
                self._encoder.lines(known)
        self.items.append(item)
        lines = self._encoder.lines(item)
        written = map(_text, lines if self._is_begun else [{HEADER: VERSION}, *lines])
        with self._writing():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            mode = "a" if self._is_begun else "w"
            with self.path.open(mode, encoding="utf-8", newline="\n") as out:
                out.writelines(written)
        self._is_begun = True

    def rewrite(self) -> None:
        """Write all items; a reader sees the old file or the new one."""
        self._encoder = encoder = _Encoder()
        lines = [line for item in self.items for line in encoder.lines(item)]
        part = self.path.with_name(f"{self.path.name}.part")
        text = "".join(map(_text, [{HEADER: VERSION}, *lines]))
        with self._writing():
            part.write_text(text, encoding="utf-8", newline="\n")
            os.replace(part, self.path)  # noqa: PTH105  # Path.replace says no more

    def require_place(self) -> None:
        """Refuse a path that no file can be made at. Raises InvalidOptions."""
        above = next((each for each in self.path.parents if each.exists()), self.path.parent)
        if self.path.is_dir() or not above.is_dir() or not os.access(above, os.W_OK):
            message = f"The recording {self.path} cannot be written there."
            raise InvalidOptions(message, advice="Name a file in a folder of yours.")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            message = f"The recording {self.path} cannot be written: {error.strerror or error}."
            advice = "Make room for it there, or record to another file."
            raise SessionError("recording_failed", message, advice=advice) from error


def _text(wire: Wire) -> str:
    try:
        text = json.dumps(wire, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which UTF-8 has no bytes for
        text = json.dumps(wire)
    return text + "\n"


class _Encoder:
    """Lines of items, each of which may lean on those before it."""

    def __init__(self) -> None:
        self._count = 1  # of lines; the header is the first
        self._tools: dict[str, tuple[Wire, int]] = {}
        self._setups: list[Setup] = []
        self._requests: list[list[Wire]] = []
        self._lines: list[list[int]] = []

    def lines(self, item: Item) -> list[Wire]:
        """The lines of ``item``; sets where it stands."""
        return self._fact(item) if isinstance(item, Fact) else self._exchange(item)

    def _fact(self, fact: Fact) -> list[Wire]:
        fact.line = self._next()
        return [{"kind": fact.kind, **fact.wire}]

    def _exchange(self, item: Exchange) -> list[Wire]:
        lines = [*self._setup(item.setup)]
        setup = next(i for i, known in enumerate(self._setups, 1) if known.is_same(item.setup))
        item.setup = self._setups[setup - 1]
        keeps, after = self._longest_start(item.messages)
        item.line = self._next()
        item.lines = [*(self._lines[after - 1][:keeps] if keeps else ())]
        item.lines += [item.line] * (len(item.messages) - keeps)
        self._requests.append(item.messages)
        self._lines.append(item.lines)
        number = len(self._requests)
        request: Wire = {"kind": "request", "id": number, "setup": setup}
        if keeps:
            request |= {"after": after, "keeps": keeps}
        lines.append({**request, "messages": item.messages[keeps:]})
        self._next()
        answer: Wire = {"kind": "answer", "to": number, "events": item.events}
        if item.error is not None:
            answer["error"] = item.error
        if item.is_stopped:
            answer["stopped"] = True
        return [*lines, answer]

    def _setup(self, setup: Setup) -> Iterator[Wire]:
        if any(known.is_same(setup) for known in self._setups):
            return
        ids = []
        for spec in setup.tools:
            tool_id, number = spec["name"], 1
            while tool_id in self._tools and self._tools[tool_id][0] != spec:
                number += 1
                tool_id = f"{spec['name']}#{number}"
            if tool_id not in self._tools:
                self._tools[tool_id] = (spec, self._next())
                yield {"kind": "tool", "id": tool_id, "spec": spec}
            setup.tool_lines[spec["name"]] = self._tools[tool_id][1]
            ids.append(tool_id)
        self._setups.append(setup)
        setup.line = self._next()
        about: Wire = {"model": setup.model, "system": setup.system, "tools": ids}
        if setup.options:
            about["options"] = setup.options
        yield {"kind": "setup", "id": len(self._setups), **about}

    def _longest_start(self, messages: list[Wire]) -> tuple[int, int]:
        """How many messages an earlier request has, too, and which one; the latest of equals."""
        best = (0, 0)
        first = max(0, len(self._requests) - _LOOK_BACK)
        for number, known in enumerate(self._requests[first:], first + 1):
            pairs = zip(known, messages, strict=False)
            same = next((n for n, (a, b) in enumerate(pairs) if a is not b and a != b), None)
            best = max(best, (min(len(known), len(messages)) if same is None else same, number))
        return best

    def _next(self) -> int:
        self._count += 1
        return self._count


class _Decoder:
    """Items of lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tools: dict[str, tuple[Wire, int]] = {}
        self._setups: dict[int, Setup] = {}
        self._requests: dict[int, Exchange] = {}

    def items(self, text: str) -> Iterator[Item]:
        """The items of a file, in order."""
        numbered = enumerate(text.split("\n"), 1)
        head = self._parsed(*next(numbered))
        if HEADER not in head:
            raise InvalidOptions(f"{self._path} is no recording: its first line does not say so.")
        if head[HEADER] != VERSION:
            advice = "Record it anew, or use the version that wrote it."
            message = f"The recording {self._path} has format {head[HEADER]!r}, not {VERSION}."
            raise InvalidOptions(message, advice=advice)
        for number, line in numbered:
            if line.strip():
                wire = self._parsed(number, line)
                try:
                    item = self._item(wire, number)
                except (KeyError, TypeError, IndexError, AttributeError) as error:
                    message = f"{self._path}:{number} is no line of a recording: {error!r}."
                    raise InvalidOptions(message) from error
                if item is not None:
                    yield item

    def _parsed(self, number: int, line: str) -> Wire:
        try:
            wire = json.loads(line)
        except ValueError as error:
            message = f"{self._path}:{number} is not JSON: {error}."
            raise InvalidOptions(message, advice="Mend it, or record it anew.") from error
        if not isinstance(wire, dict):
            raise InvalidOptions(f"{self._path}:{number} is no object.")
        return wire

    def _item(self, wire: Wire, number: int) -> Item | None:
        """The item that a line completes; None for one that others lean on."""
        kind = wire.pop("kind")
        match kind:
            case "tool":
                self._tools[wire["id"]] = (wire["spec"], number)
            case "setup":
                specs = [self._tools[tool_id] for tool_id in wire["tools"]]
                lines = {spec["name"]: line for spec, line in specs}
                tools = [spec for spec, _ in specs]
                options = wire.get("options", {})
                setup = Setup(wire["model"], wire["system"], tools, options, number, lines)
                self._setups[wire["id"]] = setup
            case "request":
                before = self._requests[wire["after"]] if "after" in wire else None
                kept = before.messages[: wire["keeps"]] if before else []
                lines_ = before.lines[: wire["keeps"]] if before else []
                added = wire["messages"]
                self._requests[wire["id"]] = Exchange(
                    self._setups[wire["setup"]],
                    [*kept, *added],
                    [],
                    line=number,
                    lines=[*lines_, *[number] * len(added)],
                )
            case "answer":
                exchange = self._requests[wire["to"]]
                exchange.events = wire["events"]
                exchange.error = wire.get("error")
                exchange.is_stopped = wire.get("stopped", False)
                return exchange
            case _ if kind in FACTS:
                return Fact(kind, wire, number)
        return None
