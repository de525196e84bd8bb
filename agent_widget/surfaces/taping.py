"""The models of a chat, through its recording where it has one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from ..core.errors import InvalidOptions
from ..engine.models import ModelOptions
from ..engine.recording import Recording, TapedModel, taped
from ..engine.subagents import Agent
from ..providers.base import Model
from ..providers.catalog import OFFLINE, resolve_model

NO_KEY: Final = "no-key-is-needed"
"""Stands in for a key where no request is made: the model only says its name."""


def tape_of_options(model: object, options: Mapping[str, Any]) -> Recording | None:
    """The recording that these options name, or that ``model`` plays. Raises InvalidOptions."""
    record = options.get("record")
    models = [*model] if isinstance(model, list | tuple) else [model]
    played = next((each.tape for each in models if isinstance(each, TapedModel)), None)
    if record is None:
        return played
    if played is not None:
        advice = "Leave out record=, or pass the model itself."
        raise InvalidOptions("A replay cannot be recorded.", advice=advice)
    if isinstance(record, Recording):
        return record
    if isinstance(record, str | os.PathLike):
        return Recording(record)
    advice = "Pass a file, or a Recording(file, mode)."
    raise InvalidOptions(f"record={record!r} is no recording.", advice=advice)


def maker_of(tape: Recording | None) -> Callable[..., Model]:
    """What makes the models of a chat; like ``resolve_model``, through ``tape``."""
    if tape is None:
        return resolve_model

    def make(model: Any = None, *, base_url: str | None = None, api_key: Any = None) -> Model:
        if isinstance(model, TapedModel):
            return model
        if not tape.is_replay:
            return taped(resolve_model(model, base_url=base_url, api_key=api_key), tape)
        if model is None:
            return TapedModel(None, tape)
        if isinstance(model, str) and model.strip() != OFFLINE:  # a recording needs no key
            api_key = api_key or NO_KEY
        return taped(resolve_model(model, base_url=base_url, api_key=api_key), tape)

    return make


def timed(options: ModelOptions, tape: Recording | None) -> ModelOptions:
    """``options``; in a replay waits take no time and chance is no chance."""
    if tape is None or not tape.is_replay:
        return options
    return replace(options, sleep=tape.sleep, chance=lambda: 0.5)


def taped_agents(agents: Sequence[Agent], tape: Recording | None) -> Sequence[Agent]:
    """``agents``, those with a model of their own through ``tape``."""
    if tape is None:
        return agents
    return [
        agent
        if agent.model is None or isinstance(agent.model, str)
        else replace(agent, model=taped(agent.model, tape))
        for agent in agents
    ]
