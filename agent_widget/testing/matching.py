"""When a result is what a test vector expects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

OPTIONAL_TOOL_KEYS: Final = ("prompt", "error")
"""Keys of a tool part that are compared only when the vector lists them."""


def differences(expected: Any, actual: Any, path: str = "state") -> list[str]:
    """Where ``actual`` leaves ``expected``, by the matching rules of the vector format."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return _object_differences(expected, actual, path)
    if _is_list(expected) and _is_list(actual):
        if len(expected) != len(actual):
            return [f"{path} has {len(actual)} items, expected {len(expected)}"]
        found: list[str] = []
        for i, (want, got) in enumerate(zip(expected, actual, strict=True)):
            found += differences(want, got, f"{path}[{i}]")
        return found
    return [] if _same_value(expected, actual) else [f"{path} is {actual!r}, expected {expected!r}"]


def _object_differences(
    expected: Mapping[str, Any], actual: Mapping[str, Any], path: str
) -> list[str]:
    is_tool = expected.get("type") == "tool"
    found: list[str] = []
    for key, want in expected.items():
        where = f"{path}.{key}"
        if is_tool and key in OPTIONAL_TOOL_KEYS and want is None:
            if actual.get(key) is not None:
                found.append(f"{where} is {actual[key]!r}, expected none")
        elif is_tool and key == "agent":
            nested = actual.get("agent") or {}
            found += differences(want["messages"], nested.get("messages"), f"{where}.messages")
        elif key not in actual:
            found.append(f"{where} is missing, expected {want!r}")
        else:
            found += differences(want, actual[key], where)
    for key in actual.keys() - expected.keys():
        if not (is_tool and key in OPTIONAL_TOOL_KEYS):
            found.append(f"{path}.{key} is {actual[key]!r}, expected absent")
    return found


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _same_value(expected: Any, actual: Any) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, float | int) and isinstance(actual, float | int):
        return math.isclose(expected, actual, rel_tol=1e-9)
    return type(expected) is type(actual) and bool(expected == actual)
