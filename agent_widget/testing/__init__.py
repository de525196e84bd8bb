"""Help for tests of what uses a session: doubles, sessions, assertions, scenarios, fleets.

Public names are loaded on first use: a plugin of pytest must not slow down other people's tests.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..core.ids import SequentialIds
    from .assertions import assert_asked, assert_final_text, assert_tools_called
    from .clock import FakeClock
    from .doubles import (
        Gate,
        ScriptedModel,
        Signal,
        call,
        end,
        fault,
        pause,
        reasoning,
        text,
    )
    from .fleet import FleetResult, run_scenarios
    from .network import NetworkUsed, network_blocked
    from .scenario import Expect, Scenario, Turn
    from .scenario_run import ScenarioResult, run_scenario
    from .session import AgentSession
    from .store_conformance import StoreConformance
    from .transcripts import transcript

_HOMES: Final = {
    "AgentSession": ".session",
    "Expect": ".scenario",
    "FakeClock": ".clock",
    "FleetResult": ".fleet",
    "Gate": ".doubles",
    "NetworkUsed": ".network",
    "Scenario": ".scenario",
    "ScenarioResult": ".scenario_run",
    "ScriptedModel": ".doubles",
    "SequentialIds": "..core.ids",
    "Signal": ".doubles",
    "StoreConformance": ".store_conformance",
    "Turn": ".scenario",
    "assert_asked": ".assertions",
    "assert_final_text": ".assertions",
    "assert_tools_called": ".assertions",
    "call": ".doubles",
    "end": ".doubles",
    "fault": ".doubles",
    "network_blocked": ".network",
    "pause": ".doubles",
    "reasoning": ".doubles",
    "run_scenario": ".scenario_run",
    "run_scenarios": ".fleet",
    "text": ".doubles",
    "transcript": ".transcripts",
}

__all__ = [
    "AgentSession",
    "Expect",
    "FakeClock",
    "FleetResult",
    "Gate",
    "NetworkUsed",
    "Scenario",
    "ScenarioResult",
    "ScriptedModel",
    "SequentialIds",
    "Signal",
    "StoreConformance",
    "Turn",
    "assert_asked",
    "assert_final_text",
    "assert_tools_called",
    "call",
    "end",
    "fault",
    "network_blocked",
    "pause",
    "reasoning",
    "run_scenario",
    "run_scenarios",
    "text",
    "transcript",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home, __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
