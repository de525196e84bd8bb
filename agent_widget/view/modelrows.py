"""What the view shows of models: which one answers, what it waits for, who took over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from ..core.events import (
    Event,
    ModelChanged,
    ProviderSwitched,
    RetryEnded,
    RetryScheduled,
    RetryStarted,
    ThinkingChanged,
    UsageUpdated,
)
from ..core.retraction import without_answer
from .blocks import edited_run
from .callrows import in_phase
from .model import MAX_NOTICES, ModelView, Notice, RetryView, SessionView


def _changed(view: SessionView, event: ModelChanged) -> SessionView:
    model = ModelView(
        event.label,
        event.offline,
        event.notice,
        event.alias,
        event.choices,
        event.thinking_levels,
        event.thinking,
        view.model.retry,
    )
    return replace(view, model=model)


def _thinking(view: SessionView, event: ThinkingChanged) -> SessionView:
    return replace(view, model=replace(view.model, thinking=event.level))


def _switched(view: SessionView, event: ProviderSwitched) -> SessionView:
    text = f"{event.from_model} failed, and {event.to_model} goes on. {event.reason}"
    notice = Notice(f"n-{event.seq}", event.type, text)
    view = replace(view, notices=(*view.notices, notice)[-MAX_NOTICES:])
    return _taken_back(view, event)


def _scheduled(view: SessionView, event: RetryScheduled) -> SessionView:
    view = _taken_back(view, event)
    if event.agent_id is not None:  # a helper waits; the run itself is at work
        return view
    retry = RetryView(event.attempt, event.max_attempts, event.delay_ms, event.error_message)
    view = replace(view, model=replace(view.model, retry=retry))
    return view if event.purpose else in_phase(view, "retrying")  # a summary is still being made


def _started(view: SessionView, event: RetryStarted) -> SessionView:
    if event.agent_id is not None:
        return view
    view = without_retry(view)
    return view if event.purpose else in_phase(view, "preparing")


def _ended(view: SessionView, event: RetryEnded) -> SessionView:
    return view if event.agent_id is not None else without_retry(view)


def without_retry(view: SessionView) -> SessionView:
    """``view`` in which nothing waits to be tried again."""
    if view.model.retry is None:
        return view
    return replace(view, model=replace(view.model, retry=None))


def _taken_back(view: SessionView, event: RetryScheduled | ProviderSwitched) -> SessionView:
    """Nothing is left of a failed answer, calls that were being written included."""
    message_id = event.message_id
    if message_id is None:
        return view
    chat = edited_run(view.chat, event.agent_id, lambda run: without_answer(run, message_id))
    drafts = view.drafts if event.agent_id is not None else {}
    return replace(view, chat=chat, drafts=drafts)


def _usage(view: SessionView, event: UsageUpdated) -> SessionView:
    tokens = (
        event.input_tokens,
        event.output_tokens,
        event.cache_read_tokens,
        event.cache_write_tokens,
    )
    paid = event.cost, event.currency, event.uncached_cost
    usage, run = view.usage.plus(tokens, *paid), view.run_usage
    if event.agent_id is None and event.purpose is None:
        usage = usage.in_context(event.context_window_tokens)
    return replace(view, usage=usage, run_usage=run.plus(tokens, *paid) if event.run_id else run)


MODEL_ROWS: Final[Mapping[type[Event], Callable[[SessionView, Any], SessionView]]] = {
    ModelChanged: _changed,
    ThinkingChanged: _thinking,
    ProviderSwitched: _switched,
    RetryScheduled: _scheduled,
    RetryStarted: _started,
    RetryEnded: _ended,
    UsageUpdated: _usage,
}
"""What each event changes."""
