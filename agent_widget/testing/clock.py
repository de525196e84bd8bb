"""Time that a test owns."""

from __future__ import annotations


class FakeClock:
    """Seconds since the epoch that pass only when a test says so.

    The clock itself is what stores take (``JsonlStore(folder, clock=clock)``), ``clock.ms`` what
    sessions do (``create_session(model, clock_ms=clock.ms)``).
    """

    def __init__(self, now_s: float = 1_700_000_000.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s

    def ms(self) -> int:
        """Milliseconds since the epoch, as an integer."""
        return round(self.now_s * 1_000)

    def advance(self, seconds: float) -> None:
        self.now_s += seconds
