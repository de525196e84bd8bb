from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Annotated, Any, Literal

import pandas as pd
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_widget.core.errors import InvalidArgs, InvalidOptions
from agent_widget.tools import ToolContext, tool


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(pydantic.BaseModel):
    x: float
    y: float = 0


@dataclasses.dataclass
class Span:
    start: int
    end: int


PROPERTIES: list[tuple[Any, dict[str, Any]]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (Sequence[str], {"type": "array", "items": {"type": "string"}}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (Annotated[int, pydantic.Field(ge=1, description="how many")],
     {"type": "integer", "minimum": 1, "description": "how many"}),
    (Any, {}),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "expected"), PROPERTIES, ids=lambda v: str(v)[:30])
def test_the_schema_of_a_parameter_is_that_of_its_annotation(
    annotation: Any, expected: dict[str, Any]
) -> None:
    def f(x): ...  # type: ignore[no-untyped-def]

    f.__annotations__ = {"x": annotation}
    assert tool(f).parameters == {
        "type": "object",
        "properties": {"x": expected},
        "required": ["x"],
        "additionalProperties": False,
    }


def test_a_default_makes_a_parameter_optional_and_a_default_of_none_allows_null() -> None:
    def f(a: int = 3, b: str = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    made = tool(f)
    assert "required" not in made.parameters
    assert made.parameters["properties"]["a"] == {"type": "integer", "default": 3}
    assert made.validate({"b": None}) == {"b": None}
    assert made.validate({}) == {}


def test_names_that_pydantic_keeps_for_itself_are_ordinary_parameters() -> None:
    def f(schema: str, copy: int, model_config: str, _hidden: int, json: str) -> None: ...

    given = {"schema": "s", "copy": 1, "model_config": "m", "_hidden": 2, "json": "j"}
    assert tool(f).validate(given) == given


def test_the_context_is_not_in_the_schema() -> None:
    def f(x: int, context: ToolContext, other: ToolContext | None = None) -> None: ...

    assert list(tool(f).parameters["properties"]) == ["x"]


def test_structured_arguments_arrive_as_what_was_annotated() -> None:
    def f(point: Point, span: Span, colour: Colour) -> None: ...

    args = tool(f).validate({"point": {"x": 1}, "span": {"start": 1, "end": 2}, "colour": "red"})
    assert args == {"point": Point(x=1), "span": Span(1, 2), "colour": Colour.RED}


GOOGLE = """Add up.

More of it.

Args:
    x: The first,
        in words.
    y (int): The second.
"""
NUMPY = """Add up.

More of it.

Parameters
----------
x : int
    The first,
    in words.
y
    The second.
"""
SPHINX = """Add up.

More of it.

:param x: The first, in words.
:param int y: The second.
:returns: The sum.
"""


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_descriptions_come_from_the_docstring(docstring: str) -> None:
    def f(x: int, y: int) -> int:
        return x + y

    f.__doc__ = docstring
    made = tool(f)
    assert made.description == "Add up.\n\nMore of it."
    properties = made.parameters["properties"]
    assert properties["x"]["description"] == "The first, in words."
    assert properties["y"]["description"] == "The second."


def star(*rest: int) -> None: ...
def stars(**rest: int) -> None: ...
def positional(x: int, /) -> None: ...
def bare(x) -> None: ...  # type: ignore[no-untyped-def]
def table(x: pd.DataFrame) -> None: ...
def function(x: Callable[[], int]) -> None: ...
def value(x: object()) -> None: ...  # type: ignore[valid-type]
def unknown(x: NoSuchThing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("made_of", "words"),
    [
        (star, ["star", "'*rest'", "ordinary parameters"]),
        (stars, ["'**rest'"]),
        (positional, ["'x'", "positional-only"]),
        (bare, ["'x'", "no annotation", "`x: str`"]),
        (table, ["'x'", "DataFrame", "name of its variable"]),
        (function, ["'x'", "JSON"]),
        (value, ["'x'"]),
        (unknown, ["'x'", "NoSuchThing", "top of the module"]),
    ],
)
def test_a_signature_no_model_could_fill_is_refused_with_the_way_out(
    made_of: Callable[..., Any], words: list[str]
) -> None:
    with pytest.raises(InvalidOptions) as refused:
        tool(made_of)
    for word in [made_of.__name__, *words]:
        assert word in str(refused.value)


@pytest.mark.parametrize("name", ["", "a b", "a.b", "é", "t" * 65])
def test_a_name_that_servers_refuse_is_refused(name: str) -> None:
    with pytest.raises(InvalidOptions, match=r"@tool\(name="):
        tool(name=name)(lambda: None)


@pytest.mark.parametrize(
    "option",
    [
        {"read_only": "no"},
        {"description": 5},
        {"describe": "text"},
        {"timeout_s": "5"},
        {"timeout_s": float("nan")},
        {"timeout_s": -1},
        {"kind": "safe"},
        {"name": 5},
    ],
)
def test_an_option_of_the_wrong_kind_is_refused_by_name_and_value(option: dict[str, Any]) -> None:
    with pytest.raises(InvalidOptions) as refused:
        tool(**option)(lambda: None) if "name" in option else tool(name="f", **option)(lambda: None)
    assert repr(next(iter(option.values()))) in str(refused.value)
    assert refused.value.advice


def test_functions_that_yield_are_refused() -> None:
    def f() -> Any:
        yield 1

    async def g() -> Any:
        yield 1

    for made_of in (f, g):
        with pytest.raises(InvalidOptions, match="yields"):
            tool(made_of)


def test_methods_partials_and_callable_objects_are_tools() -> None:
    class Adder:
        def __init__(self, n: int) -> None:
            self.n = n

        def add(self, x: int) -> int:
            return self.n + x

        def __call__(self, x: int) -> int:
            return self.n + x

    adder = Adder(2)
    partial = functools.partial(Adder.add, adder)
    for made in (tool(adder.add), tool(name="p")(partial), tool(name="c")(adder)):
        assert list(made.parameters["properties"]) == ["x"]
        assert made(x=3) == 5


def measure(x: int, names: list[str], point: Point, ratio: float = 1) -> None: ...


def problems(args: object) -> list[str]:
    with pytest.raises(InvalidArgs) as invalid:
        tool(measure).validate(args)
    return [*invalid.value.problems]


def test_all_problems_are_reported_at_once_in_words_a_model_can_act_on() -> None:
    assert problems({"x": "abc", "point": {"x": "left"}, "nmaes": [1], "ratio": []}) == [
        'x: expected integer, got "abc"',
        "names: missing",
        'point.x: expected number, got "left"',
        "ratio: expected number, got []",
        "nmaes: unexpected; did you mean names?",
    ]


@pytest.mark.parametrize("args", [[], 3, "no json", '"text"', "[1]"])
def test_arguments_that_are_no_object_are_one_problem(args: object) -> None:
    (problem,) = problems(args)
    assert problem.startswith("expected an object, got ")


def test_json_in_strings_is_read_where_an_object_or_array_is_due() -> None:
    given = '{"x": "3", "names": "[\\"a\\"]", "point": "{\\"x\\": 1}"}'
    assert tool(measure).validate(given) == {"x": 3, "names": ["a"], "point": Point(x=1)}


def test_json_in_strings_stays_text_where_text_is_due() -> None:
    def f(code: str) -> None: ...

    assert tool(f).validate({"code": "[1, 2]"}) == {"code": "[1, 2]"}


@pytest.mark.parametrize("args", [None, "", " ", {}, "{}"])
def test_a_tool_without_parameters_runs_without_arguments(args: object) -> None:
    def f() -> None: ...

    assert tool(f).validate(args) == {}


def test_lone_surrogates_in_arguments_are_replaced() -> None:
    def f(note: str, more: dict[str, list[str]]) -> None: ...

    args = tool(f).validate({"note": "cut \ud83d here", "more": {"k\ud83d": ["\udcff"]}})
    assert args == {"note": "cut \ufffd here", "more": {"k\ufffd": ["\ufffd"]}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON | st.fixed_dictionaries({"x": JSON, "names": JSON, "point": JSON}))
def test_whatever_a_model_sends_is_accepted_or_refused_in_words(args: object) -> None:
    found: tuple[str, ...] = ("accepted",)
    try:
        tool(measure).validate(args)
    except InvalidArgs as invalid:
        found = invalid.problems
    assert found
    assert all(len(problem) < 400 for problem in found)


def test_a_person_reads_the_whole_call() -> None:
    def f(note: str, numbers: list[int]) -> None: ...

    note = "ä" * 10_000
    text = tool(f).describe({"note": note, "numbers": [1, 2]})
    assert note in text.text
    assert text.language == "json"
