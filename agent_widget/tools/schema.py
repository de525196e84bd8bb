"""Arguments of a tool: a pydantic model and a JSON Schema from a signature, and checked values."""

from __future__ import annotations

import functools
import inspect
import json
import typing
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Final

import pydantic
from msgspec import Struct
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema, ErrorDetails, core_schema, to_jsonable_python

from ..core.errors import InvalidArgs, InvalidOptions
from .base import ToolContext
from .text import valid_unicode

_CONFIG: Final = pydantic.ConfigDict(
    extra="forbid", coerce_numbers_to_str=True, protected_namespaces=()
)
_VALUE_CHARS: Final = 80


class Arguments(Struct, frozen=True):
    """What a tool takes.

    ``schema`` is a JSON Schema of type object; ``context_names`` are the parameters that get
    the ``ToolContext``.
    """

    tool: str
    schema: Mapping[str, Any]
    context_names: tuple[str, ...]
    _model: type[pydantic.BaseModel]
    _names: Mapping[str, str]

    def checked(self, args: object) -> dict[str, Any]:
        """The arguments that were given, coerced. Raises InvalidArgs with all problems at once.

        Models write JSON into strings: a string is read as JSON where an object or array is
        due. None and ``""`` stand for no arguments.
        """
        given = self._object(args)
        try:
            model = self._validated(given)
        except pydantic.ValidationError as error:
            problems = tuple(_problem(detail, self._names) for detail in _details(error))
            raise InvalidArgs(self.tool, problems) from None
        return {self._names[field]: getattr(model, field) for field in _given_fields(model)}

    def _object(self, args: object) -> dict[str, Any]:
        if args is None or (isinstance(args, str) and not args.strip()):
            return {}
        if isinstance(args, str):
            args = _parsed(args)
        if not isinstance(args, Mapping):
            raise InvalidArgs(self.tool, (f"expected an object, got {_shown(args)}",))
        cleaned: dict[str, Any] = _valid_unicode_data(args)
        return cleaned

    def _validated(self, given: dict[str, Any]) -> pydantic.BaseModel:
        try:
            return self._model.model_validate(given)
        except pydantic.ValidationError as error:
            parsed = {
                name: value
                for name in {detail["loc"][0] for detail in _details(error) if detail["loc"]}
                if isinstance(given.get(str(name)), str)
                and isinstance(value := _parsed(given[str(name)]), dict | list)
            }
            if not parsed:
                raise
            return self._model.model_validate({**given, **parsed})


def signature_arguments(
    function: Callable[..., Any], tool: str, descriptions: Mapping[str, str]
) -> Arguments:
    """What ``function`` takes. Raises InvalidOptions for a signature no model could fill."""
    parameters = _parameters(function, tool)
    context_names: list[str] = []
    fields: dict[str, tuple[Any, FieldInfo]] = {}
    names: dict[str, str] = {}
    for position, (name, parameter) in enumerate(parameters.items()):
        annotation = _annotation(function, tool, parameter)
        if _is_context(annotation):
            context_names.append(name)
            continue
        if parameter.default is None:
            annotation = typing.Optional[annotation]  # noqa: UP045  # a run-time value
        field = f"argument_{position}"
        names[field] = name
        fields[field] = (annotation, _field(parameter, annotation, descriptions.get(name)))
        _require_schema(function, tool, name, annotation)
    create: Any = pydantic.create_model
    model: type[pydantic.BaseModel] = create("Arguments", __config__=_CONFIG, **fields)
    schema = model.model_json_schema(schema_generator=_Schema)
    schema.pop("title", None)
    schema.setdefault("properties", {})
    return Arguments(tool, schema, tuple(context_names), model, names)


