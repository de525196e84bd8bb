"""The one error tree.

    SessionError
    ├── InvalidOptions     misuse, raised at construction
    │   └── NoCredentials  the key of a model is missing
    ├── SessionClosed      the session or the engine is gone
    ├── WaitRefused        waiting here would deadlock the host
    ├── ModelError         a model call failed (its ``code`` is one of ``ERROR_CODES``)
    └── ToolFailure        a tool call failed in a way its author wants to word
        ├── InvalidArgs    the model's arguments do not fit the tool's schema
        └── Cancelled      a person or Stop ended the call

Source of the codes: session reducer document (``chat_disabled`` … ``network``) and the
SDK's error table (``invalid_options``, ``session_closed`` …).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, Literal, get_args

ErrorCode = Literal["chat_disabled", "rate_limited", "bad_request", "network"]
ERROR_CODES: Final[tuple[str, ...]] = get_args(ErrorCode)

CANCELLED: Final = "cancelled"
"""Code that marks an error as a user's cancellation (see ``is_cancelled``)."""


class SessionError(Exception):
    """Base of all errors of this package.

    ``code`` is stable and meant for programs, ``message`` names what went wrong and with
    which value, ``advice`` says the way out (or is None), ``detail`` holds JSON data.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        advice: str | None = None,
        detail: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message if advice is None else f"{message} {advice}")
        self.code = code
        self.message = message
        self.advice = advice
        self.detail: Mapping[str, object] = dict(detail or {})


class InvalidOptions(SessionError, ValueError):
    """An option, model string, tool or signature that cannot work."""

    def __init__(self, message: str, *, advice: str | None = None) -> None:
        super().__init__("invalid_options", message, advice=advice)


class NoCredentials(InvalidOptions):
    """The model is known, and the key that its server needs is not."""


class SessionClosed(SessionError):
    """The session was closed; every call but ``close`` and ``messages`` raises this."""

    def __init__(self, message: str = "This session is closed.") -> None:
        super().__init__("session_closed", message, advice="Create a new one to go on.")


class WaitRefused(SessionError):
    """Waiting for a run was refused because this host could never deliver the answer."""

    def __init__(self, message: str, *, advice: str) -> None:
        super().__init__("wait_refused", message, advice=advice)


class ModelError(SessionError):
    """A model call failed.

    ``code`` is one of ``ERROR_CODES``; ``status`` the HTTP status, if there was one;
    ``retryable`` tells whether the same request may succeed later; ``retry_after_s`` is
    the server's own wish in seconds; ``is_too_long`` that the prompt does not fit the model.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        advice: str | None = None,
        status: int | None = None,
        retryable: bool = False,
        retry_after_s: float | None = None,
        is_too_long: bool = False,
    ) -> None:
        super().__init__(code, message, advice=advice)
        self.status = status
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.is_too_long = is_too_long


class ToolFailure(SessionError):
    """A tool call failed; the model sees ``message``.

    Tool authors raise it to word a failure without a traceback.
    """

    def __init__(self, message: str, *, code: str = "exception") -> None:
        super().__init__(code, message)


class InvalidArgs(ToolFailure):
    """Arguments that do not fit the tool's schema; ``problems`` lists all of them."""

    def __init__(self, tool: str, problems: tuple[str, ...]) -> None:
        listed = "\n".join(f"- {problem}" for problem in problems)
        super().__init__(f"Invalid arguments for {tool}:\n{listed}", code="invalid_args")
        self.problems = problems


class Cancelled(ToolFailure):
    """A call ended by a person: denied, or stopped."""

    def __init__(self, message: str = "Cancelled by the user.") -> None:
        super().__init__(message, code=CANCELLED)


def is_cancelled(error: object) -> bool:
    """True when ``error`` is a user's cancellation and not a failure.

    ``error`` may be what a ``tool-error`` part carries (a mapping whose ``code`` is
    ``"cancelled"``), a ``Cancelled`` exception or asyncio's ``CancelledError``. A timeout
    is a failure. The reducer and the tool runner use this same predicate.
    """
    if isinstance(error, Mapping):
        return error.get("code") == CANCELLED
    if isinstance(error, asyncio.CancelledError):
        return True
    return isinstance(error, SessionError) and error.code == CANCELLED
