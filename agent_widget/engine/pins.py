"""Which definition of a tool was meant when it was allowed by a rule.

Tools of this package and of code are what they are. What a server offers can become another thing
under the same name: then what was allowed is not allowed any more.
"""

from __future__ import annotations

from typing import Final, Protocol

from ..tools.base import Tool

CHANGED: Final = "Its definition is not the one that was allowed: its server has changed it."


class KeptPins(Protocol):
    """Where fingerprints of tools are kept that were allowed for longer than a session."""

    def pinned(self, tool: str) -> str | None: ...
    def pin(self, tool: str, fingerprint: str) -> None: ...


class Pins:
    """The fingerprint that is meant for each name: the one confirmed, else the first one seen."""

    def __init__(self, kept: KeptPins | None = None) -> None:
        self._kept = kept
        self._meant: dict[str, str] = {}

    def is_changed(self, tool: Tool) -> bool:
        fingerprint = _fingerprint(tool)
        if fingerprint is None:
            return False
        known = self._meant.get(tool.name)
        if known is None:
            kept = None if self._kept is None else self._kept.pinned(tool.name)
            known = self._meant[tool.name] = kept or fingerprint
        return known != fingerprint

    def confirm(self, tool: Tool, *, keep: bool) -> None:
        """A person allowed the tool as it is now; ``keep`` beyond this session.

        Raises OSError when that cannot be written.
        """
        fingerprint = _fingerprint(tool)
        if fingerprint is None:
            return
        self._meant[tool.name] = fingerprint
        if keep and self._kept is not None:
            self._kept.pin(tool.name, fingerprint)


def _fingerprint(tool: Tool) -> str | None:
    return getattr(tool, "fingerprint", None)
