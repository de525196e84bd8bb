"""What is shown is what is stored is what runs, whatever characters it holds."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_widget import tool
from agent_widget.testing.doubles import call, text
from agent_widget.tools.base import CallText
from tests.engine.support import opened

RAN: list[str] = []
WEIRD = st.sampled_from("\u202e\u202c\u200b\u2066\u00ad\ufeff\U000e0041\x00\x1b\r\n\t \u0430a;|&")
CODES = st.lists(st.text(max_size=20) | st.text(WEIRD, max_size=40), min_size=1).map("".join)


@tool(describe=lambda args: CallText(args["code"], "python"))
def run(code: str) -> str:
    """Run code (here: remember it)."""
    RAN.append(code)
    return "ok"


# What the model asked for, and what the person made of it, if anything.
CALLS = st.tuples(CODES, st.none() | CODES)


@given(st.lists(CALLS, min_size=10, max_size=10))
def test_shown_stored_and_executed_are_the_same_text(calls: list[tuple[str, str | None]]) -> None:
    RAN.clear()
    shown, approved = asyncio.run(session_with(calls))
    assert shown == [code for code, _ in calls]
    assert approved == RAN == [code if edited is None else edited for code, edited in calls]


async def session_with(calls: list[tuple[str, str | None]]) -> tuple[list[str], list[str]]:
    """Allow each of the calls; the texts that were shown, and what is stored of the approvals."""
    steps: list[Any] = [[call("run", {"code": code})] for code, _ in calls]
    shown = []
    async with opened([*steps, [text("end")]], [run]) as case:
        active = await case.session.send("go")
        for _, edited in calls:
            question = await case.question()
            view = case.session.view.question
            assert view is not None
            shown.append(view.text)
            answer = "allow_once" if edited is None else "edit"
            args = None if edited is None else {"code": edited}
            case.session.decide(question.permission_id, answer, args=args)
        await asyncio.wrap_future(active.future)
        proposed = [
            part
            for record in await case.records()
            if record.data.get("message", {}).get("role") == "assistant"
            for part in record.data["message"]["parts"]
            if part["type"] == "tool"
        ]
        decided = [r.data for r in await case.records() if r.kind == "permission_decided"]
        assert [part["text"] or "" for part in proposed] == shown
        assert [each["decision"] for each in decided] == ["allow"] * len(calls)
        assert all(
            each.get("text") in (None, (each.get("edited_args") or part["input"])["code"])
            for each, part in zip(decided, proposed, strict=True)
        )
        return shown, [
            (each.get("edited_args") or part["input"])["code"]
            for each, part in zip(decided, proposed, strict=True)
        ]
