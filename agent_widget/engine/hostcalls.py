"""Functions of the host that decide or describe: what is wrong with them harms nothing else."""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.errors import InvalidArgs
from ..tools.base import CallText, Tool
from ..tools.worker import Body

_log: Final = logging.getLogger(__name__)


async def host_answer(name: str, function: Callable[..., Any], argument: object) -> object:
    """What ``function(argument)`` returns, awaited where it has to be.

    A plain function runs in a daemon thread called ``name``, which a Stop leaves behind and which
    keeps no program from ending. Raises what the function raises; RuntimeError for an exit.
    """
    if inspect.iscoroutinefunction(function):
        value: object = await function(argument)
        return value
    outcome = await Body(name, threading.Event()).in_thread(lambda: function(argument))
    if outcome.error is not None:
        if isinstance(outcome.error, Exception):
            raise outcome.error
        raise RuntimeError(repr(outcome.error)) from outcome.error
    return await outcome.value if inspect.isawaitable(outcome.value) else outcome.value


def described(tool: Tool, args: Mapping[str, Any]) -> CallText:
    """What ``tool`` says of a call; where it fails to, the arguments as JSON, which is all of it.

    Raises InvalidArgs where the tool does.
    """
    try:
        text: object = tool.describe(args)
        if isinstance(text, CallText):
            return text
        _log.warning("describe of the tool %s returned %r, expected a CallText", tool.name, text)
    except InvalidArgs:
        raise
    except Exception:  # noqa: BLE001  # how a call is worded must not end the run
        _log.warning("describe of the tool %s failed", tool.name, exc_info=True)
    from ..tools.schema import arguments_text

    return CallText(arguments_text(args), "json")
