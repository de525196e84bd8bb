"""Assertions about a chat that say what happened instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from ..core.messages import ToolPart
from ..engine.recording.difference import differences

Expected: TypeAlias = str | tuple[str, Mapping[str, Any]] | Mapping[str, Mapping[str, Any]]


def assert_tools_called(chat: Any, *expected: Expected, in_any_order: bool = False) -> None:
    """These tools were called and no others, in this order.

    An expectation is a name, or a name with the arguments that have to be there:
    ``assert_tools_called(chat, "list_variables", ("describe_variable", {"name": "df"}))``.
    """
    __tracebackhide__ = True  # the line that fails is the test's
    problem = tools_problem(calls_of(chat), expected, in_any_order=in_any_order)
    if problem is not None:
        raise AssertionError(problem)


def assert_asked(chat: Any, *tools: str) -> None:
    """Permission was asked for calls of these tools and of no others, in this order.

    ``chat`` is an ``AgentSession``: others do not keep what was asked.
    """
    __tracebackhide__ = True
    asked = [question.name for question in chat.questions]
    if asked != [*tools]:
        raise AssertionError(asked_problem(asked, tools))


def assert_final_text(
    chat: Any,
    equals: str | None = None,
    *,
    contains: str | None = None,
    matches: str | None = None,
) -> None:
    """The last answer of ``chat`` (or a ``RunResult``) is, contains, or matches this text."""
    __tracebackhide__ = True
    problem = text_problem(final_text(chat), equals, contains=contains, matches=matches)
    if problem is not None:
        raise AssertionError(problem)


# --- what is wrong, for scenarios, too -----------------------------------------------------------


def calls_of(chat: Any) -> list[ToolPart]:
    return [call for message in chat.state.messages for call in message.tool_calls]


def final_text(chat: Any) -> str:
    if hasattr(chat, "reason"):  # a RunResult
        return str(chat.text)
    answers = (m.text for m in reversed(chat.state.messages) if m.role == "assistant")
    return next((text for text in answers if text), "")


def tools_problem(
    calls: list[ToolPart], expected: tuple[Expected, ...], *, in_any_order: bool = False
) -> str | None:
    """What is wrong with ``calls``, None when nothing is."""
    wanted = [_named(each) for each in expected]
    names = [call.name for call in calls]
    if in_any_order:
        wanted.sort(key=lambda pair: pair[0])
        calls = sorted(calls, key=lambda call: call.name)
    if [call.name for call in calls] != [name for name, _ in wanted]:
        told = ", ".join(name for name, _ in wanted) or "none"
        return f"tools called: {', '.join(names) or 'none'}; expected: {told}"
    for number, (call, (name, args)) in enumerate(zip(calls, wanted, strict=True), 1):
        given = call.input if isinstance(call.input, Mapping) else {}
        there = {key: given[key] for key in args if key in given}
        found = differences(dict(args), there, f"call {number} of {name}")
        if found:
            return "arguments differ (expected → actual): " + "; ".join(found)
    return None


def asked_problem(asked: list[str], expected: tuple[str, ...] | list[str]) -> str:
    told, wanted = (", ".join(names) or "nothing" for names in (asked, expected))
    return f"asked about: {told}; expected: {wanted}"


def text_problem(
    text: str,
    equals: str | None = None,
    *,
    contains: str | None = None,
    matches: str | None = None,
) -> str | None:
    if equals is not None and text != equals:
        return "; ".join(differences(equals, text, "final text (expected → actual)"))
    if contains is not None and contains not in text:
        return f"final text does not contain {contains!r}: {text!r}"
    if matches is not None and re.search(matches, text) is None:
        return f"final text does not match {matches!r}: {text!r}"
    return None


def _named(expected: Expected) -> tuple[str, Mapping[str, Any]]:
    if isinstance(expected, str):
        return expected, {}
    if isinstance(expected, Mapping):
        [(name, args)] = expected.items()
        return name, args or {}
    return expected
