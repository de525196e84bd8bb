"""What the offline model understands, and the script it then follows. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

COUNT_TO: Final = 20
MAX_COUNT: Final = 1000

OFFER: Final = """\
- `what variables are there`
- `describe df`
- `plot column price of df`
- `run: print(1 + 1)`, or `run this code` with the code between three backticks
- `ask a helper to describe df`
- `count slowly to 20`
- `think`, `fail`, `fail 401`, `fail 429`

For a real model set `OPENAI_API_KEY`, or pass `model=` or `base_url=` to the widget."""


class Say(Struct, frozen=True):
    """Answer text, in Markdown."""

    text: str


class Think(Struct, frozen=True):
    """Reasoning."""

    text: str


class Count(Struct, frozen=True):
    """The numbers from 1 to ``to``, slowly."""

    to: int


class Call(Struct, frozen=True):
    """A tool call; it ends the answer."""

    name: str
    args: Mapping[str, Any]


class Fail(Struct, frozen=True):
    """A failure: with an HTTP status, or (None) a connection that drops."""

    status: int | None


Step: TypeAlias = Say | Think | Count | Call | Fail


def script_for(text: str, tools: Collection[str]) -> tuple[Step, ...]:
    """The answer to a user's ``text``; calls only what is in ``tools``."""
    steps: tuple[Step, ...] | None
    thinking = re.match(r"\W*(?:please\s+)?think\b[\s,;:.]*(?:(?:and|then|first)\b\s*)*", text, _I)
    if thinking:
        steps = _script(text[thinking.end() :]) or (Say(_NOTHING_CAME),)
        return Think("I look for the words I know in this request."), *_with_tools(steps, tools)
    steps = _script(text)
    if steps is None:
        is_question = re.fullmatch(r"\W*(?:help|hello|hi|what can you do)?\W*", text, _I)
        return (Say(f"{_WHO} {_KNOWS if is_question else _LOST}\n\n{OFFER}"),)
    return _with_tools(steps, tools)


_I: Final = re.IGNORECASE
_S: Final = re.IGNORECASE | re.DOTALL
_WHO: Final = "I am the **offline demo model**, not a language model."
_KNOWS: Final = "These are the requests I know:"
_LOST: Final = "I do not understand this request. These are the ones I know:"
_NOTHING_CAME: Final = f"{_WHO} I paused, but there was nothing in it for me to do."
_NAME: Final = r"(?:(?:the|my)\s+)?(?:(?:variable|data\s?frame|table)\s+)?[`'\"]?([^\W\d]\w*)"


def _script(text: str) -> tuple[Step, ...] | None:
    """The script for ``text``, as if all tools were there; None when nothing in it is known."""
    for read in (_run, _helper, _fail, _count, _plot, _describe, _variables):
        steps = read(text)
        if steps is not None:
            return steps
    return None


def _with_tools(steps: tuple[Step, ...], tools: Collection[str]) -> tuple[Step, ...]:
    for step in steps:
        if isinstance(step, Call) and step.name not in tools:
            missing = f"For that I would call `{step.name}`, but this chat has no such tool."
            return (Say(missing),)
    return steps


def _run(text: str) -> tuple[Step, ...] | None:
    fenced = re.search(r"```[ \t]*(?:python|py)?[ \t]*\n?(.*?)```", text, _S)
    if fenced:
        around = text[: fenced.start()] + text[fenced.end() :]
        code = fenced[1] if re.search(r"\b(?:run|execute)\b", around, _I) else None
    else:
        inline = re.match(r"\W*(?:please\s+)?run(?:\s+(?:this|the))?(?:\s+code)?\s*:(.*)", text, _S)
        code = inline[1] if inline else None
        if code is None and re.match(
            r"\W*(?:please\s+)?run\s+(?:this|the|some)\s+code\b", text, _I
        ):
            return (Say("Which code? Send `run:` and the code after it."),)
    if code is None:
        return None
    if not code.strip():
        return (Say("There is no code to run. Send `run:` and the code after it."),)
    return Say("I run this code. "), Call("run_python", {"code": code.strip()})


