"""Narrator: one plain sentence for each event, for logs, a status line and a screen reader."""

from __future__ import annotations

from typing import Final

from ..core.events import (
    AgentSpawned,
    BashOutputDelta,
    BlockEnd,
    BlockStart,
    Event,
    InteractionChanged,
    MsgRetracted,
    MsgTextDelta,
    MsgThinkingDelta,
    QueueUpdated,
    RunSettled,
    SessionReset,
    ToolDrafted,
    ToolOutputDelta,
    ToolProposed,
)
from .locale.words import ENGLISH, Said, locale_of, said, words_of
from .quoting import MAX_CHARS, quoted
from .sentences import OF_AGENTS, OF_CALLS, SENTENCES

SILENT: Final[frozenset[type[Event]]] = frozenset(
    {
        BlockStart,  # what it brings is said when it is whole
        MsgTextDelta,
        MsgThinkingDelta,
        ToolDrafted,  # the proposal says it
        ToolOutputDelta,
        BashOutputDelta,
        InteractionChanged,  # follows from what starts and ends runs
        QueueUpdated,  # the messages that wait were said one by one
        RunSettled,
    }
)
"""Types without a sentence of their own."""


class Narrator:
    """Says what happens, event by event; used by one thread for one session.

    It remembers the names of tools and sub-agents, and the beginning of the text under way.
    ``locale`` is the language of the sentences; what they quote is not translated, and what the
    event contract words stays English. Raises InvalidOptions for a language that is not there.
    """

    def __init__(self, locale: str = ENGLISH) -> None:
        self._words = words_of(locale_of(locale))
        self._tools: dict[str, str] = {}
        self._agents: dict[str, str] = {}
        self._texts: dict[tuple[str | None, int], str] = {}

    def line(self, event: Event) -> str | None:
        """The sentence for ``event``, on one line and printable; None where there is none."""
        self._remember(event)
        sentence = self._sentence(event)
        if sentence is None:
            return None
        if event.agent_id is not None:
            agent = quoted(self._agents.get(event.agent_id, event.agent_id))
            sentence = said("of_agent", agent=agent, said=sentence)
        return self._words.sentence(sentence)

    def _remember(self, event: Event) -> None:
        match event:
            case ToolProposed():
                self._tools[event.tool_call_id] = event.name
            case AgentSpawned():
                self._agents[event.tool_call_id] = event.name
            case MsgTextDelta():
                key = (event.agent_id, event.index)
                known = self._texts.get(key, "")
                if len(known) <= 4 * MAX_CHARS:
                    self._texts[key] = known + event.text[: 4 * MAX_CHARS]
            case BlockStart() | MsgRetracted():
                self._texts.pop((event.agent_id, event.index), None)
            case SessionReset():
                self._texts.clear()
            case _:
                pass

    def _sentence(self, event: Event) -> Said | str | None:
        kind = type(event)
        if isinstance(event, BlockEnd):
            return self._block(event)
        if say := SENTENCES.get(kind):
            return say(event)
        call_id: str = getattr(event, "tool_call_id", "")
        if say_of_call := OF_CALLS.get(kind):
            name = getattr(event, "name", "") or self._tools.get(call_id, "")
            call = say_of_call(event)
            return None if call is None else call.about(quoted(name) or said("a_tool"))
        if say_of_agent := OF_AGENTS.get(kind):
            name = self._agents.get(call_id, "")
            return say_of_agent(event).about(quoted(name) or quoted(call_id))
        return None

    def _block(self, event: BlockEnd) -> Said | None:
        text = self._texts.pop((event.agent_id, event.index), "")
        if event.block_type == "thinking":
            return said("thought")
        return said("text", text=quoted(text)) if text.strip() else None
