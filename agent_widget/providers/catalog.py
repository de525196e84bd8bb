"""From what a user writes as ``model=`` to a model object."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ..core.errors import InvalidOptions
from ._defaults import KEY_VARIABLE, OPENAI_URL, URL_VARIABLE
from .base import Model
from .offline import OfflineModel

if TYPE_CHECKING:
    from ._secret import ApiKey

DEFAULT_OPENAI_MODEL: Final = "gpt-5-mini"
"""The model behind ``model=None`` when there is a key of OpenAI."""

PROVIDERS: Final = ("openai", "openai-chat")
OFFLINE: Final = "offline"
FORMS: Final = "'openai:NAME', 'openai-chat:NAME' or 'offline'"


def resolve_model(
    model: object = None,
    *,
    base_url: str | None = None,
    api_key: ApiKey = None,
    environ: Mapping[str, str] | None = None,
) -> Model:
    """The model that ``model`` stands for.

    ``"openai:NAME"`` and ``"openai-chat:NAME"`` are Chat Completions at ``base_url`` (default: the
    variable OPENAI_BASE_URL, else OpenAI) with ``api_key`` (default: the variable OPENAI_API_KEY,
    which then goes to that server); ``"offline"`` is the demo model. None is
    ``DEFAULT_OPENAI_MODEL`` when there is a key and no other server is named, and the demo model
    when there is neither. A ``Model`` is returned as it is. ``environ`` stands in for
    ``os.environ``. Raises InvalidOptions.
    """
    environ = os.environ if environ is None else environ
    if model is None:
        return _default_model(base_url, api_key, environ)
    if isinstance(model, str):
        return _named_model(model, base_url, api_key, environ)
    if isinstance(model, type) or not isinstance(model, Model):
        kind = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise InvalidOptions(
            f"model is {kind}, which is not a model.",
            advice=f"Pass {FORMS}, or an object with info, stream and aclose.",
        )
    if base_url is not None or api_key is not None:
        raise InvalidOptions(
            "base_url and api_key belong to a model given by name, and model is an object.",
            advice=f"Pass them to {type(model).__name__} instead.",
        )
    return model


def _default_model(base_url: str | None, api_key: ApiKey, environ: Mapping[str, str]) -> Model:
    url, key = _server(base_url, environ), _key(api_key, environ)
    if url is not None and url.rstrip("/") != OPENAI_URL:
        source = "base_url" if base_url is not None else URL_VARIABLE
        raise InvalidOptions(
            f"{source} names a server, and model does not say which of its models to use.",
            advice="Pass model='openai-chat:NAME' with a name that the server knows.",
        )
    if key is None:
        return OfflineModel()
    return _openai_model(DEFAULT_OPENAI_MODEL, base_url, api_key, environ)


def _named_model(
    text: str, base_url: str | None, api_key: ApiKey, environ: Mapping[str, str]
) -> Model:
    provider, colon, name = (part.strip() for part in text.partition(":"))
    if text.strip() == OFFLINE:
        return OfflineModel()
    if colon and provider in PROVIDERS and name:
        return _openai_model(name, base_url, api_key, environ)
    raise InvalidOptions(
        f"model={text!r} names no known model.", advice=f"Write {FORMS}.{_suggestion(text)}"
    )


def _suggestion(text: str) -> str:
    provider, colon, name = (part.strip() for part in text.partition(":"))
    close = difflib.get_close_matches(provider.lower(), (*PROVIDERS, OFFLINE), n=1, cutoff=0.7)
    if close:
        meant = close[0] if close[0] == OFFLINE else f"{close[0]}:{name or 'NAME'}"
    elif provider and not colon:
        meant = f"openai:{provider}"
    else:
        return ""
    return f" Did you mean {meant!r}?"


def _openai_model(
    name: str, base_url: str | None, api_key: ApiKey, environ: Mapping[str, str]
) -> Model:
    from .openai_chat import OpenAIChat  # httpx is slow to import

    url, key = _server(base_url, environ), _key(api_key, environ)
    if key is None and url is None:
        raise InvalidOptions(
            f"model 'openai:{name}' needs a key and none was given.",
            advice=f"Set {KEY_VARIABLE}, pass api_key=, pass the base_url= of a server that needs "
            "none, or use model='offline'.",
        )
    return OpenAIChat(name, base_url=OPENAI_URL if url is None else url, api_key=key)


def _server(base_url: str | None, environ: Mapping[str, str]) -> str | None:
    return (environ.get(URL_VARIABLE, "").strip() or None) if base_url is None else base_url


def _key(api_key: ApiKey, environ: Mapping[str, str]) -> ApiKey:
    return api_key or environ.get(KEY_VARIABLE, "").strip() or None
