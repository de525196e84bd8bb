"""What a page asks about models: choose one, let it think, list them, take a key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from ..core.errors import InvalidOptions, SessionError
from ..engine.session import Session
from ..providers._secret import checked_key
from ..providers.keys import Secret, TypedKeys
from .modelchoice import keyed, provider_of

Content = Mapping[str, Any]
Command = Callable[[Content], Awaitable[dict[str, Any] | None]]

MAX_LISTED: Final = 500
"""How many names of models a page gets."""


def without_key(content: Content) -> Content:
    """``content`` with a typed key in a place where nothing shows it, not even a traceback."""
    key = content.get("key")
    return {**content, "key": Secret(key)} if isinstance(key, str) else content


def model_commands(session: Session, keys: TypedKeys) -> dict[str, Command]:
    """The commands of a page, by name; ``keys`` is where a typed one goes."""
    models = session.models

    async def set_model(content: Content) -> None:
        await models.set_model(str(content.get("model")))

    async def set_thinking(content: Content) -> None:
        try:
            stored = await models.set_thinking_level(str(content.get("level")))
        except InvalidOptions as error:
            raise SessionError("INVALID_INPUT", error.message) from None
        if not stored:
            raise SessionError("STORAGE_ERROR", "The level could not be stored.")

    async def list_models(_content: Content) -> dict[str, Any]:
        return {"models": [*await models.list_models()][:MAX_LISTED]}

    async def set_key(content: Content) -> None:
        key = content.get("key")
        alias = keyed(str(content.get("model") or models.alias))
        if not isinstance(key, Secret):
            raise SessionError("INVALID_INPUT", "There is no key.")
        keys.put(provider_of(alias), _checked(key))
        await models.set_model(alias, anew=True)

    return {
        "set_model": set_model,
        "set_thinking": set_thinking,
        "list_models": list_models,
        "set_key": set_key,
    }


def _checked(key: Secret) -> Secret:
    """``key`` without the space around it. Raises INVALID_INPUT, which does not show it."""
    try:
        checked = checked_key(key.reveal())
    except InvalidOptions as error:
        raise SessionError("INVALID_INPUT", error.message, advice=error.advice) from None
    if checked is None:
        raise SessionError("INVALID_INPUT", "The key is empty.")
    return Secret(checked)
