"""What a stranger calls itself, says and asks, before anything else sees it."""

from __future__ import annotations

from typing import Any

import pytest

from agent_widget.core.errors import InvalidArgs, InvalidOptions
from agent_widget.tools.mcp.config import expanded, server_config
from agent_widget.tools.mcp.names import server_names, tool_names
from agent_widget.tools.mcp.schema import UnfitSchema, checked_by, fit_schema, with_json_read
from agent_widget.tools.mcp.stdio import Bucket


def test_names_fit_every_wire_and_lead_back_to_the_servers_own() -> None:
    given = ["a.b", "x/y", "my tool", "é", "t" * 130, "t" * 129, "", "__", "ok"]
    names, refused = tool_names("git", given)
    assert {names[name] for name in ("a.b", "x/y", "my tool", "ok")} == {
        "mcp__git__a_b",
        "mcp__git__x_y",
        "mcp__git__my_tool",
        "mcp__git__ok",
    }
    assert len({*names.values()}) == len(names)
    assert all(len(name) <= 64 and name.isascii() for name in names.values())
    assert names["t" * 130] != names["t" * 129]
    assert refused == ["'': has no name"]


@pytest.mark.parametrize("order", [1, -1])
def test_of_colliding_names_the_one_that_fits_as_it_is_wins_in_any_order(order: int) -> None:
    names, refused = tool_names("s", ["a b", "a.b", "a_b"][::order])
    assert names == {"a_b": "mcp__s__a_b"}
    assert refused == [f"{name!r}: would be called 'a_b', as 'a_b' is" for name in ("a b", "a.b")]


def test_no_two_servers_can_give_one_name_to_two_tools() -> None:
    forms = server_names(["a", "a__b", "my server", "_x_"])
    assert forms == {"a": "a", "a__b": "a_b", "my server": "my_server", "_x_": "x"}
    with pytest.raises(InvalidOptions, match="would both be called 'a_b'"):
        server_names(["a b", "a_b"])


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ([], "no object"),
        ({"type": "array"}, "arguments are no object"),
        ({"anyOf": []}, "anyOf at the root"),
        ({"properties": []}, "properties that is none"),
        ({"properties": {"a": {"type": "strnig"}}}, "the type 'strnig' at 'a'"),
        ({"properties": {"a": 7}}, "no schema at 'a'"),
        ({"required": "a"}, "required that is none"),
    ],
)
def test_a_schema_that_a_model_server_would_refuse_is_refused_here(schema: Any, said: str) -> None:
    with pytest.raises(UnfitSchema, match=said):
        fit_schema(schema)


def test_a_schema_of_nothing_takes_no_arguments() -> None:
    assert fit_schema({}) == {"type": "object", "properties": {}}


SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 1},
        "kind": {"enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "one": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "tree": {"$ref": "#/$defs/tree"},
        "slow": {"type": "string", "pattern": "(a+)+$"},
    },
    "required": ["n"],
    "additionalProperties": False,
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/tree"}},
            "required": ["next"],
        },
        "self": {"$ref": "#/$defs/self"},
    },
}


@pytest.mark.parametrize(
    ("args", "problems"),
    [
        ({"n": 1, "kind": "a", "tags": ["x"], "one": None}, ()),
        ({}, ("n: missing",)),
        ({"n": True}, ("n: expected integer, got true",)),
        ({"n": 0}, ("n: expected at least 1, got 0",)),
        ({"n": 1, "kind": "c"}, ('kind: expected one of "a", "b", got "c"',)),
        ({"n": 1, "tags": ["x", 2]}, ("tags[1]: expected string, got 2",)),
        ({"n": 1, "tags": ["x"] * 3}, ("tags: expected 2 items or fewer",)),
        ({"n": 1, "one": 3}, ("one: 3 fits none of the alternatives",)),
        ({"n": 1, "tree": {"next": {}}}, ("tree.next.next: missing",)),
        ({"n": 1, "slow": "a" * 60 + "!"}, ()),
        ({"n": "x", "more": 1}, ('n: expected integer, got "x"', "more: unexpected")),
    ],
)
def test_arguments_are_checked_with_all_problems_at_once(
    args: dict[str, Any], problems: tuple[str, ...]
) -> None:
    found = checked_by(fit_schema(SCHEMA))(args)
    assert tuple(each.partition("; the arguments")[0] for each in found) == problems


def test_a_schema_that_means_itself_ends() -> None:
    endless = {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}
    assert checked_by(fit_schema(endless))({"a": 1}) == ()


def test_objects_and_lists_written_as_text_are_read() -> None:
    read = with_json_read({"tags": '["x"]', "n": "1", "kind": "["}, SCHEMA)
    assert read == {"tags": ["x"], "n": "1", "kind": "["}


def test_variables_are_filled_in_and_never_shown() -> None:
    data = {"url": "https://${HOST:-example.org}/mcp?key=k", "headers": {"X": "Bearer ${TOKEN}"}}
    config = server_config("web", data)
    filled = expanded(config, {"TOKEN": "secret"})
    assert (filled.url, filled.headers["X"]) == ("https://example.org/mcp?key=k", "Bearer secret")
    assert filled.shown == "https://example.org/mcp"
    with pytest.raises(InvalidOptions, match=r"\['web'\].headers.X needs the environment variable"):
        expanded(config, {})


def test_a_file_cannot_trust_its_own_server() -> None:
    with pytest.raises(InvalidOptions, match="only code can trust"):
        server_config("a", {"command": "x", "trusted": True}, from_code=False)


def test_what_comes_too_fast_is_let_through_at_a_rate() -> None:
    bucket = Bucket(3, 0.001)
    assert [bucket.take() for _ in range(5)] == [True, True, True, False, False]


class Params:
    """As the SDK gives them."""

    mode = "form"
    message = "Who?\x1b[2J"
    requested_schema = {  # noqa: RUF012
        "properties": {
            "name": {"type": "string", "title": "Name"},
            "age": {"type": "integer", "default": 3},
            "team": {"type": "string", "enum": ["red", "blue"]},
        },
        "required": ["name"],
    }


def test_a_form_says_what_it_wants_and_takes_what_fits() -> None:
    from agent_widget.tools.mcp.forms import elicitation_of

    form = elicitation_of("git", Params())
    assert form.text.splitlines() == [
        "Who?",
        "",
        "name (string): Name",
        "age (integer; optional)",
        "team (string; one of red, blue; optional)",
    ]
    assert form.defaults == {"name": "", "age": 3, "team": ""}
    assert form.check({"name": "Ann", "age": None, "team": ""}) == {"name": "Ann"}
    for wrong in (form.defaults, {"name": "A", "team": "green"}, {"name": 7}):
        with pytest.raises(InvalidArgs):
            form.check(wrong)
