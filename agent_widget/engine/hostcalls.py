"""Functions of the host that decide something, sync or async: they never hold the loop up."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

from ..tools.worker import Body


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
