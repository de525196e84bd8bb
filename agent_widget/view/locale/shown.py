"""A view as a person reads it in another language than English."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from ..model import ErrorView, ModelView, Notice, QuestionView, SessionView, StorageView
from .words import ENGLISH, Words, words_of

T = TypeVar("T")


class Shown:
    """Puts the kernel's texts of one view after the other into the language of the view.

    What did not change between two views is the same object in what comes of them.
    """

    def __init__(self) -> None:
        self._locale = ENGLISH
        self._made: dict[str, tuple[object, object]] = {}

    def of(self, view: SessionView) -> SessionView:
        """``view`` in its language; itself when that is English or was not chosen."""
        locale = view.locale or ENGLISH
        if locale != self._locale:
            self._locale, self._made = locale, {}
        if locale == ENGLISH:
            return view
        words = words_of(locale)
        return replace(
            view,
            notices=self._same("notices", view.notices, lambda all_: _notices(words, all_)),
            error=self._same("error", view.error, lambda error: _error(words, error)),
            question=self._same("question", view.question, lambda asked: _question(words, asked)),
            model=self._same("model", view.model, lambda model: _model(words, model)),
            storage=self._same("storage", view.storage, lambda store: _storage(words, store)),
            mode_warning=_text(words, view.mode_warning),
        )

    def _same(self, name: str, value: T, make: Callable[[T], T]) -> T:
        known = self._made.get(name)
        if known is None or known[0] is not value:
            known = self._made[name] = (value, value if value is None else make(value))
        return known[1]  # type: ignore[return-value]


def _text(words: Words, text: str | None) -> str | None:
    return None if text is None else words.translated(text)


def _notices(words: Words, notices: tuple[Notice, ...]) -> tuple[Notice, ...]:
    return tuple(replace(each, message=words.translated(each.message)) for each in notices)


def _error(words: Words, error: ErrorView | None) -> ErrorView | None:
    if error is None:
        return None
    message, advice = words.translated(error.message), _text(words, error.advice)
    return replace(error, message=message, advice=advice)


def _question(words: Words, question: QuestionView | None) -> QuestionView | None:
    return None if question is None else replace(question, reason=_text(words, question.reason))


def _model(words: Words, model: ModelView) -> ModelView:
    retry = model.retry
    if retry is not None:
        retry = replace(retry, reason=words.translated(retry.reason))
    return replace(model, notice=_text(words, model.notice), retry=retry)


def _storage(words: Words, storage: StorageView) -> StorageView:
    trouble, read_only = _text(words, storage.trouble), _text(words, storage.read_only)
    return replace(storage, trouble=trouble, read_only=read_only)
