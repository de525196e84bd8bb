"""From what a user writes as ``model=`` to a model object."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ..core.errors import InvalidOptions, NoCredentials
from ._defaults import OPENAI_URL, URL_VARIABLE
from ._thinking import openai_levels
from .base import Model
from .offline import OfflineModel
from .presets import OPENAI, PRESETS, Preset, Wire

if TYPE_CHECKING:
    from ._secret import ApiKey

DEFAULT_OPENAI_MODEL: Final = "gpt-5-mini"
"""The model behind ``model=None`` when there is a key of OpenAI."""

OFFLINE: Final = "offline"
BRIDGE: Final = "pydantic_ai"
_WIRES: Final[Mapping[str, Wire]] = {
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
}
PROVIDERS: Final = (*PRESETS, *_WIRES)
FORMS: Final = (
    "'openai:NAME', 'openai-chat:NAME', 'openai-responses:NAME', "
    + ", ".join(f"'{name}:NAME'" for name in PRESETS if name != "openai")
    + f", '{BRIDGE}:NAME' or 'offline'"
)


def resolve_model(
    model: object = None,
    *,
    base_url: str | None = None,
    api_key: ApiKey = None,
    environ: Mapping[str, str] | None = None,
) -> Model:
    """The model that ``model`` stands for.

    ``"SERVER:NAME"`` is a model of one of ``PRESETS`` at ``base_url`` (default: the preset's
    variable, else its own address) with ``api_key`` (default: the preset's variable, which then
    goes to that server). ``"openai:"`` speaks the Responses API where the model reasons and is
    OpenAI's own, else Chat Completions; ``"openai-chat:"`` and ``"openai-responses:"`` choose.
    ``"pydantic_ai:NAME"`` is what that library makes of NAME, ``"offline"`` the demo model. None is
    ``DEFAULT_OPENAI_MODEL`` when there is a key and no other server is named, and the demo model
    when there is neither. A ``Model`` is returned as it is. ``environ`` stands in for
    ``os.environ``. Raises InvalidOptions.
    """
    environ = os.environ if environ is None else environ
    given: object = base_url
    if given is not None and not isinstance(given, str):
        advice = "Write it out: 'http://localhost:8000/v1'."
        raise InvalidOptions(f"base_url={given!r} is no text.", advice=advice)
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
    url, key = _server(OPENAI, base_url, environ), _key(OPENAI, api_key, environ)
    if url is not None and url.rstrip("/") != OPENAI_URL:
        source = "base_url" if base_url is not None else URL_VARIABLE
        raise InvalidOptions(
            f"{source} names a server, and model does not say which of its models to use.",
            advice="Pass model='openai-chat:NAME' with a name that the server knows.",
        )
    if key is None:
        return OfflineModel()
    return _named_model(f"openai:{DEFAULT_OPENAI_MODEL}", base_url, api_key, environ)


def _named_model(
    text: str, base_url: str | None, api_key: ApiKey, environ: Mapping[str, str]
) -> Model:
    require_form(text)
    provider, _, name = (part.strip() for part in text.partition(":"))
    if text.strip() == OFFLINE:
        return OfflineModel()
    if provider == BRIDGE:
        return _bridged_model(name, base_url, api_key)
    preset = PRESETS.get(provider, OPENAI)
    wire = _wire(provider, preset, name, _server(preset, base_url, environ))
    return _preset_model(preset, wire, name, base_url, api_key, environ)


def require_form(text: str, given: str = "model={}") -> None:
    """Refuse a name that is none of a model, whatever keys and servers there are.

    ``given`` says where it stands. Raises InvalidOptions.
    """
    provider, colon, name = (part.strip() for part in text.partition(":"))
    is_known = provider == BRIDGE or provider in PROVIDERS
    if text.strip() != OFFLINE and not (colon and is_known and name):
        message = f"{given.format(repr(text))} names no known model."
        raise InvalidOptions(message, advice=f"Write {FORMS}.{_suggestion(text)}")


def _bridged_model(name: str, base_url: str | None, api_key: ApiKey) -> Model:
    if base_url is not None or api_key is not None:
        raise InvalidOptions(
            f"base_url and api_key cannot be passed on to {BRIDGE}:{name}.",
            advice="Make the model with pydantic_ai and pass PydanticAIModel(model).",
        )
    from .pydantic_ai_bridge import PydanticAIModel

    return PydanticAIModel(name)


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


def _preset_model(
    preset: Preset,
    wire: Wire,
    name: str,
    base_url: str | None,
    api_key: ApiKey,
    environ: Mapping[str, str],
) -> Model:
    """Imports only the wire that is spoken: httpx is slow to import."""
    url, key = _server(preset, base_url, environ), _key(preset, api_key, environ)
    if url is None and preset.base_url is None:
        raise InvalidOptions(
            f"model '{preset.name}:{name}' needs the address of your server.",
            advice=f"Set {preset.url_variable} or pass base_url=.",
        )
    if key is None and url is None and preset.key_variables:
        raise NoCredentials(
            f"model '{preset.name}:{name}' needs a key and none was given.",
            advice=f"Set {preset.key_variables[0]}, pass api_key=, pass the base_url= of a server "
            "that needs none, or use model='offline'.",
        )
    if wire == "anthropic":
        from .anthropic_messages import AnthropicMessages

        return AnthropicMessages(name, base_url=url, api_key=key, preset=preset)
    if wire == "openai-responses":
        from .openai_responses import OpenAIResponses

        return OpenAIResponses(name, base_url=url, api_key=key, preset=preset)
    from .openai_chat import OpenAIChat

    return OpenAIChat(name, base_url=url, api_key=key, preset=preset)


def _wire(provider: str, preset: Preset, name: str, url: str | None) -> Wire:
    """The wire that ``provider`` names; OpenAI's own reasoning models need the Responses API to
    keep what they thought, other servers seldom have it.
    """
    if provider in _WIRES:
        return _WIRES[provider]
    is_own = url is None or url.rstrip("/") == OPENAI_URL
    if preset is OPENAI and is_own and openai_levels(name):
        return "openai-responses"
    return preset.wire


def _server(preset: Preset, base_url: str | None, environ: Mapping[str, str]) -> str | None:
    """The address of a server other than the preset's own, if one is named."""
    if base_url is not None or preset.url_variable is None:
        return base_url
    url = environ.get(preset.url_variable, "").strip().rstrip("/")
    return _as_its_vendor_means(preset.name, url) if url else None


def _as_its_vendor_means(name: str, url: str) -> str:
    """The address of the API where a variable that the vendor's programs read says ``url``."""
    match name:
        case "azure" if "/openai" not in url:
            return f"{url}/openai/v1"
        case "anthropic" if not url.endswith("/v1"):
            return f"{url}/v1"
        case "ollama" if "://" not in url:  # where it listens
            host, _, port = url.partition(":")
            host = "localhost" if host == "0.0.0.0" else host  # noqa: S104 - it is not bound
            return f"http://{host}:{port or 11434}/v1"
        case _:
            return url


def _key(preset: Preset, api_key: ApiKey, environ: Mapping[str, str]) -> ApiKey:
    values = (environ.get(name, "").strip() for name in preset.key_variables)
    return api_key or next((value for value in values if value), None)
