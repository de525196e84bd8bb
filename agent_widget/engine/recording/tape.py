"""A recording in use: it writes down what happens, or gives it again, or both.

What is asked is looked for among what was recorded and not given yet. An equal request gets its
answer, wherever it stands; where there is none, the closest one says what is different.
"""

from __future__ import annotations

import asyncio
import json
import os
import weakref
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Self, get_args

from ...core.errors import InvalidOptions, SessionError
from ...core.ids import Clock, IdSource, SequentialIds
from ...core.messages import Message
from ...providers.base import ModelEvent, ModelInfo, ModelRequest
from ...tools.base import Tool
from . import wire
from .chat import Subscribe, TapedChat
from .difference import MISSING, differences
from .file import NOTES, Exchange, Fact, Item, RecordingFile, Setup, is_checked
from .masks import Masks

Mode = Literal["once", "none", "new", "all"]
Tools = Literal["recorded", "run"]

MODE_VARIABLE: Final = "AGENT_WIDGET_RECORD"
"""Environment variable with the mode of every recording of this process, or ``accept``."""
START_MS: Final = 1_735_689_600_000
"""When a replay takes place: the beginning of 2025."""
STEP_MS: Final = 1_000
_SHOWN: Final = 8
_LOOK_AHEAD: Final = 16


class ReplayMismatch(SessionError):
    """What happens is not what was recorded; ``differences`` says where, one line each.

    ``is_rest``: it was until the end came too early.
    """

    def __init__(
        self, message: str, found: list[str], advice: str, *, is_rest: bool = False
    ) -> None:
        lines = [f"  {line}" for line in found[:_SHOWN]]
        if len(found) > _SHOWN:
            lines.append(f"  … and {len(found) - _SHOWN} more")
        super().__init__("replay_mismatch", "\n".join([message, *lines, advice]))
        self.differences = tuple(found)
        self.is_rest = is_rest


class TapeClock:
    """Time of a replay: it stands still, and passes by ``STEP_MS`` at each thing that is given."""

    def __init__(self) -> None:
        self.now_ms = START_MS

    def __call__(self) -> int:
        return self.now_ms


