"""Whether what was given can be called as it will be."""

from __future__ import annotations

import inspect

from ..core.errors import InvalidOptions


def require_takes(what: str, function: object, *parameters: str) -> None:
    """Refuse what no call with these positional arguments reaches. Raises InvalidOptions.

    What does not say what it takes is believed.
    """
    form = f"def {what.rpartition(' ')[2]}({', '.join(parameters)})"
    if not callable(function):
        advice = f"Pass a function: {form}."
        raise InvalidOptions(f"{function!r} cannot be called, as {what} is.", advice=advice)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*parameters)
    except TypeError as error:
        advice = f"Pass a function like {form}."
        raise InvalidOptions(f"{function!r} cannot be {what}: {error}.", advice=advice) from None