class _Schema(GenerateJsonSchema):
    """JSON Schema without titles: they repeat the names and cost tokens."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        generated = super().model_schema(schema)
        generated.pop("title", None)
        return generated

    def generate(self, schema: CoreSchema, mode: Any = "validation") -> dict[str, Any]:
        generated = super().generate(schema, mode)
        generated.pop("$schema", None)
        return generated


# Signatures -----------------------------------------------------------------------------------


def _parameters(function: Callable[..., Any], tool: str) -> Mapping[str, inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise InvalidOptions(
            f"Tool {tool!r}: {function!r} has no signature that can be read.",
            advice="Wrap it in a function with annotated parameters.",
        ) from None
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise _bad(function, tool, stars + name, "has no fixed name a model could fill")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise _bad(function, tool, name, "is positional-only; tools are called by name")
    return parameters


def _bad(
    function: Callable[..., Any], tool: str, parameter: str, problem: str, advice: str | None = None
) -> InvalidOptions:
    where = getattr(function, "__qualname__", repr(function))
    return InvalidOptions(
        f"Tool {tool!r}: parameter {parameter!r} of {where} {problem}.",
        advice=advice or "Declare ordinary parameters, each with an annotation.",
    )


def _annotation(function: Callable[..., Any], tool: str, parameter: inspect.Parameter) -> Any:
    raw = parameter.annotation
    if raw is parameter.empty:
        raise _bad(
            function,
            tool,
            parameter.name,
            "has no annotation",
            f"Write what it takes, for example `{parameter.name}: str`.",
        )
    if not isinstance(raw, str):
        return raw

    def holder() -> None: ...

    holder.__annotations__ = {parameter.name: raw}
    inner = inspect.unwrap(_plain(function))
    try:
        return typing.get_type_hints(
            holder,
            globalns=getattr(inner, "__globals__", {}),
            localns=_closure(inner),
            include_extras=True,
        )[parameter.name]
    except Exception as error:  # noqa: BLE001  # an annotation is any expression
        raise _bad(
            function,
            tool,
            parameter.name,
            f"has an annotation that cannot be read, {raw!r} ({error})",
            "Define or import what it names at the top of the module.",
        ) from None


def _plain(function: Any) -> Any:
    """The function below partials, bound methods and callable objects."""
    while isinstance(function, functools.partial):
        function = function.func
    if not hasattr(function, "__code__") and not hasattr(function, "__wrapped__"):
        function = type(function).__call__ if not inspect.ismethod(function) else function
    return getattr(function, "__func__", function)


def _closure(function: Any) -> dict[str, Any]:
    try:
        return dict(inspect.getclosurevars(function).nonlocals)
    except (TypeError, ValueError):
        return {}


def _is_context(annotation: Any) -> bool:
    options = typing.get_args(annotation) or (annotation,)
    return ToolContext in options


def _field(parameter: inspect.Parameter, annotation: Any, description: str | None) -> FieldInfo:
    options: dict[str, Any] = {"alias": parameter.name}
    if parameter.default is not parameter.empty:
        options["default"] = parameter.default
    if description and not _describes_itself(annotation):
        options["description"] = description
    field: FieldInfo = pydantic.Field(**options)
    return field


def _describes_itself(annotation: Any) -> bool:
    metadata = getattr(annotation, "__metadata__", ())
    return any(isinstance(item, FieldInfo) and item.description for item in metadata)


def _require_schema(function: Callable[..., Any], tool: str, name: str, annotation: Any) -> None:
    try:
        pydantic.TypeAdapter(Annotated[annotation, None]).json_schema(schema_generator=_Schema)
    except (pydantic.PydanticUserError, AttributeError, TypeError, NameError, RecursionError):
        shown = getattr(annotation, "__name__", None) or str(annotation)
        raise _bad(
            function,
            tool,
            name,
            f"has an annotation that JSON cannot carry, {shown}",
            "Take JSON data (str, int, float, bool, list, dict, Literal, a pydantic model); "
            "for an object of the notebook, take the name of its variable.",
        ) from None


# Problems -------------------------------------------------------------------------------------


def _details(error: pydantic.ValidationError) -> list[ErrorDetails]:
    return error.errors(include_url=False)


def _problem(detail: ErrorDetails, names: Mapping[str, str]) -> str:
    """One problem in words a model can act on: ``x: expected integer, got "abc"``."""
    path = _path(detail["loc"])
    kind, message = detail["type"], detail["msg"]
    if kind == "missing":
        return f"{path}: missing"
    if kind == "extra_forbidden":
        known = [*names.values()] if len(detail["loc"]) == 1 else []
        return f"{path}: unexpected{_way_out(path, known)}"
    if kind in ("value_error", "assertion_error"):
        return f"{path}: {message.partition(', ')[2] or message}, got {_shown(detail['input'])}"
    for start in ("Input should be a valid ", "Input should be an ", "Input should be "):
        if message.startswith(start):
            message = "expected " + message.removeprefix(start)
            break
    message = _EXPECTED.get(message.partition(", ")[0], message.partition(", unable to")[0])
    return f"{path}: {message}, got {_shown(detail['input'])}"


_EXPECTED: Final = {
    "expected list": "expected array",
    "expected dictionary": "expected object",
    "expected dictionary or instance of Arguments": "expected object",
}


def _path(loc: Sequence[int | str]) -> str:
    path = ""
    for step in loc:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path


def _way_out(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; the arguments are {', '.join(known)}" if known else ""


def _shown(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + "…"


# Values ---------------------------------------------------------------------------------------


def _given_fields(model: pydantic.BaseModel) -> list[str]:
    return [name for name in type(model).model_fields if name in model.model_fields_set]


def _parsed(text: str) -> object:
    """The JSON value that ``text`` spells, or ``text`` itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _valid_unicode_data(value: Any) -> Any:
    if isinstance(value, str):
        return valid_unicode(value)
    if isinstance(value, Mapping):
        return {_valid_unicode_data(k): _valid_unicode_data(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_valid_unicode_data(item) for item in value]
    return value


def arguments_text(args: Mapping[str, Any]) -> str:
    """``args`` as indented JSON, whole."""
    data = to_jsonable_python(dict(args), fallback=str)
    return json.dumps(data, ensure_ascii=False, indent=2)
