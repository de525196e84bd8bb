"""How a call ended, and how that is written down."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from ..core.errors import CANCELLED, ToolFailure
from ..core.events import ToolErrorType
from ..tools.base import ToolOutput


class Outcome(Struct, frozen=True):
    """With output, or with an error of a kind."""

    output: ToolOutput | None = None
    error_type: ToolErrorType = "exception"
    message: str = ""


STOPPED = Outcome(error_type="cancelled", message="Cancelled by the user.")


def failed(error: BaseException) -> Outcome:
    """The outcome of a call that raised ``error``: whatever a tool raises is its result."""
    if isinstance(error, ToolFailure):
        return Outcome(error_type=_error_type(error.code), message=error.message)
    if isinstance(error, TimeoutError):
        return Outcome(error_type="timeout", message=str(error) or "The call timed out.")
    return Outcome(message=f"{type(error).__name__}: {error}")


def _error_type(code: str) -> ToolErrorType:
    if code in (CANCELLED, "timeout", "invalid_args", "denied"):
        return code  # type: ignore[return-value]
    return "exception"


def output_to_wire(output: ToolOutput) -> dict[str, Any]:
    """A tool's output as stored and shown: ``{"content": [blocks], "isError": bool}``."""
    content = [msgspec.to_builtins(block) for block in output.content]
    return {"content": content, "isError": output.is_error}
