"""Assertions about a chat that say what happened instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import takewhile
from typing import Any, Final, TypeAlias

from ..core.messages import ToolPart
from ..engine.recording.difference import differences

MAX_SHOWN_CHARS: Final = 500
"""How much of a text that is not the expected one a failure shows."""

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
    if not hasattr(chat, "questions"):
        raise TypeError(f"{chat!r} keeps no questions. Make the chat with agent_session.")
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
    """What ``chat`` (or a ``RunResult``) answered last is, contains, or matches this text.

    Raises TypeError without a text to compare with.
    """
    __tracebackhide__ = True
    if equals is None and contains is None and matches is None:
        raise TypeError("assert_final_text needs a text, contains= or matches=.")
    problem = text_problem(final_text(chat), equals, contains=contains, matches=matches)
    if problem is not None:
        raise AssertionError(f"{problem}{_trouble(chat)}")


# --- what is wrong, for scenarios, too -----------------------------------------------------------


def calls_of(chat: Any) -> list[ToolPart]:
    return [call for message in chat.state.messages for call in message.tool_calls]


def final_text(chat: Any) -> str:
    if hasattr(chat, "reason"):  # a RunResult
        return str(chat.text)
    answers = takewhile(lambda message: message.role != "user", reversed(chat.state.messages))
    return next((m.text for m in answers if m.role == "assistant" and m.text), "")


def _trouble(chat: Any) -> str:
    """What went wrong in ``chat``, which may be why the text is not there."""
    error = chat.error if hasattr(chat, "reason") else getattr(chat.state, "error", None)
    return "" if error is None else f". The run failed: {getattr(error, 'message', error)}"


def tools_problem(
    calls: list[ToolPart], expected: tuple[Expected, ...], *, in_any_order: bool = False
) -> str | None:
    """What is wrong with ``calls``, None when nothing is."""
    wanted = [_named(each) for each in expected]
    names = [call.name for call in calls]
    if in_any_order:
        calls, wanted = _paired(calls, wanted)
    if [call.name for call in calls] != [name for name, _ in wanted]:
        told = ", ".join(name for name, _ in wanted) or "none"
        return f"tools called: {', '.join(names) or 'none'}; expected: {told}"
    for number, (call, (name, args)) in enumerate(zip(calls, wanted, strict=True), 1):
        if found := _argument_differences(call, args, f"call {number} of {name}"):
            return "arguments differ (expected → actual): " + "; ".join(found)
    return None


def _argument_differences(call: ToolPart, args: Mapping[str, Any], place: str) -> list[str]:
    given = call.input if isinstance(call.input, Mapping) else {}
    return differences(dict(args), {key: given[key] for key in args if key in given}, place)


def _paired(
    calls: list[ToolPart], wanted: list[tuple[str, Mapping[str, Any]]]
) -> tuple[list[ToolPart], list[tuple[str, Mapping[str, Any]]]]:
    """Both by name, and of one name as many calls as can be beside an expectation they meet."""
    wanted = sorted(wanted, key=lambda pair: pair[0])
    meet = [
        [
            at
            for at, call in enumerate(calls)
            if call.name == name and not _argument_differences(call, args, "")
        ]
        for name, args in wanted
    ]
    taken: dict[int, int] = {}  # the expectation by the call that it has

    def place(number: int, tried: set[int]) -> bool:
        for at in meet[number]:
            if at not in tried:
                tried.add(at)
                if at not in taken or place(taken[at], tried):
                    taken[at] = number
                    return True
        return False

    for number in range(len(wanted)):
        place(number, set())
    of = {number: calls[at] for at, number in taken.items()}
    left = [call for at, call in enumerate(calls) if at not in taken]
    for number, (name, _) in enumerate(wanted):
        same = [call for call in left if call.name == name]
        if number not in of and same:
            of[number] = same[0]
            left = [call for call in left if call is not same[0]]
    return [*(of[number] for number in sorted(of)), *left], wanted


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
        return f"final text does not contain {contains!r}: {_shown(text)}"
    if matches is not None and re.search(matches, text) is None:
        return f"final text does not match {matches!r}: {_shown(text)}"
    return None


def _shown(text: str) -> str:
    cut = len(text) - MAX_SHOWN_CHARS
    return repr(text) if cut <= 0 else f"{text[:MAX_SHOWN_CHARS]!r} … and {cut} characters more"


def _named(expected: Expected) -> tuple[str, Mapping[str, Any]]:
    if isinstance(expected, str):
        return expected, {}
    if isinstance(expected, Mapping) and len(expected) == 1:
        [(name, args)] = expected.items()
        return name, args or {}
    if isinstance(expected, tuple) and len(expected) == 2:  # a pair
        return expected
    raise TypeError(f"{expected!r} is no expectation. Write 'tool', or ('tool', {{...}}).")
