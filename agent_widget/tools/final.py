"""The tool through which a model gives an answer of a certain shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import UNSET, UnsetType

from ..core.errors import InvalidArgs, InvalidOptions
from .base import CallText, Kind, TextBlock, ToolContext, ToolOutput

NAME: Final = "final_result"
MAX_REPAIRS: Final = 3
"""How often a run asks anew for an answer that did not come, or did not fit."""

REMINDER: Final = f"Give your answer by calling the tool {NAME}, and nothing else."


class FinalResult:
    """Takes the answer of a run: its arguments are the answer, checked before it counts.

    ``output_type`` is a type that pydantic knows, or a JSON Schema (a mapping; needs the package
    jsonschema). ``value`` is UNSET until the model gave it. Raises InvalidOptions for what is
    neither.
    """

    name = NAME
    description = "Give the final answer. Call it once, when you know it; it ends your work."
    read_only = True  # it only says something
    kind: Kind = "read"

    def __init__(self, output_type: object) -> None:
        self.value: Any | UnsetType = UNSET
        self.failures = 0
        schema, self._read = _reader(output_type)
        self._is_wrapped = schema.get("type") != "object"
        self.parameters: Mapping[str, Any] = schema
        if self._is_wrapped:  # arguments are an object, whatever the answer is
            self.parameters = {
                "type": "object",
                "properties": {"value": schema},
                "required": ["value"],
            }

    def reset(self) -> None:
        """A new run begins, without an answer."""
        self.value, self.failures = UNSET, 0

    def validate(self, args: object) -> Mapping[str, Any]:
        """Raises InvalidArgs with all that does not fit: the model reads it and mends it."""
        if not isinstance(args, Mapping) or (self._is_wrapped and "value" not in args):
            self.failures += 1
            raise InvalidArgs(self.name, (f"expected an object, got {args!r}",))
        try:
            self._read(args["value"] if self._is_wrapped else dict(args))
        except InvalidArgs:
            self.failures += 1
            raise
        return dict(args)

    def describe(self, _args: Mapping[str, Any]) -> CallText:
        return CallText("Final answer")

    async def execute(self, args: Mapping[str, Any], _context: ToolContext) -> ToolOutput:
        self.value = self._read(args["value"] if self._is_wrapped else dict(args))
        return ToolOutput((TextBlock("Taken.", audience="all"),))


def _reader(output_type: object) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    """The schema, and what turns JSON data into a value or raises InvalidArgs."""
    return (
        _schema_reader({**output_type})
        if isinstance(output_type, Mapping)
        else _type_reader(output_type)
    )


def _type_reader(output_type: Any) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    from pydantic import PydanticUserError, TypeAdapter, ValidationError

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(output_type)
        schema = adapter.json_schema()
    except PydanticUserError as error:
        advice = "Pass a pydantic model, a dataclass, a type such as list[int], or a JSON Schema."
        message = f"output_type={output_type!r} is no type that can be read: {error.message}"
        raise InvalidOptions(message, advice=advice) from error

    def read(data: Any) -> Any:
        try:
            return adapter.validate_python(data)
        except ValidationError as error:
            problems = (f"{_where(each['loc'])}: {each['msg']}" for each in error.errors())
            raise InvalidArgs(NAME, tuple(problems)) from None

    return schema, read


def _schema_reader(schema: dict[str, Any]) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    try:
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for
    except ImportError as error:
        advice = "Install it (pip install jsonschema), or pass a pydantic model."
        message = "A JSON Schema needs the package jsonschema."
        raise InvalidOptions(message, advice=advice) from error
    kind = validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise InvalidOptions(f"output_type is no JSON Schema: {error.message}") from error
    validator = kind(schema)

    def read(data: Any) -> Any:
        problems = tuple(
            f"{_where(each.absolute_path)}: {each.message}" for each in validator.iter_errors(data)
        )
        if problems:
            raise InvalidArgs(NAME, problems)
        return data

    return schema, read


def _where(path: Any) -> str:
    return ".".join(str(key) for key in path) or "value"
