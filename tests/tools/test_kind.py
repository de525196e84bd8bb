from __future__ import annotations

from typing import Any

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.tools import Tool, notebook_tools, tool


def f() -> None: ...


@pytest.mark.parametrize(
    ("options", "kind", "read_only"),
    [
        ({}, "other", False),
        ({"read_only": True}, "read", True),
        ({"kind": "read"}, "read", True),
        ({"kind": "edit"}, "edit", False),
        ({"kind": "execute"}, "execute", False),
        ({"kind": "network"}, "network", False),
        ({"kind": "other", "read_only": True}, "other", True),
    ],
    ids=str,
)
def test_the_kind_of_a_tool_and_whether_it_only_reads_agree(
    options: dict[str, Any], kind: str, read_only: bool
) -> None:
    made = tool(**options)(f)
    assert (made.kind, made.read_only) == (kind, read_only)
    assert isinstance(made, Tool)


@pytest.mark.parametrize(
    "options", [{"kind": "write"}, {"kind": "edit", "read_only": True}], ids=str
)
def test_a_kind_that_is_none_or_contradicts_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOptions, match="kind="):
        tool(**options)(f)


def test_a_tool_that_declares_no_kind_has_that_of_read_only() -> None:
    class Reading(Tool):
        @property
        def read_only(self) -> bool:
            return True

    assert Reading().kind == "read"  # type: ignore[abstract]


def test_the_notebook_tools_have_the_kinds_of_their_questions() -> None:
    assert [made.kind for made in notebook_tools({})] == ["read", "read", "execute"]
