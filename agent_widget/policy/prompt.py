"""The system text of a request: which segments it has, in which order.

User text is never part of it. Source: SDK document, "application system prompts" (C03 to C08).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

ApplicationPolicy = Literal["fallback", "prepend"]


class ApplicationPrompt(Struct, frozen=True):
    """A text that a deployment gives all its sessions.

    ``fallback``: it stands where a session has no text of its own; ``prepend``: before that text.
    """

    text: str
    policy: ApplicationPolicy = "fallback"


class PromptSummary(Struct, frozen=True):
    """Where the base of a session's system text comes from, without the text.

    ``source`` is ``session`` (its own), ``application``, ``both`` or ``default``; what is appended
    counts as neither. ``policy`` is None where there is no application prompt.
    """

    source: Literal["session", "application", "both", "default"]
    policy: ApplicationPolicy | None = None


def system_segments(
    own: str | None,
    application: ApplicationPrompt | None = None,
    *,
    default: str | None = None,
    append: str | None = None,
    guides: Iterable[str] = (),
) -> tuple[str, ...]:
    """The segments in their order: application and own, then what is appended, then guides.

    ``default`` stands where there is neither of the first two. Blank ones are left out.
    """
    base: tuple[str | None, ...]
    if application is None:
        base = (own,)
    elif application.policy == "prepend":
        base = (application.text, own)
    else:
        base = (own if _says(own) else application.text,)
    if not any(map(_says, base)):
        base = (default,)
    every = (*base, append, *guides)
    return tuple(segment for segment in every if segment is not None and _says(segment))


def prompt_summary(own: str | None, application: ApplicationPrompt | None) -> PromptSummary:
    """Which of the two the base comes from."""
    has_own, policy = _says(own), None if application is None else application.policy
    if application is None or not _says(application.text):
        return PromptSummary("session" if has_own else "default", policy)
    if not has_own:
        return PromptSummary("application", policy)
    return PromptSummary("both" if policy == "prepend" else "session", policy)


def _says(text: str | None) -> bool:
    return text is not None and bool(text.strip())
