"""Questions that a call asks while it runs, and rules about tools that can change."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from agent_widget import tool
from agent_widget.core.errors import InvalidArgs, SessionError
from agent_widget.core.events import ToolAnswered
from agent_widget.engine.pins import Pins
from agent_widget.testing.doubles import Step, call, text
from agent_widget.tools.base import Elicitation, Tool, ToolContext
from tests.engine.support import Case, code_of, opened

pytestmark = pytest.mark.anyio


def named(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    if not fields.get("name"):
        raise InvalidArgs("git", ("name: missing",))
    return fields


@tool(read_only=True)
async def greet(context: ToolContext) -> str:
    """Greet somebody."""
    answer = await context.elicit(Elicitation("git", "Who are you?", {"name": ""}, named))
    return f"hello {answer.fields}"


SCRIPT: list[Step] = [[call("greet", id="c1")], [text("Done.")]]


def result(case: Case) -> Any:
    output: Any = case.session.messages[1].tool_calls[0].output
    return output["content"][0]["text"]


async def test_a_running_call_asks_on_the_card_and_goes_on_with_the_answer() -> None:
    async with opened(SCRIPT, [greet]) as case:
        run = await case.session.send("go")
        question = await case.question()
        shown = case.session.view.question
        assert shown is not None
        assert (shown.is_form, shown.text, shown.options) == (
            True,
            "Who are you?",
            ("edit", "deny"),
        )
        for word, args in (("allow_once", None), ("edit", {"name": ""})):
            with pytest.raises(SessionError):
                case.session.decide(question.permission_id, word, args=args)
        case.session.decide(question.permission_id, "edit", args={"name": "Ann"})
        await asyncio.wrap_future(run.future)
        assert result(case) == "hello {'name': 'Ann'}"
        assert case.session.view.question is None
        assert not case.session.view.facts["c1"].is_edited


@pytest.mark.parametrize("attended", [True, False])
async def test_a_call_without_an_answer_goes_on_too(attended: bool) -> None:
    async with opened(SCRIPT, [greet], attended=attended) as case:
        run = await case.session.send("go")
        if attended:
            question = await case.question()
            case.session.decide(question.permission_id, "deny")
        await asyncio.wrap_future(run.future)
        assert result(case) == "hello None"
        assert not case.session.view.facts["c1"].is_denied
        answered = [event for event in case.events if isinstance(event, ToolAnswered)]
        assert [event.is_given for event in answered] == [False]


async def test_a_stop_takes_the_question_away() -> None:
    async with opened(SCRIPT, [greet]) as case:
        run = await case.session.send("go")
        question = await case.question()
        await case.session.interrupt()
        await asyncio.wrap_future(run.future)
        assert case.session.view.question is None
        late = asyncio.to_thread(case.session.decide, question.permission_id, "deny")
        assert await code_of(late) == "QUESTION_CLOSED"


class Kept(dict[str, str]):
    """Keeps fingerprints as settings do."""

    def pinned(self, name: str) -> str | None:
        return self.get(name)

    def pin(self, name: str, fingerprint: str) -> None:
        self[name] = fingerprint


def version(fingerprint: str) -> Tool:
    @tool
    def work() -> str:
        """Work."""
        return ""

    work.fingerprint = fingerprint  # type: ignore[attr-defined]
    return work


def test_what_was_allowed_is_one_definition_and_not_a_name() -> None:
    kept = Kept()
    pins = Pins(kept)
    assert not pins.is_changed(greet)
    assert [pins.is_changed(version(mark)) for mark in ("a", "a", "b", "a")] == [False] * 2 + [
        True,
        False,
    ]
    pins.confirm(version("b"), keep=True)
    assert [pins.is_changed(version(mark)) for mark in ("b", "a")] == [False, True]
    assert [Pins(kept).is_changed(version(mark)) for mark in ("b", "a")] == [False, True]
