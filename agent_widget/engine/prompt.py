"""The system text of a session, settled anew for each run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..core.errors import InvalidOptions
from ..policy.prompt import (
    ApplicationPrompt,
    PromptSummary,
    prompt_summary,
    system_segments,
)

SystemText = str | Callable[[tuple[str, ...]], str | None] | None
"""A text, or what makes it from the names of the model's tools: one text from one set."""

BETWEEN: Final = "\n\n"


class SystemPrompt:
    """What the model is told beside the conversation.

    ``own`` is the session's text, ``default`` what stands where nothing else does, ``append`` what
    follows either, ``application`` gives the deployment's text at each run. A new one holds from
    the next run on: the run under way keeps what it began with.
    """

    def __init__(
        self,
        own: SystemText,
        *,
        default: SystemText = None,
        append: str | None = None,
        application: Callable[[], ApplicationPrompt | None] = lambda: None,
    ) -> None:
        self._own = own
        self._default = default
        self._append = append
        self._application = application

    @property
    def summary(self) -> PromptSummary:
        """Where the text comes from, as of now."""
        return prompt_summary(_made(self._own, ()), _checked(self._application()))

    def for_run(self) -> Callable[[tuple[str, ...]], str | None]:
        """The text of the run that begins now, from the names of the tools of a step."""
        application = _checked(self._application())

        def text(names: tuple[str, ...]) -> str | None:
            segments = system_segments(
                _made(self._own, names),
                application,
                default=_made(self._default, names),
                append=self._append,
            )
            return BETWEEN.join(segments) or None

        return text


System = SystemText | SystemPrompt
"""What a session or an agent may be given as its system text."""


def settled(system: System) -> SystemText:
    """The system text of the run that begins now."""
    return system.for_run() if isinstance(system, SystemPrompt) else system


def _made(text: SystemText, names: tuple[str, ...]) -> str | None:
    if not callable(text):
        return text
    try:
        made: object = text(names)
    except Exception as error:  # it is the host's
        raise _bad_system(f"failed with {type(error).__name__}: {error}") from error
    if made is None or isinstance(made, str):
        return made
    raise _bad_system(f"returned {made!r}")


def _bad_system(what: str) -> InvalidOptions:
    advice = "It gets the names of the tools and returns text or None."
    return InvalidOptions(f"The function that was given as system= {what}.", advice=advice)


def _checked(application: object) -> ApplicationPrompt | None:
    if application is None:
        return None
    if not isinstance(application, ApplicationPrompt) or not isinstance(application.text, str):
        message = f"application_prompt is {application!r}, which is no ApplicationPrompt of a text."
        advice = 'Use ApplicationPrompt("…"), or None.'
        raise InvalidOptions(message, advice=advice)
    if application.policy not in ("fallback", "prepend"):
        advice = "Use 'fallback' or 'prepend'."
        message = f"application_prompt has the policy {application.policy!r}."
        raise InvalidOptions(message, advice=advice)
    return application
