"""The model of a session, chosen anew: for the next run, stored first, for as long as it lasts.

A choice outlives the kernel where the session is opened again with the same options; where code
says something else by then, code wins. Source: features C32 to C34, C127, D43 to D51.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Final, Literal, NoReturn, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidOptions, NoCredentials, SessionError
from ..core.events import ModelChanged, ThinkingChanged, TurnError, notice
from ..core.journal import Journal
from ..policy.models import (
    LEVELS,
    NO_THINKING,
    Direction,
    budget_of,
    clamped_level,
    next_choice,
    next_level,
)
from ..policy.retry import RetrySettings
from ..providers.base import ListsModels, Model
from ..providers.prices import PriceList
from .crew import Crew
from .retry import Retries, Sleep
from .staff import Staff
from .writer import Writer

ASSEMBLY_FAILED: Final = "assembly_failed"
NO_CREDENTIALS: Final = "no_credentials"

Resolve: TypeAlias = Callable[[str | Model], Model]


def _names_nothing(model: str | Model) -> NoReturn:
    raise InvalidOptions(f"This session does not know model {model!r}.")


def _as_given(model: str | Model) -> Model:
    return _names_nothing(model) if isinstance(model, str) else model


class ModelOptions(Struct, frozen=True):
    """What a session knows of models beside its own.

    ``known`` are models by the names that the person gave them, its own first (none: by label);
    ``fallback`` are those that take over, in their order;
    ``scoped`` those to choose from (none: all that are known); ``resolve`` makes a model of a name,
    or checks one, and raises InvalidOptions, NoCredentials where a key is missing. ``sleep`` waits
    by the session's clock, ``chance`` is the randomness of waits.
    """

    known: Mapping[str, Model] = {}
    fallback: tuple[Model, ...] = ()
    scoped: tuple[str | Model, ...] = ()
    resolve: Resolve = _as_given
    thinking: str | None = None
    retry: RetrySettings = RetrySettings()
    sleep: Sleep = asyncio.sleep
    chance: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        if self.thinking is not None:
            require_level(self.thinking)

    def retries(self) -> Retries:
        """What makes calls of a session again."""
        return Retries(self.retry, self.sleep, self.chance)


def require_level(level: object) -> str:
    """``level``, if it is one of ``LEVELS`` or a number of tokens. Raises InvalidOptions."""
    if isinstance(level, int) and not isinstance(level, bool):
        level = str(level)
    if not isinstance(level, str) or not (level in LEVELS or budget_of(level)):
        advice = f"Use one of {', '.join(LEVELS)}, or a number of tokens above 0."
        raise InvalidOptions(f"thinking={level!r} is no level.", advice=advice)
    return level


class ModelCycle(Struct, frozen=True):
    """The model that a step to the next one led to, and how much it thinks."""

    model: str
    thinking_level: str | None
    is_scoped: bool


class ModelStatus(Struct, frozen=True):
    """Whether a model can be used and paid for: nothing is asked of its server.

    ``review``: it can, but ``problem`` is worth knowing; ``unresolved``: it cannot, and why.
    """

    model: str
    status: Literal["ready", "review", "unresolved"]
    problem: str | None = None


class Models:
    """Chooses the model of one session and how much it thinks; lives on the engine's loop."""

    def __init__(
        self, staff: Staff, writer: Writer, options: ModelOptions, prices: PriceList
    ) -> None:
        self.retries = staff.retries
        self._staff = staff
        self._writer = writer
        self._options = options
        self._prices = prices
        own = staff.crew.own_model
        unnamed = (own, *options.fallback)
        self._named = dict(options.known) or {model.info.label: model for model in unnamed}
        for each in options.scoped:
            if not isinstance(each, str):
                self._named[each.info.label] = each
        self._opened_with = next(iter(self._named))
        staff.crew = replace(
            staff.crew,
            fallback=options.fallback,
            thinking=options.thinking,
            alias=self._opened_with,
        )
        scoped = [each if isinstance(each, str) else each.info.label for each in options.scoped]
        self._scoped = tuple(dict.fromkeys(scoped))
        self._publish_choices()

    # --- which one -----------------------------------------------------------------------------

    @property
    def alias(self) -> str:
        """The name by which the current model was chosen."""
        return self._staff.crew.alias

    @property
    def scoped_models(self) -> tuple[str, ...]:
        """The names of the models that code limits the choice to, in order; none: no limit."""
        return self._scoped

    @property
    def choices(self) -> tuple[str, ...]:
        """The models that ``cycle_model`` goes through."""
        return self._scoped or tuple(self._named)

    async def set_model(self, model: str | Model, *, anew: bool = False) -> None:
        """Make ``model`` that of the next run, and of agents without one of their own.

        ``anew`` makes it of its name also where it is known already, as after a new key.

        Raises SessionError ``assembly_failed`` for what is no model, ``no_credentials`` where its
        key is missing, STORAGE_ERROR; then nothing has changed.
        """
        self._writer.require_open()
        alias, chosen = self._resolved(model, anew=anew)

        def change(crew: Crew) -> Crew:
            return crew.with_model(chosen, alias)

        data = {"model": alias, "label": chosen.info.label, "opened_with": self._opened_with}
        await self._staff.choose("model_change", change, data)
        before = self._named.get(alias)
        if before is not chosen:
            self._named[alias] = chosen
            if before is not None:
                self._staff.retire(before)
            self._publish_choices()
            self._writer.emit(self.changed)

    async def cycle_model(self, direction: Direction = "next") -> ModelCycle | None:
        """Go on to the next or previous of ``choices``; None when there is no other.

        Raises like ``set_model``.
        """
        alias = next_choice(self.choices, self.alias, direction)
        if alias is None:
            return None
        await self.set_model(alias)
        return ModelCycle(alias, self.thinking_level, bool(self._scoped))

    async def list_models(self) -> tuple[str, ...]:
        """The models of the current one's server, as ``set_model`` takes them.

        Those to choose from where the server does not say. Raises ModelError.
        """
        model = self._staff.crew.own_model
        if self._scoped or not isinstance(model, ListsModels):
            return self.choices
        prefix, colon, _ = self.alias.partition(":")
        names = await model.list_models()
        return tuple(f"{prefix}:{name}" if colon else name for name in names)

    def model_status(self, model: str | None = None) -> ModelStatus:
        """How ready ``model`` is (None: the current one); shows no key."""
        alias = self.alias if model is None else model
        try:
            _, chosen = self._resolved(alias)
        except SessionError as error:
            return ModelStatus(alias, "unresolved", f"{error.message} {error.advice or ''}".strip())
        info = chosen.info
        if info.offline:
            return ModelStatus(alias, "review", info.notice or "It is the offline model.")
        now_ms = 0
        if self._prices.currency(info.name, base_url=info.base_url, at_ms=now_ms) is None:
            return ModelStatus(alias, "review", "Its price is not known; pass prices= to tell it.")
        return ModelStatus(alias, "ready")

    def _resolved(self, model: str | Model, *, anew: bool = False) -> tuple[str, Model]:
        """The name and the model that ``model`` stands for."""
        if isinstance(model, str) and model in self._named and not anew:
            return model, self._named[model]
        try:
            chosen = self._options.resolve(model)
        except NoCredentials as error:
            raise SessionError(NO_CREDENTIALS, error.message, advice=error.advice) from error
        except InvalidOptions as error:
            raise SessionError(ASSEMBLY_FAILED, error.message, advice=error.advice) from error
        return (model if isinstance(model, str) else chosen.info.label), chosen

    # --- how much it thinks --------------------------------------------------------------------

    @property
    def thinking_level(self) -> str | None:
        """How much the model thinks; None: as its server likes."""
        return self._staff.crew.thinking

    def available_thinking_levels(self) -> tuple[str, ...]:
        """The levels of the current model; only ``off`` for one that does not reason."""
        return self._staff.crew.current.model.info.thinking_levels or NO_THINKING

    def supports_thinking(self) -> bool:
        """Whether the current model is known to reason."""
        return bool(self._staff.crew.current.model.info.thinking_levels)

    async def set_thinking_level(self, level: str | int) -> bool:
        """Make it think so much from the next run on, or as near to that as it can.

        A number is a budget of tokens.

        False when that could not be stored: then nothing has changed. Raises InvalidOptions for a
        word that is no level.
        """
        self._writer.require_open()
        effective = clamped_level(require_level(level), self.available_thinking_levels())
        if effective == (self.thinking_level or "off") and (
            self.thinking_level is not None or not self.supports_thinking()
        ):
            return True
        data = {"level": effective, "opened_with": self._options.thinking}
        told = ThinkingChanged(level=effective)
        try:
            await self._staff.choose(
                "thinking_level_change", lambda crew: crew.with_thinking(effective), data, told
            )
        except SessionError:
            return False
        return True

    async def cycle_thinking_level(self) -> str | None:
        """The next level of the model; None when it has no other or that could not be stored."""
        level = next_level(self.thinking_level, self.available_thinking_levels())
        if level is None or not self.supports_thinking():
            return None
        return level if await self.set_thinking_level(level) else None

    # --- what is told and kept -----------------------------------------------------------------

    @property
    def changed(self) -> ModelChanged:
        """What tells which model answers, and what there is beside it."""
        return self._staff.crew.model_changed

    def restore(self, journal: Journal) -> TurnError | None:
        """Take up what was chosen when the session was open before; a notice where that is gone."""
        self._staff.restore(journal.crew)
        thinking, chosen = journal.thinking, journal.model
        crew = self._staff.crew
        told = None
        if chosen is not None and chosen["opened_with"] == self._opened_with:
            try:
                alias, model = self._resolved(chosen["model"])
                self._named[alias] = model
                crew = crew.with_model(model, alias)
            except SessionError as error:
                text = f"The model {chosen['label']} of this chat is not there: {error.message}"
                told = notice("model", "model_not_restored", text)
        if thinking is not None and thinking["opened_with"] == self._options.thinking:
            crew = crew.with_thinking(thinking["level"])
        self._staff.crew = crew
        self._publish_choices()
        return told

    def _publish_choices(self) -> None:
        self._staff.crew = self._staff.crew.choosing_from(self.choices)
