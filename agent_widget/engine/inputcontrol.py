"""The tool with which an agent changes whether messages are taken while it works.

Source: session steering document, "Agent management tool".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core.errors import SessionError, ToolFailure
from ..policy.input import (
    TOOL_DESCRIPTION,
    TOOL_NAME,
    TOOL_PARAMETERS,
    change_refusal,
    requested_change,
)
from ..tools.base import CallText, Kind, TextBlock, ToolContext, ToolOutput
from .inputs import Inputs


class InputControl:
    """Bound to one session and to the agent that has it; names neither in its arguments.

    ``active_agent`` says whose session it is at the moment: only that agent may change it.
    """

    name = TOOL_NAME
    description = TOOL_DESCRIPTION
    parameters: Mapping[str, Any] = TOOL_PARAMETERS
    read_only = True  # it changes what the agent is told, nothing of the user's
    kind: Kind = "read"

    def __init__(self, inputs: Inputs, owner: str, active_agent: Callable[[], str]) -> None:
        self._inputs = inputs
        self._owner = owner
        self._active_agent = active_agent

    def validate(self, args: object) -> Mapping[str, Any]:
        """Raises InvalidArgs; arguments it does not know are left out."""
        change = requested_change(args)
        return {"mode": change.while_running or "inherit", "scope": change.scope}

    def describe(self, args: Mapping[str, Any]) -> CallText:
        return CallText(f"{args['mode']} for this {args['scope']}")

    async def execute(self, args: Mapping[str, Any], _context: ToolContext) -> ToolOutput:
        """Stored before it succeeds. Raises ToolFailure; then nothing has changed."""
        change = requested_change(args)
        refusal = change_refusal(
            change,
            self._inputs.standing,
            has_input_control=True,
            caller_agent=self._owner,
            owner_agent=self._active_agent(),
        )
        if refusal is not None:
            raise ToolFailure(refusal)
        try:
            await self._inputs.set_policy(change)
        except SessionError as error:
            raise ToolFailure(error.message) from error
        return ToolOutput((TextBlock(f"Messages while running: {self._inputs.policy.mode}."),))
