"""The wire's types have one source."""

from __future__ import annotations

from pathlib import Path

from tests.support.typescript import generated

GENERATED = Path(__file__).parents[2] / "js" / "src" / "protocol.gen.ts"


def test_typescript_types_are_those_of_the_python_module() -> None:
    assert GENERATED.read_text("utf-8") == generated(), (
        "Run: python -m tests.support.typescript > js/src/protocol.gen.ts"
    )