def _helper(text: str) -> tuple[Step, ...] | None:
    asked = re.search(
        r"\b(?:ask|tell|use|let|have)\s+(?:an?|the|my)?\s*(?:helper|(?:sub-?)?agent)\b"
        r"(?:\s+agent)?[\s,:]*(?:to\s+)?(.*)",
        text,
        _S,
    )
    if not asked:
        return None
    task = asked[1].strip() or "What variables are there?"
    return Say("I hand this to the helper. "), Call("delegate_to_helper", {"task": task})


def _fail(text: str) -> tuple[Step, ...] | None:
    failing = re.match(r"\W*(?:please\s+)?fail\b\D*(401|429)?", text, _I)
    if not failing:
        return None
    if failing[1]:
        return (Fail(int(failing[1])),)
    return Say("This answer breaks off on purpose, in the middle of a "), Fail(None)


def _count(text: str) -> tuple[Step, ...] | None:
    if not re.search(r"\bcount\s+(?:slowly|up|to)\b", text, _I):
        return None
    to = re.search(r"\bto\s+(\d{1,6})\b", text, _I)
    return (Count(min(max(int(to[1]), 1), MAX_COUNT) if to else COUNT_TO),)


def _plot(text: str) -> tuple[Step, ...] | None:
    found = re.search(r"\bplot\s+(.+)", text, _S)
    if not found:
        return (Say(_WHICH_PLOT),) if re.search(r"\bplot\b", text, _I) else None
    what = found[1].strip().rstrip("?!. ")
    what = re.sub(r"(?:(?:a|the)\s+)?(?:histogram|distribution)\s+of\s+", "", what, flags=_I)
    of = re.fullmatch(rf"(?:the\s+)?(?:column\s+)?(.+?)\s+(?:of|from|in)\s+{_NAME}\W*", what, _S)
    if of:
        return _plot_script(frame=of[2], column=of[1])
    pair = re.fullmatch(rf"{_NAME}[`'\"]?(?:\s*\[(.+)\]|\.(\w+)|\s+(?:column\s+)?(.+))", what, _S)
    if pair:
        return _plot_script(frame=pair[1], column=pair[2] or pair[3] or pair[4])
    name = re.fullmatch(rf"{_NAME}\W*", what, _I)
    if name:
        ask = f"Which column of `{name[1]}`? Say, for example, `plot column price of {name[1]}`."
        return (Say(ask),)
    return (Say(_WHICH_PLOT),)


_WHICH_PLOT: Final = "What shall I plot? Say, for example, `plot column price of df`."

_PLOT_CODE: Final = """\
import matplotlib.pyplot as plt

column = {frame}[{column}]
figure, axes = plt.subplots()
if column.dtype.kind in "iufM":
    axes.hist(column.dropna(), bins=30)
    axes.set_ylabel("rows")
else:
    column.value_counts().head(20).plot.barh(ax=axes)
    axes.set_xlabel("rows")
axes.set_title({column})
plt.show()
"""


def _plot_script(frame: str, column: str) -> tuple[Step, ...]:
    label = json.dumps(column.strip("`'\" \t\n"), ensure_ascii=False)
    code = _PLOT_CODE.format(frame=frame, column=label)
    return Say("I draw that. "), Call("run_python", {"code": code})


def _describe(text: str) -> tuple[Step, ...] | None:
    found = re.search(rf"\bdescribe\s+{_NAME}", text, _I)
    if found:
        return Say("I look at it. "), Call("describe_variable", {"name": found[1]})
    if re.search(r"\bdescribe\b", text, _I):
        return (Say("Which variable shall I describe? Say, for example, `describe df`."),)
    return None


def _variables(text: str) -> tuple[Step, ...] | None:
    if re.search(r"\bvariables?\b", text, _I):
        return Say("I look at the variables. "), Call("list_variables", {})
    return None
