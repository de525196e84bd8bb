"""Teaching with agents: chats of a class with caps, a log of them, an exercise that is graded."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .classlog import ClassLog
    from .classroom import ClassChat, ClassRoom
    from .grading import Grade, grade

_HOMES: Final = {
    "ClassChat": ".classroom",
    "ClassLog": ".classlog",
    "ClassRoom": ".classroom",
    "Grade": ".grading",
    "grade": ".grading",
}

__all__ = ["ClassChat", "ClassLog", "ClassRoom", "Grade", "grade"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home, __name__), name)
