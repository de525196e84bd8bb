"""What a recording says of one chat, put together: its turns, its calls, its agents' tools.

Recordings of earlier versions say no turns; those are read from what the model was asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from ...core.errors import InvalidOptions
from ...core.events import WhileRunning
from ...core.messages import Prompt, images_in
from . import wire
from .file import Exchange, Fact, Item, Setup

DELEGATE: Final = "delegate_to_"
TRANSFER: Final = "transfer_to_"
_ACTS: Final = ("input", "retry", "reset", "stop", "other")


class Act(Struct, frozen=True):
    """Something that a person or code did to the chat; ``after``: so many beats into a run.

    ``kind`` is ``input``, ``retry``, ``reset``, ``stop``, or ``other``: the ``event`` then says
    what, and a recording holds no more of it. ``context`` is the kind of what nobody typed,
    ``while_running`` the rule for messages that come while a run is under way.
    """

    kind: str
    text: str = ""
    queue: str | None = None
    after: int | None = None
    images: Sequence[wire.Wire] = ()
    context: str | None = None
    while_running: WhileRunning | None = None
    event: str = ""

    @property
    def prompt(self) -> Prompt:
        """What was said."""
        return Prompt(self.text, images_in(self.images))


class RecordedCall(Struct, frozen=True):
    """A call as it was asked for (``raw``), checked (``args``), shown, and decided about.

    ``invalid`` says why its arguments did not fit; ``text`` is None where it was shown plainly.
    """

    call_id: str
    tool: str
    raw: Any
    args: Any
    verdict: str = "allow"
    source: str = "mode"
    rule: str | None = None
    reason: str | None = None
    text: str | None = None
    language: str | None = None
    invalid: str | None = None


class Script(Struct, frozen=True):
    """One chat of a recording; ``setups`` are those of its agents, by name.

    ``chats`` is how many the recording has, ``is_told`` whether it says their turns.
    """

    acts: tuple[Act, ...]
    calls: tuple[RecordedCall, ...]
    setup: Setup
    setups: Mapping[str, Setup]
    chats: int
    is_told: bool


def script_of(items: Sequence[Item], number: int) -> Script:
    """The chat ``number`` (from 1) of a recording. Raises InvalidOptions where there is none."""
    exchanges = [item for item in items if isinstance(item, Exchange)]
    facts = [item for item in items if isinstance(item, Fact)]
    acts = [fact for fact in facts if fact.kind in _ACTS]
    chats = max((fact.wire.get("chat", 1) for fact in acts), default=1)
    if not 1 <= number <= chats or not exchanges:
        count = "one chat" if chats == 1 else f"{chats} chats"
        raise InvalidOptions(f"There is no chat {number} in the recording: it has {count}.")
    own = [_act(fact) for fact in acts if fact.wire.get("chat", 1) == number]
    first = _first(exchanges, own)
    chain = [each for each in exchanges if each.messages[:1] == first.messages[:1]]
    calls = (*_calls(exchanges, facts),)
    return Script(
        tuple(own or _derived(chain)),
        calls,
        first.setup,
        {**_helpers(exchanges, calls), **_successors(items, first)},
        chats,
        bool(acts),
    )


# --- turns -------------------------------------------------------------------------------------


def _act(fact: Fact) -> Act:
    fields = {name: value for name, value in fact.wire.items() if name != "chat"}
    return Act(fact.kind, **fields)


def _first(exchanges: Sequence[Exchange], acts: Iterable[Act]) -> Exchange:
    """The first request of a chat with these turns."""
    said = next((act.text for act in acts if act.kind == "input"), None)
    same = (each for each in exchanges if said in [*_said(each.messages)])
    return next(same, exchanges[0])


def _said(messages: Iterable[wire.Wire]) -> Iterator[str]:
    """The texts of the user at the end of ``messages``, as far as they are plain."""
    for message in messages:
        if isinstance(message.get("user"), str):
            yield message["user"]


def _derived(chain: Sequence[Exchange]) -> Iterator[Act]:
    """The turns that a chain of requests shows."""
    before: list[wire.Wire] = []
    for exchange in chain:
        if exchange.messages != before:
            ends = [at for at, each in enumerate(exchange.messages, 1) if "assistant" in each]
            start = max(len(before), ends[-1] if ends else 0)
            yield from (Act("input", text) for text in _said(exchange.messages[start:]))
        before = exchange.messages


# --- calls -------------------------------------------------------------------------------------


def _calls(exchanges: Iterable[Exchange], facts: Iterable[Fact]) -> Iterator[RecordedCall]:
    """The calls in the order in which they were asked for."""
    known: dict[str, dict[str, wire.Wire]] = {"result": {}, "decision": {}, "call": {}}
    for fact in facts:
        if fact.kind in known and not fact.wire.get("form"):
            known[fact.kind].setdefault(fact.wire["call"], fact.wire)
    exchanges = [*exchanges]
    errors = _errors(exchanges)
    used: set[str] = set()
    for exchange in exchanges:
        for event in exchange.events:
            if "call" in event:
                call_id = _unique(event["id"], used)
                facts_of = {kind: each.get(call_id, {}) for kind, each in known.items()}
                yield _call(call_id, event, facts_of, errors.get(call_id, {}))


def _unique(vendor_id: str, used: set[str]) -> str:
    call_id, count = vendor_id, 1
    while call_id in used:
        count += 1
        call_id = f"{vendor_id}-{count}"
    used.add(call_id)
    return call_id


def _call(
    call_id: str, event: wire.Wire, facts: Mapping[str, wire.Wire], error: wire.Wire
) -> RecordedCall:
    decision, told = facts["decision"], facts["call"]
    is_edited = decision.get("decision", {}).get("answer") == "edit"
    raw = event.get("args")
    args = raw if is_edited else facts["result"].get("args", raw)
    about: wire.Wire = {"verdict": "ask"} if decision else {}
    shown = {"text": decision["text"]} if decision and "text" not in told else {}
    about |= {**told, **shown}
    names = ("verdict", "source", "rule", "reason", "text", "language")
    return RecordedCall(
        call_id,
        event["call"],
        raw,
        args,
        **{name: about[name] for name in names if name in about},
        invalid=error["message"] if error.get("code") == "invalid_args" else None,
    )


def _errors(exchanges: Iterable[Exchange]) -> dict[str, wire.Wire]:
    """What the model was told of calls that failed, by their id."""
    found: dict[str, wire.Wire] = {}
    for exchange in exchanges:
        for message in exchange.messages:
            for part in message.get("assistant", ()):
                if isinstance(part.get("error"), Mapping) and "call" in part:
                    found[part["id"]] = part["error"]
    return found


# --- agents ------------------------------------------------------------------------------------


def _helpers(exchanges: Sequence[Exchange], calls: Iterable[RecordedCall]) -> dict[str, Setup]:
    """The setups of helpers, as far as they were asked to do something."""
    found: dict[str, Setup] = {}
    for call in calls:
        if call.tool.startswith(DELEGATE) and isinstance(call.args, Mapping):
            begun = [{"user": call.args.get("task")}]
            same = (each.setup for each in exchanges if each.messages == begun)
            for setup in same:
                found.setdefault(call.tool.removeprefix(DELEGATE), setup)
    return found


def _successors(items: Iterable[Item], first: Exchange) -> dict[str, Setup]:
    """The setups of agents that the chat was handed over to."""
    found: dict[str, Setup] = {}
    name: str | None = None
    for item in items:
        if isinstance(item, Fact):
            tool = item.wire.get("tool", "") if item.kind == "result" else ""
            name = tool.removeprefix(TRANSFER) if tool.startswith(TRANSFER) else name
        elif name is not None and item.messages[:1] == first.messages[:1]:
            found.setdefault(name, item.setup)
            name = None
    return found
