"""Recordings of sessions: what a model was asked and answered, what tools gave, who decided what.

``format.md`` next to this file says what is in one. ``Recording`` is what a session writes to or
plays from, ``replay`` a model that is one.
"""

from __future__ import annotations

from .model import TapedModel, replay, taped
from .tape import Recording, ReplayMismatch

__all__ = ["Recording", "ReplayMismatch", "TapedModel", "replay", "taped"]