class Recording:
    """The recording in a file, to write to or to play from.

    ``mode`` is what people know from cassettes. ``once``: record when there is no such file, else
    play it. ``none``: play it. ``new``: play what is there and record what is not. ``all``: record
    anew. The environment variable AGENT_WIDGET_RECORD overrides it. ``tools="run"`` runs tools
    again and compares what they give; ``"recorded"`` gives what they gave, and runs none but those
    of the session itself. ``accept`` keeps recorded answers under changed requests. Several chats
    share one object in ``with Recording(…) as tape:``, whose end then checks that all was used.
    Raises InvalidOptions.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: Mode = "once",
        *,
        tools: Tools = "recorded",
        accept: bool = False,
        is_fixed: bool = False,
    ) -> None:
        self.path = Path(path)
        named = os.environ.get(MODE_VARIABLE, "").strip()
        if is_fixed and named != "accept":
            named = ""
        self.accept = accept or named == "accept"
        chosen = named if named and named != "accept" else mode
        if chosen not in get_args(Mode):
            words = ", ".join(map(repr, get_args(Mode)))
            raise InvalidOptions(f"{chosen!r} is no mode of a recording.", advice=f"Use {words}.")
        if tools not in get_args(Tools):
            raise InvalidOptions(f"tools={tools!r}.", advice="Use 'recorded' or 'run'.")
        self.runs_tools = tools == "run"
        is_there = self.path.exists()
        if chosen == "none" and not is_there:
            advice = "Record it: AgentWidget(…, record=…) does, where there is no such file."
            raise InvalidOptions(f"There is no recording {self.path}.", advice=advice)
        self.plays = is_there and chosen != "all"
        self.records = chosen in ("new", "all") or not is_there
        self._file = RecordingFile.read(self.path) if self.plays else RecordingFile(self.path)
        if self.records:
            self._file.require_place()
        self._left = [item for item in self._file.items if is_checked(item)]
        facts = [item for item in self._file.items if isinstance(item, Fact)]
        self._late = [fact for fact in facts if fact.kind == "late"]
        self._notes = [fact for fact in facts if fact.kind in NOTES]
        self.chats: list[TapedChat] = []
        self.between: Callable[[], Awaitable[None]] | None = None
        self.at_stop: Callable[[], None] = lambda: None
        self.masks = Masks()
        self.problems: list[ReplayMismatch] = []
        self._is_checked = False
        self._is_shared = False
        self._clock = TapeClock()
        self._ids = SequentialIds()
        self._live: set[int] = set()
        self._messages: dict[int, tuple[weakref.ref[Message], wire.Wire]] = {}

    # --- what is in it -------------------------------------------------------------------------

    @property
    def items(self) -> tuple[Item, ...]:
        return (*self._file.items,)

    @property
    def left_count(self) -> int:
        """How much of it was not given yet."""
        return len(self._left)

    def next_system(self, names: Sequence[str], usual: Setup) -> str | None:
        """The system text of the next request with tools of these ``names``; else the ``usual``."""
        left = (item.setup for item in self._left if isinstance(item, Exchange))
        same = (each for each in left if [spec["name"] for spec in each.tools] == [*names])
        return next(same, usual).system

    # --- what a session takes from it ----------------------------------------------------------

    @property
    def is_replay(self) -> bool:
        """Whether all that happens is in the file: no model is asked, time and ids are fixed."""
        return self.plays and not self.records

    @property
    def clock_ms(self) -> Clock | None:
        """The time of the session; None: the real one."""
        return self._clock if self.is_replay else None

    @property
    def new_id(self) -> IdSource | None:
        return self._ids if self.is_replay else None

    def info_like(self, info: ModelInfo | None) -> ModelInfo | None:
        """The recorded model that ``info`` names, else the first one; None: there is none."""
        exchanges = [item for item in self._file.items if isinstance(item, Exchange)]
        models = [item.setup.model for item in exchanges]
        if not models:
            return info
        wanted = None if info is None else (info.provider, info.name)
        same = (known for known in models if (known["provider"], known["name"]) == wanted)
        known = next(same, models[0])
        return self.info_of(known)

    def info_of(self, model: wire.Wire) -> ModelInfo:
        """The recorded ``model``, which says that it is a recording."""
        return wire.info_of(model, f"Plays {self.path.name}: no model is asked.")

    async def sleep(self, seconds: float) -> None:
        """A wait of a replay: its time passes at once."""
        self._clock.now_ms += round(seconds * 1_000)
        await asyncio.sleep(0)

    def always_run(self, tool: Tool) -> None:
        """Run ``tool`` in a replay, too: what it does, it does to the session."""
        self._live.add(id(tool))

    def is_always_run(self, tool: Tool) -> bool:
        return id(tool) in self._live

    # --- model ---------------------------------------------------------------------------------

    def given(self, request: ModelRequest, info: ModelInfo | None) -> Exchange | None:
        """What was recorded for ``request``; None: ask the model. Raises ReplayMismatch.

        ``info`` is the model that would be asked, None where there is none.
        """
        self._require_sound()
        if not self.plays:
            return None
        asked = self._asked(request, info)
        open_ = [item for item in self._left if isinstance(item, Exchange)][:_LOOK_AHEAD]
        found = [(_request_differences(item, asked, info), item) for item in open_]
        for different, item in found:
            if not different:
                self._take(item)
                return item
        if self.records:
            return None
        number = (
            1
            + sum(isinstance(item, Exchange) for item in self._file.items)
            - len([item for item in self._left if isinstance(item, Exchange)])
        )
        if not found:
            where = f"Request {number} is not in {self.path}: all that was recorded was given."
            raise self.failed(where, [_last_message(asked)])
        different, closest = min(found, key=lambda pair: len(pair[0]))
        if self.accept:
            model = closest.setup.model if info is None else asked.setup.model
            setup = Setup(model, asked.setup.system, asked.setup.tools, asked.setup.options)
            closest.setup, closest.messages = setup, asked.messages
            self._file.rewrite()
            self._take(closest)
            return closest
        where = f"Request {number} is not what was recorded in {self.path}:"
        lines = [f"{self.path.name}:{line}: {text}" for line, text in different]
        raise self.failed(where, lines)

    def answered(
        self,
        request: ModelRequest,
        info: ModelInfo,
        events: list[ModelEvent],
        error: wire.Wire | None,
        *,
        is_stopped: bool,
    ) -> None:
        """Write down an exchange."""
        asked = self._asked(request, info)
        asked.events = self.plain([self._whole(each) for each in wire.events_wire(events)])
        asked.error = None if error is None else self.plain(error)
        asked.is_stopped = is_stopped
        self._file.append(asked)

    def _whole(self, event: wire.Wire) -> wire.Wire:
        """``event`` in one piece where a key would be seen only then."""
        for name in wire.PIECES:
            if isinstance(event.get(name), list):
                text = "".join(event[name])
                if self.masks.masked(text) != text:
                    return {**event, name: [text]}
        return event

    def _asked(self, request: ModelRequest, info: ModelInfo | None) -> Exchange:
        model = {} if info is None else wire.model_wire(info)
        tools = [wire.spec_wire(spec) for spec in request.tools]
        options = wire.options_wire(request)
        setup = Setup(*map(self.plain, (model, request.system, tools, options)))
        return Exchange(setup, [self._message(each) for each in request.messages], [])

    def _message(self, message: Message) -> wire.Wire:
        """A message as it is written; made once, as every later request has it, too."""
        key = id(message)
        known = self._messages.get(key)
        if known is not None and known[0]() is message:
            return known[1]
        made: wire.Wire = self.plain(wire.message_wire(message))
        entries = self._messages
        entries[key] = (weakref.ref(message, lambda _gone: entries.pop(key, None)), made)
        return made

    # --- chats ---------------------------------------------------------------------------------

    def chat(self, subscribe: Subscribe) -> TapedChat:
        """The next chat that is recorded, or played; ``subscribe`` is that of its bus."""
        self.chats.append(TapedChat(self, len(self.chats) + 1, subscribe))
        return self.chats[-1]

    async def pause(self) -> None:
        """Between two things that are given: whoever plays the person has a turn."""
        if self.between is not None:
            await self.between()

    def write(self, item: Exchange | Fact) -> None:
        """Write ``item`` behind the others."""
        self._file.append(item)

    def change(self, known: Fact, told: wire.Wire) -> None:
        """Let ``told`` stand in the place of ``known``."""
        known.wire = told
        self._file.rewrite()

    def note(self, fact: Fact) -> None:
        """Write down what a replay does by itself; where it plays, only what was not there."""
        fact.wire = self.plain(fact.wire)
        if fact.kind == "call":
            alike = [each for each in self._notes if each.wire.get("call") == fact.wire["call"]]
        else:
            alike = [each for each in self._notes if each.kind == fact.kind]
        same = next((each for each in alike if each.wire == fact.wire), None)
        if same is None and not (self.records or self.accept):
            return
        if same is not None or (alike and self.accept):
            known = same or alike[0]
            self._notes = [each for each in self._notes if each is not known]
            if same is None:
                self.change(known, fact.wire)
        else:
            self._file.append(fact)

    def take_late(self, asked: wire.Wire) -> wire.Wire | None:
        """What that stopped call gave later; None when nothing was heard of it."""
        for fact in self._late:
            if all(fact.wire.get(name) == value for name, value in asked.items()):
                self._late = [each for each in self._late if each is not fact]
                return fact.wire
        return None

    def lines_of(self, fact: Fact, found: list[str]) -> list[str]:
        """``found`` with the line that ``fact`` has in the file."""
        return [f"{self.path.name}:{fact.line}: {line}" for line in found]

    # --- checks --------------------------------------------------------------------------------

    def check(self) -> None:
        """Raises ReplayMismatch when something differed, or something recorded was not used."""
        self._require_sound()
        if not self.is_replay or not self._left:
            return
        lines = [f"{self.path.name}:{item.line}: {_told(item)}" for item in self._left]
        text = f"{len(lines)} recorded in {self.path} did not happen:"
        if self.accept:
            self._file.items = [item for item in self._file.items if item not in self._left]
            self._left = []
            self._file.rewrite()
            return
        raise self.failed(text, lines, is_rest=True)

    def check_run(self) -> None:
        """Raises the first ReplayMismatch that there was."""
        self._require_sound()

    def __enter__(self) -> Self:
        self._is_shared = True
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.check()

    def check_once(self) -> None:
        """``check`` of a session that is closed: one that is closed twice fails once."""
        if not self._is_checked and not self._is_shared:
            self._is_checked = True
            self.check()

    def _require_sound(self) -> None:
        if self.problems:
            raise self.problems[0]

    def known(self, kind: str, asked: wire.Wire) -> Fact | None:
        """The fact about this call, taken. Raises ReplayMismatch where only others are left."""
        facts = [item for item in self._left if isinstance(item, Fact) and item.kind == kind]
        best: tuple[int, Fact, list[str]] | None = None
        for fact in facts:
            shown = {name: fact.wire.get(name, MISSING) for name in asked}
            found = differences(shown, asked, "")
            if not found:
                self._take(fact)
                return fact
            if best is None or len(found) < best[0]:
                best = (len(found), fact, found)
        if self.records:
            return None
        what = "call" if kind == "result" else "question"
        name = f"{asked['tool']} ({asked['call']})"
        if best is None or best[1].wire.get("call") != asked["call"]:
            text = f"This {what} of {name} is not in {self.path}:"
            lines = [f"{key}: {value!r}" for key, value in asked.items()]
            raise self.failed(text, [*self._other_facts(asked["call"]), *lines])
        _, fact, found = best
        if self.accept:
            self._take(fact)
            fact.wire = {**fact.wire, **asked}
            self._file.rewrite()
            return fact
        text = f"This {what} of {name} is not what was recorded in {self.path}:"
        raise self.failed(text, [f"{self.path.name}:{fact.line}: {line}" for line in found])

    def _other_facts(self, call_id: str) -> list[str]:
        """What else is left about that call: a question that was not asked this time."""
        left = (item for item in self._left if isinstance(item, Fact))
        return [
            f"{self.path.name}:{fact.line}: recorded was a {fact.kind}: {fact.wire.get('decision')}"
            for fact in left
            if fact.wire.get("call") == call_id
        ]

    def _take(self, item: Exchange | Fact) -> None:
        self._left = [each for each in self._left if each is not item]
        self._clock.now_ms += STEP_MS

    def failed(self, message: str, found: list[str], *, is_rest: bool = False) -> ReplayMismatch:
        """The mismatch, which is also kept: whatever catches it, the next wait raises it."""
        advice = (
            "To accept it, run once with accept=True (or AGENT_WIDGET_RECORD=accept): recorded "
            "answers stay, under what happens now. With a model, mode 'all' records anew."
        )
        mismatch = ReplayMismatch(message, found, advice, is_rest=is_rest)
        self.problems.append(mismatch)
        return mismatch

    def plain(self, value: Any) -> Any:
        """``value`` as it is when it was written and read: plain JSON without keys."""
        return json.loads(json.dumps(self.masks.masked(value), default=repr))


def _request_differences(
    known: Exchange, asked: Exchange, info: ModelInfo | None
) -> list[tuple[int, str]]:
    """Where a request leaves the recorded one: the line of the file, and what is different."""
    old, new = known.setup, asked.setup
    found: list[tuple[int, str]] = []
    if info is not None:
        for key in ("provider", "name"):
            found += [(old.line, text) for text in _compared(old.model, new.model, key, "model")]
    found += [(old.line, text) for text in differences(old.system, new.system, "system")]
    found += _tool_differences(old, new)
    found += [(old.line, text) for text in differences(old.options, new.options, "options")]
    for index in range(max(len(known.messages), len(asked.messages))):
        before = known.messages[index] if index < len(known.messages) else MISSING
        after = asked.messages[index] if index < len(asked.messages) else MISSING
        if before is not after and before != after:
            line = known.lines[index] if index < len(known.lines) else known.line
            texts = differences(before, after, f"message {index + 1}")
            found += [(line, text) for text in texts]
    return found


def _compared(old: wire.Wire, new: wire.Wire, key: str, path: str) -> list[str]:
    return differences(old.get(key), new.get(key), f"{path}.{key}")


def _tool_differences(old: Setup, new: Setup) -> list[tuple[int, str]]:
    before = {spec["name"]: spec for spec in old.tools}
    after = {spec["name"]: spec for spec in new.tools}
    found: list[tuple[int, str]] = []
    for name in dict.fromkeys((*before, *after)):
        texts = differences(before.get(name, MISSING), after.get(name, MISSING), f"tool {name}")
        found += [(old.tool_lines.get(name, old.line), text) for text in texts]
    if not found and [*before] != [*after]:
        found.append((old.line, f"order of tools: {', '.join(before)} → {', '.join(after)}"))
    return found


def _last_message(asked: Exchange) -> str:
    last = asked.messages[-1] if asked.messages else {}
    return f"message {len(asked.messages)}: {json.dumps(last, ensure_ascii=False)[:200]}"


def _told(item: Exchange | Fact) -> str:
    if isinstance(item, Exchange):
        return f"request with {len(item.messages)} messages. {_last_message(item)}"
    return f"{item.kind} of {item.wire.get('tool')} ({item.wire.get('call')})"


__all__ = ["Mode", "Recording", "ReplayMismatch", "Tools"]
