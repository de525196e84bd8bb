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


@given(st.lists(CODES, min_size=10, max_size=10))
def test_shown_stored_and_executed_are_the_same_text(codes: list[str]) -> None:
    RAN.clear()
    shown, stored = asyncio.run(session_with(codes))
    assert RAN == shown == stored


async def session_with(codes: list[str]) -> tuple[list[str], list[str]]:
    """Allow each of the calls; the texts that were shown, and those of the stored calls."""
    steps: list[Any] = [[call("run", {"code": code})] for code in codes]
    shown = []
    async with opened([*steps, [text("end")]], [run]) as case:
        active = await case.session.send("go")
        for _ in codes:
            question = await case.question()
            view = case.session.view.question
            assert view is not None
            shown.append(view.text)
            case.session.decide(question.permission_id, "allow_once")
        await asyncio.wrap_future(active.future)
        stored = [
            part["input"]["code"]
            for record in await case.records()
            if record.data.get("message", {}).get("role") == "assistant"
            for part in record.data["message"]["parts"]
            if part["type"] == "tool"
        ]
    return shown, stored
