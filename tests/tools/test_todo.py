from __future__ import annotations

from typing import Any

import pytest

from agent_widget.core.errors import InvalidArgs, ToolFailure
from agent_widget.tools import Todo, todo_tool
from agent_widget.tools.todo import MAX_CONTENT_CHARS, MAX_ITEMS
from tests.tools.support.calls import output_of

pytestmark = pytest.mark.anyio


async def listed(*items: Any) -> tuple[str, list[tuple[Todo, ...]]]:
    told: list[tuple[Todo, ...]] = []
    output = await output_of(todo_tool(told.append), items=list(items))
    return output.text_for_model(), told


def test_it_needs_no_question_and_is_not_about_files() -> None:
    made = todo_tool(lambda _: None)
    assert (made.name, made.kind, made.read_only) == ("todo", "other", True)


async def test_a_list_replaces_the_one_before_and_is_counted() -> None:
    text, told = await listed(
        {"content": " read "},
        {"content": "write", "status": "in_progress"},
        {"content": "test", "status": "completed"},
        {"content": "rest"},
    )
    assert text == "4 items: 1 completed, 1 in progress, 2 pending."
    assert told == [
        (
            Todo("1", "read", "pending"),
            Todo("2", "write", "in_progress"),
            Todo("3", "test", "completed"),
            Todo("4", "rest", "pending"),
        )
    ]
    assert await listed() == ("The list is empty.", [()])


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([{"content": "  "}], "Item 1 has no content"),
        ([{"content": "x" * (MAX_CONTENT_CHARS + 1)}], "501 characters"),
        ([{"content": "x"}] * (MAX_ITEMS + 1), "101 items"),
    ],
    ids=["empty", "long", "many"],
)
async def test_a_list_that_nobody_can_read_is_refused(items: list[Any], problem: str) -> None:
    with pytest.raises(ToolFailure, match=problem):
        await listed(*items)


@pytest.mark.parametrize("item", [{"content": "x", "status": "done"}, {"status": "pending"}, "x"])
def test_what_is_no_item_does_not_fit_the_schema(item: Any) -> None:
    with pytest.raises(InvalidArgs):
        todo_tool(lambda _: None).validate({"items": [item]})
