"""The ``todo`` tool: the model's list of what there is to do, as the user sees it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from ..core.errors import ToolFailure
from .function import FunctionTool, tool

Status: TypeAlias = Literal["pending", "in_progress", "completed"]

_STATES: Final[tuple[Status, ...]] = ("completed", "in_progress", "pending")

MAX_ITEMS: Final = 100
MAX_CONTENT_CHARS: Final = 500


class Todo(Struct, frozen=True):
    """One item; ``id`` is its position in the list, from 1."""

    id: str
    content: str
    status: Status


@dataclass(frozen=True)  # what schemas are made from, without importing their library
class TodoItem:
    """A step of the task."""

    content: str
    status: Status = "pending"


def todo_tool(on_todos: Callable[[tuple[Todo, ...]], None]) -> FunctionTool:
    """The ``todo`` tool. ``on_todos`` gets the whole list at each call, on the call's thread.

    It needs no question: it changes nothing outside of the session.
    """

    @tool(name="todo", read_only=True, kind="other")
    def todo(items: list[TodoItem]) -> str:
        """Show the user a list of the steps of a longer task, and how far each one is.

        The list replaces the one before. Keep one step in_progress, and mark it completed as
        soon as it is.

        Args:
            items: All steps, in order.
        """
        todos = tuple(
            Todo(str(position), item.content.strip(), item.status)
            for position, item in enumerate(items, 1)
        )
        _require_listable(todos)
        on_todos(todos)
        return _counted(todos)

    return todo


def _require_listable(todos: Sequence[Todo]) -> None:
    if len(todos) > MAX_ITEMS:
        raise ToolFailure(f"{len(todos)} items; at most {MAX_ITEMS} are shown. Join small steps.")
    for item in todos:
        if not item.content:
            raise ToolFailure(f"Item {item.id} has no content.")
        if len(item.content) > MAX_CONTENT_CHARS:
            raise ToolFailure(
                f"Item {item.id} has {len(item.content):,} characters; "
                f"at most {MAX_CONTENT_CHARS} are shown."
            )


def _counted(todos: Sequence[Todo]) -> str:
    if not todos:
        return "The list is empty."
    counts = Counter(item.status for item in todos)
    parts = [f"{counts[s]} {s.replace('_', ' ')}" for s in _STATES if counts[s]]
    return f"{len(todos)} items: {', '.join(parts)}."
