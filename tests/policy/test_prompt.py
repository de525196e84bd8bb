"""The segments of the system text: which there are, in which order, and where they come from."""

from __future__ import annotations

import pytest

from agent_widget.policy.prompt import (
    ApplicationPrompt,
    PromptSummary,
    prompt_summary,
    system_segments,
)

FALLBACK = ApplicationPrompt("app")
PREPEND = ApplicationPrompt("app", "prepend")


@pytest.mark.parametrize(
    ("own", "application", "segments", "source"),
    [
        ("own", None, ("own", "more", "guide"), "session"),
        (None, None, ("default", "more", "guide"), "default"),
        ("own", FALLBACK, ("own", "more", "guide"), "session"),
        (None, FALLBACK, ("app", "more", "guide"), "application"),
        ("own", PREPEND, ("app", "own", "more", "guide"), "both"),
        (None, PREPEND, ("app", "more", "guide"), "application"),
        (" \n", FALLBACK, ("app", "more", "guide"), "application"),
        ("own", ApplicationPrompt("", "prepend"), ("own", "more", "guide"), "session"),
        (None, ApplicationPrompt(" "), ("default", "more", "guide"), "default"),
    ],
)
def test_the_base_is_chosen_by_policy_then_comes_what_is_appended_then_guides(
    own: str | None,
    application: ApplicationPrompt | None,
    segments: tuple[str, ...],
    source: str,
) -> None:
    found = system_segments(
        own, application, default="default", append="more", guides=["guide", ""]
    )
    assert found == segments
    policy = None if application is None else application.policy
    assert prompt_summary(own, application) == PromptSummary(source, policy)  # type: ignore[arg-type]
