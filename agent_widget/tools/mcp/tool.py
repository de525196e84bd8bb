"""A tool of a server, as the engine runs it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from ...core.errors import InvalidArgs
from ..base import CallText, Kind, ToolContext, ToolOutput
from ..text import plain_text, valid_unicode
from .config import ServerConfig
from .content import one_line, result_of
from .names import shown_name, tool_names
from .schema import MAX_TOOL_BYTES, UnfitSchema, checked_by, fit_schema, with_json_read

CHANGED: Final = (
    "Its server has changed what this tool is, since this call was decided about. Nothing was run."
    " Look at the tools you have now, and call it again."
)


class Callee(Protocol):
    """The server of a tool."""

    @property
    def config(self) -> ServerConfig: ...
    async def call(
        self, name: str, args: Mapping[str, Any], context: ToolContext, fingerprint: str
    ) -> Any: ...


class McpTool:
    """``original`` is the server's own name, ``fingerprint`` names exactly this definition."""

    def __init__(self, server: Callee, name: str, definition: Any, fingerprint: str) -> None:
        config = server.config
        annotations = definition.annotations
        self.name = name
        self.original: str = definition.name
        self.fingerprint = fingerprint
        self.description = plain_text(definition.description or "")
        self.parameters: Mapping[str, Any] = fit_schema(definition.input_schema)
        # A hint of the server; its word counts only where code says so.
        self.read_only = bool(config.trusted and annotations and annotations.read_only_hint)
        self.kind: Kind = "read" if self.read_only else "other"
        self._title = one_line(
            definition.title or (annotations.title if annotations else None), 100
        )
        self._server = server
        self._problems = checked_by(self.parameters)

    def validate(self, args: object) -> Mapping[str, Any]:
        if args is None or args == "":
            args = {}
        if isinstance(args, str):
            args = _parsed(args)
        if not isinstance(args, Mapping):
            raise InvalidArgs(self.name, (f"expected an object, got {args!r:.80}",))
        given = with_json_read(args, self.parameters)
        if problems := self._problems(given):
            raise InvalidArgs(self.name, problems)
        return given

    def describe(self, args: Mapping[str, Any]) -> CallText:
        """Whose tool it is, what its server says of it, and the arguments, whole."""
        title = f" ({self._title})" if self._title else ""
        head = f"{one_line(self.original, 200)}{title} of the MCP server {self._server.config.name}"
        told = one_line(self.description)
        about = f"{head}\nIts server says: {told}\n" if told else f"{head}\n"
        return CallText(about + json.dumps(args, ensure_ascii=False, indent=2), "json")

    async def execute(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        called = self._server.call(self.original, args, context, self.fingerprint)
        return result_of(await called)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"


def _parsed(text: str) -> object:
    try:
        return json.loads(valid_unicode(text))
    except (ValueError, RecursionError):
        return text


def fingerprint_of(config: ServerConfig, definition: Any) -> str:
    """The SHA-256 of who has the tool and of all that its definition says."""
    said = definition.model_dump(mode="json", by_alias=True, exclude_none=True)
    text = json.dumps([config.name, config.shown, said], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def tools_of(
    server: Callee,
    form: str,
    definitions: Sequence[Any],
    known: Callable[[str, str], McpTool | None],
) -> tuple[list[McpTool], list[str]]:
    """The tools of a listing in the order of their names, and a sentence for each left out.

    ``known(name, fingerprint)`` returns the tool there is already: an unchanged one stays the same
    object.
    """
    config = server.config
    wanted = [each for each in definitions if config.tools is None or each.name in config.tools]
    names, left_out = tool_names(form, [each.name for each in wanted])
    by_name = {each.name: each for each in reversed(wanted)}
    left_out += [
        f"{shown_name(name)}: the server has no such tool"
        for name in config.tools or ()
        if name not in by_name
    ]
    tools: list[McpTool] = []
    size = 0
    for original, name in sorted(names.items(), key=lambda pair: pair[1]):
        definition = by_name[original]
        length = len(definition.model_dump_json(by_alias=True, exclude_none=True).encode())
        try:
            if length > MAX_TOOL_BYTES:
                text = f"its definition has {length:,} bytes, and {MAX_TOOL_BYTES:,} may be sent"
                raise UnfitSchema(text)
            if getattr(definition.execution, "task_support", None) == "required":
                raise UnfitSchema("it only runs as a task, and tasks are not asked for here")
            if len(tools) >= config.max_tools:
                raise UnfitSchema(f"a server may have {config.max_tools} tools (max_tools)")
            if size + length > config.max_schema_bytes:
                limit = f"{config.max_schema_bytes:,} bytes (max_schema_bytes)"
                raise UnfitSchema(f"the tools of a server may have {limit}")
            mark = fingerprint_of(config, definition)
            tools.append(known(name, mark) or McpTool(server, name, definition, mark))
            size += length
        except UnfitSchema as why:
            left_out.append(f"{shown_name(original)}: {why}")
    return tools, left_out
