from __future__ import annotations

import asyncio
import dataclasses
import itertools
import os
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest

from agent_widget.core.errors import InvalidArgs, ToolFailure
from agent_widget.tools import HtmlBlock, ToolOutput, notebook_tools
from agent_widget.tools.base import CallText
from tests.tools.support.calls import output_of

pytestmark = pytest.mark.anyio


class Trap:
    """An object whose properties must not run."""

    def __init__(self) -> None:
        self.plain = 1

    @property
    def dear(self) -> int:
        raise AssertionError("a property ran")

    def method(self) -> None: ...


@dataclasses.dataclass
class Big:
    items: list[int]
    api_key: str = "hidden-value"


async def described(value: Any, name: str = "thing") -> ToolOutput:
    return await output_of(notebook_tools({name: value})[1], name=name)


async def listed(namespace: dict[str, Any], **args: Any) -> ToolOutput:
    return await output_of(notebook_tools(namespace)[0], **args)


async def test_the_list_has_names_types_shapes_and_sizes_and_leaves_machinery_out() -> None:
    namespace = {
        "df": pd.DataFrame({"a": [1, 2]}),
        "arr": np.zeros((3, 4)),
        "names": ["x"],
        "os": os,
        "f": lambda: 1,
        "Trap": Trap,
        "_private": 1,
    }
    output = await listed(namespace)
    lines = output.text_for_model().splitlines()
    assert [line.split()[0] for line in lines] == ["name", "df", "arr", "names"]
    assert "pandas.DataFrame" in lines[1]
    assert "2 by 1" in lines[1]
    assert "96 B" in lines[2]
    assert any(isinstance(block, HtmlBlock) for block in output.content)
    with_functions = await listed(namespace, functions=True)
    assert "Trap" in with_functions.text_for_model()


async def test_the_list_is_bounded_and_says_how_many_are_left_out() -> None:
    text = (await listed({f"v{n}": n for n in range(1_000)})).text_for_model()
    assert len(text.splitlines()) == 202
    assert "800 more" in text


async def test_names_in_the_persons_table_are_escaped() -> None:
    output = await listed({"<img src=x>": 1})
    (html,) = [block for block in output.content if isinstance(block, HtmlBlock)]
    assert "<img" not in html.html


async def test_a_dataframe_is_described_by_columns_missing_values_rows_and_numbers() -> None:
    output = await described(pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]}))
    text = output.text_for_model()
    for word in ["2 by 2", "float64", "1 missing", "First rows", "mean"]:
        assert word in text
    assert any(isinstance(block, HtmlBlock) for block in output.content)


VALUES: dict[str, Any] = {
    "empty frame": pd.DataFrame(),
    "wide frame": pd.DataFrame(np.zeros((3, 5_000))),
    "twice the same column": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "series": pd.Series(["x" * 10_000] * 100),
    "array": np.arange(1_000_000).reshape(1000, 1000),
    "empty array": np.array([]),
    "object array": np.array([object()]),
    "nan": np.array([np.nan]),
    "long text": "x" * 10_000_000,
    "nested": {"a": [[[[[[1]]]]]] * 100_000},
    "dataclass": Big([*range(1_000_000)]),
    "numbers": [*range(1_000_000)],
    "class": Trap,
    "function": asyncio.sleep,
    "builtin": len,
    "environment": os.environ,
    "generator": itertools.count(),
    "lock": threading.Lock(),
}


@pytest.mark.parametrize("name", VALUES)
async def test_any_description_is_short_and_without_addresses(name: str) -> None:
    output = await described(VALUES[name])
    assert not output.is_error
    assert 0 < len(output.text_for_model()) < 10_000
    assert "0x" not in output.text_for_model()


async def test_a_cyclic_object_is_described() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    assert "self" in (await described(loop)).text_for_model()


async def test_no_property_runs_and_all_public_attributes_are_named() -> None:
    text = (await described(Trap())).text_for_model()
    for word in ["Trap", "plain (int)", "dear (property)", "method()", "must not run"]:
        assert word in text


async def test_an_object_that_cannot_be_printed_is_described_in_words() -> None:
    class Nasty:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert "Nasty" in (await described(Nasty())).text_for_model()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", "SENTINEL"),
        ("password", b"SENTINEL"),
        ("config", {"token": "SENTINEL", "inner": {"api_key": "SENTINEL"}}),
        ("big", Big([], api_key="SENTINEL")),
        ("text", "use sk-SENTINELSENTINELSENTINEL"),
        ("environ", os.environ),
    ],
)
async def test_secrets_are_not_told(name: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VARIABLE", "SENTINEL")
    assert "SENTINEL" not in (await described(value, name)).text_for_model()


async def test_an_unknown_name_gets_close_ones() -> None:
    with pytest.raises(ToolFailure, match=r"no variable 'prices'\. Did you mean price\?"):
        await output_of(notebook_tools({"price": 1})[1], name="prices")


async def test_variables_may_change_while_they_are_read() -> None:
    namespace: dict[str, Any] = {f"v{n}": [n] for n in range(100)}
    stop = threading.Event()

    def mutate() -> None:
        for n in itertools.count(100):
            if stop.is_set():
                return
            namespace[f"v{n}"] = [n]
            namespace.pop(f"v{n - 100}", None)

    thread = threading.Thread(target=mutate)
    thread.start()
    try:
        for _ in range(20):
            assert not (await listed(namespace)).is_error
    finally:
        stop.set()
        thread.join()


async def test_reading_needs_no_question_and_running_code_does() -> None:
    assert [(made.name, made.read_only) for made in notebook_tools({})] == [
        ("list_variables", True),
        ("describe_variable", True),
        ("run_python", False),
    ]


async def python(code: str, namespace: dict[str, Any] | None = None) -> ToolOutput:
    return await output_of(notebook_tools(namespace if namespace is not None else {})[2], code=code)


async def test_plain_code_changes_the_namespace_and_shows_its_last_value() -> None:
    namespace: dict[str, Any] = {"x": 2}
    output = await python("y = x * 21\nprint('said')\ny", namespace)
    assert namespace["y"] == 42
    assert output.text_for_model() == "said\n42"


async def test_a_function_of_an_earlier_call_is_shown_in_a_traceback_with_its_own_line() -> None:
    namespace: dict[str, Any] = {}
    await python("def fails():\n    raise ValueError('deep')", namespace)
    output = await python("1\n2\nfails()", namespace)
    assert output.is_error
    text = output.text_for_model()
    assert "fails()" in text
    assert "raise ValueError('deep')" in text
    assert text.endswith("ValueError: deep")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("1 +", "SyntaxError"),
        ("input()", "nobody to answer"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("exit()", "SystemExit"),
    ],
)
async def test_plain_code_that_cannot_go_on_says_why(code: str, words: str) -> None:
    output = await python(code)
    assert output.is_error
    assert words in output.text_for_model()


async def test_the_person_reads_exactly_the_code_that_will_run() -> None:
    run_python = notebook_tools({})[2]
    code = "x = 1\n" * 5_000
    assert run_python.describe(run_python.validate({"code": code})) == CallText(code, "python")
    with pytest.raises(InvalidArgs, match="code: missing"):
        run_python.validate({})
