"""Calls that a model's server has run itself: shown and stored like any other, never run here."""

from __future__ import annotations

from ..core.events import ToolCompleted, ToolProposed
from ..providers.base import ServerCall
from .ports import Ports
from .toolrun import ProposedCall


def served_call(ports: Ports, message_id: str, call: ServerCall) -> ProposedCall:
    """The call as an answer holds it."""
    call_id = ports.unique_call_id(call.id)
    event = ToolProposed(
        message_id=message_id, tool_call_id=call_id, name=call.name, args=call.args
    )
    return ProposedCall(call_id=call_id, name=call.name, args={}, event=event)


async def store_served(ports: Ports, call: ProposedCall, served: ServerCall) -> None:
    """Store what the server said of its call, then show it."""
    is_error = bool(served.output.get("isError"))
    event = ToolCompleted(
        tool_call_id=call.call_id, output=served.output, is_error=is_error, duration_ms=0
    )
    data = {"tool_call_id": call.call_id, "output": served.output, "is_error": is_error}
    await ports.commit("message", {"role": "tool_result", **data, "duration_ms": None}, event)
