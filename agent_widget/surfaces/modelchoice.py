"""The models that a chat's options name: its own, those that take over, those to choose from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidOptions, SessionError
from ..engine.models import ModelOptions, require_level
from ..engine.subagents import Agent
from ..policy.retry import RetrySettings
from ..providers.base import Model
from ..providers.catalog import DEFAULT_OPENAI_MODEL, OFFLINE, require_form, resolve_model
from ..providers.keys import TypedKeys

GivenModel: TypeAlias = str | Model
GivenModels: TypeAlias = GivenModel | Iterable[GivenModel] | None
DEFAULT_PROVIDER: Final = "openai"
Check: TypeAlias = Callable[[Model], None]
"""Raises InvalidOptions for a model that the budget could not limit."""


class FixedModels(Struct, frozen=True):
    """In the place of ``models``: all that a chat may take, each with what makes it (or None).

    ``refused`` is the error for any other.
    """

    makers: Mapping[str, Callable[[], Model] | None]
    refused: Callable[[object], SessionError]

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def require(self, wanted: object) -> None:
        if not isinstance(wanted, str) or wanted not in self.makers:
            raise self.refused(wanted)


class ModelChoice(Struct, frozen=True):
    """The session's own model, and what it knows of others."""

    model: Model
    options: ModelOptions

    def equipped(self, agent: Agent, check: Check) -> Agent:
        """``agent`` with a model where it names one. Raises InvalidOptions for what is none."""
        if isinstance(agent.model, str):
            return replace(agent, model=self.options.resolve(agent.model))
        if agent.model is not None:
            check(agent.model)
        return agent


def model_choice(
    model: GivenModels,
    options: Mapping[str, Any],
    keys: TypedKeys,
    check: Check,
    make: Callable[..., Model] = resolve_model,
) -> ModelChoice:
    """What ``model`` and the options ``fallback``, ``models``, ``thinking``, ``auto_retry`` name.

    A list in the place of one model is that model and its fallback. ``base_url`` and ``api_key``
    are for the first one's server alone. Keys that a person typed come before all others. ``make``
    makes a model of its name. Raises InvalidOptions.
    """
    base_url, api_key = options.get("base_url"), options.get("api_key")
    offered = options.get("models", ())
    fixed = offered if isinstance(offered, FixedModels) else None
    first, *rest = _listed(model)
    home = provider_of(first) if isinstance(first, str) else DEFAULT_PROVIDER

    def made(wanted: GivenModel | None, **server: Any) -> Model:
        maker = fixed.makers.get(wanted) if fixed and isinstance(wanted, str) else None
        made = make(wanted if maker is None else maker(), **server)
        check(made)
        return made

    def resolve(wanted: GivenModel) -> Model:
        if not isinstance(wanted, str) or (fixed and fixed.makers.get(wanted)):
            return made(wanted)
        provider = provider_of(wanted)
        # What was given for one server is not for another: its own variables say the rest.
        url, key = (base_url, api_key) if provider == home else (None, None)
        return made(wanted, base_url=url, api_key=keys.getter(provider) or key)

    def chosen(wanted: GivenModel) -> Model:
        if fixed is not None:
            fixed.require(wanted)
        return resolve(wanted)

    own = made(first, base_url=base_url, api_key=api_key)
    others = [*rest, *_each("fallback", options.get("fallback", ()))]
    fallback = [resolve(each) for each in others if each is not None]
    known = {
        _name(first, own): own,
        **dict(zip(map(_name, others, fallback), fallback, strict=True)),
    }
    scoped = _each("models", offered)
    for each in scoped:  # a key may be typed later, a name that is none stays none
        is_made = each in known or (fixed is not None and fixed.makers[str(each)] is not None)
        if isinstance(each, str) and not is_made:
            require_form(each, "models holds {}, which")
    return ModelChoice(
        own,
        ModelOptions(
            known=known,
            fallback=tuple(fallback),
            scoped=tuple(scoped),
            resolve=chosen,
            thinking=_level(options.get("thinking")),
            retry=RetrySettings(enabled=options.get("auto_retry", True)),
        ),
    )


def _level(thinking: object) -> str | None:
    return None if thinking is None else require_level(thinking)


def provider_of(alias: str) -> str:
    """Whose server a model's name begins with, whatever wire is spoken to it."""
    provider, colon, _ = alias.partition(":")
    is_default = not colon or provider.strip().startswith(f"{DEFAULT_PROVIDER}-")
    return DEFAULT_PROVIDER if is_default else provider.strip()


def keyed(alias: str) -> str:
    """The model that a typed key is for when ``alias`` is the current one.

    The offline model needs none: a key is meant for the model one would have with it.
    """
    return f"openai:{DEFAULT_OPENAI_MODEL}" if alias == OFFLINE else alias


def _name(given: GivenModel | None, model: Model) -> str:
    """The name by which ``model`` is chosen again."""
    if isinstance(given, str):
        return given
    if given is not None:
        return model.info.label
    return OFFLINE if model.info.offline else f"openai:{model.info.name}"


def _listed(model: GivenModels) -> list[GivenModel | None]:
    if model is None or isinstance(model, str | Model) or not isinstance(model, Iterable):
        return [model]  # what is no model is refused when it is used
    models: list[GivenModel | None] = [*_each("model", model)]
    if not models:
        raise InvalidOptions("model=[] names no model.", advice="Leave it out for the usual one.")
    return models


def _each(name: str, given: object) -> list[GivenModel]:
    if isinstance(given, str | Model) or not isinstance(given, Iterable):
        raise InvalidOptions(f"{name} must be a list of models, not {given!r}.")
    models: list[GivenModel] = []
    for each in given:
        if not isinstance(each, str | Model):
            raise InvalidOptions(f"{name} holds {each!r}, which is no model.")
        models.append(each)
    return models
