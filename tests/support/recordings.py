"""The recordings that are shipped with the tests: how they are made, and what a replay must give.

    python -m tests.support.recordings            # writes digests.json anew
    python -m tests.support.recordings --record   # and records anew, over HTTP

A digest is that of all a replay gives. It changes when sessions tell new events or views have new
fields; the recordings themselves then stay.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from agent_widget import Agent, Decision, OpenAIChat, Question, replay, tool
from agent_widget.core.errors import ToolFailure
from agent_widget.core.eventwire import event_to_wire
from agent_widget.surfaces.fallback import view_as_text
from agent_widget.testing import AgentSession
from agent_widget.view.locale.words import words_of
from agent_widget.view.schema import view_to_wire
from tests.providers.chat import DONE, calling, data, delta
from tests.providers.rawserver import Reply, serving, stream, whole

FOLDER: Final = Path(__file__).parents[1] / "recordings"
KEY: Final = "local-key-0123456789"
USAGE: Final = data({"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 9}})


@tool
def look(name: str) -> dict[str, Any]:
    """Look at something.

    Args:
        name: What to look at.
    """
    if name == "nothing":
        raise ToolFailure("There is nothing.")
    return {"name": name, "size": len(name), "seen_with": KEY}


@tool(read_only=True)
def count(word: str) -> int:
    """Count the letters of a word."""
    return len(word)


TOOLS: Final = (look, count)
CHECKER: Final = Agent("checker", "Checks a result.", system="Find what is wrong.", tools=[count])


def allow(_question: Question) -> bool:
    return True


def allow_or_say_why(question: Question) -> bool | Decision:
    if "secret" in question.text:
        return Decision("deny", "That is none of your business.")
    return True


def said(*pieces: str) -> Reply:
    return stream(*(delta(content=piece) for piece in pieces), delta("stop"), USAGE, DONE)


def called(*calls: tuple[str, str], text: str = "") -> Reply:
    fragments = [
        {"index": at, "id": f"call_{at}", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(calls)
    ]
    head = [delta(content=text)] if text else []
    return stream(*head, calling(*fragments, finish="tool_calls"), USAGE, DONE)


class Case:
    """A conversation: what the server answers, how the session is made, what is said."""

    def __init__(
        self, name: str, replies: Sequence[Reply], turns: Sequence[str], **options: Any
    ) -> None:
        self.name = name
        self.replies = replies
        self.turns = turns
        self.options = {"tools": TOOLS, "system": "Be brief.", **options}

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.jsonl"

    def played(self, model: Any, turns: Sequence[str] | None = None, **changed: Any) -> bytes:
        """All that this conversation gives with ``model``, as bytes."""
        with AgentSession(model, **{**self.options, **changed}) as session:
            events = session.driver.session.events()
            for turn in self.turns if turns is None else turns:
                session.ask(turn)
            given = [
                repr(session.state),
                json.dumps(view_to_wire(session.view)),
                view_as_text(session.view, words_of("en")),
                session.transcript(),
            ]
        told = asyncio.run(_collected(events))
        return "\n".join(
            [*given, *(re.sub(r'"cwd": "[^"]*"', '"cwd": ""', e) for e in told)]
        ).encode()

    def digest(self) -> str:
        return hashlib.sha256(self.played(replay(self.path))).hexdigest()


async def _collected(events: Any) -> list[str]:
    return [json.dumps(event_to_wire(event)) async for event in events]


CASES: Final = (
    Case(
        "look",
        [
            called(("look", '{"name": "penguins"}'), text="Let me look."),
            said("It has ", "8 letters."),
            called(("look", '{"name": "secret"}')),
            said("You did not ", "allow it."),
        ],
        ["What is penguins?", "And secret?"],
        ask_user=allow_or_say_why,
    ),
    Case(
        "helper",
        [
            called(("count", '{"word": "one"}'), ("count", '{"word": "three"}')),
            called(("delegate_to_checker", '{"task": "Is three five letters?"}')),
            called(("count", '{"word": "three"}')),
            said("It is."),
            said("one has 3, three has 5."),
        ],
        ["Count one and three, and check it."],
        agents=[CHECKER],
    ),
    Case(
        "trouble",
        [
            called(("look", '{"name": "nothing"}')),
            called(("look", '{"nome": 1}'), ("jump", "{}")),
            whole(400, {"error": {"message": f"No, Bearer {KEY}.", "code": "no"}}),
            said("I give up."),
        ],
        ["Look at nothing.", "And now?"],
        ask_user=allow,
    ),
)


@contextmanager
def server(replies: Sequence[Reply]) -> Iterator[str]:
    """A model server in a thread of its own; its address."""
    address: list[str] = []
    is_there, is_done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with serving(*replies) as running:
            address.append(running.url)
            is_there.set()
            await asyncio.to_thread(is_done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    is_there.wait(10)
    try:
        yield address[0]
    finally:
        is_done.set()
        thread.join(10)


def record(case: Case, path: Path) -> bytes:
    """Record ``case`` over HTTP; what the session gave meanwhile."""
    with server(case.replies) as url:
        model = OpenAIChat("m-1", base_url=url, api_key=KEY)
        given = case.played(model, record=path)
    port = url.split(":")[2].split("/")[0]
    text = path.read_text(encoding="utf-8").replace(f"127.0.0.1:{port}", "127.0.0.1:8000")
    path.write_text(text, encoding="utf-8", newline="\n")
    return given


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    if parser.parse_args().record:
        for case in CASES:
            case.path.unlink(missing_ok=True)
            record(case, case.path)
    digests = {case.name: case.digest() for case in CASES}
    text = json.dumps(digests, indent=2) + "\n"
    (FOLDER / "digests.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
