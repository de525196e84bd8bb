"""Talk to an agent next to your data.

    from agent_widget import AgentWidget
    AgentWidget()

Public names are loaded on first use, so that ``agent_widget.core`` needs neither a widget nor a
network library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .core import (
        SessionError,
        SessionState,
        empty_state,
        is_cancelled,
        resumable,
        session_reducer,
    )
    from .core.bashevents import CommandResult
    from .engine.commands import CommandFailed
    from .engine.permissions import Judgement
    from .engine.recording import Recording, ReplayMismatch, replay
    from .engine.run import RunResult
    from .engine.subagents import Agent
    from .policy.budget import Budget
    from .policy.compaction import Compaction
    from .policy.hooks import python_hook
    from .policy.permission import Decision, Question
    from .policy.prompt import ApplicationPrompt
    from .providers.anthropic_messages import AnthropicMessages
    from .providers.keys import keyring_key
    from .providers.offline import OfflineModel
    from .providers.openai_chat import OpenAIChat
    from .providers.openai_responses import OpenAIResponses
    from .providers.operations import OperationError, Operations
    from .providers.prices import TokenPrices
    from .providers.pydantic_ai_bridge import PydanticAIModel
    from .surfaces.explorer import SessionExplorer
    from .surfaces.run import Run
    from .surfaces.sdk import ChatSession, create_session, open_or_resume, query, run_agent
    from .surfaces.widget import AgentWidget
    from .tools.base import Handoff, ToolContext, ToolOutput
    from .tools.fetch import fetch_tool
    from .tools.function import tool

__version__: Final = "0.1.0"

_HOMES: Final = {
    "Agent": ".engine.subagents",
    "AgentWidget": ".surfaces.widget",
    "AnthropicMessages": ".providers.anthropic_messages",
    "ApplicationPrompt": ".policy.prompt",
    "Budget": ".policy.budget",
    "CommandFailed": ".engine.commands",
    "CommandResult": ".core.bashevents",
    "Compaction": ".policy.compaction",
    "ChatSession": ".surfaces.sdk",
    "Decision": ".policy.permission",
    "Handoff": ".tools.base",
    "Judgement": ".engine.permissions",
    "OfflineModel": ".providers.offline",
    "OpenAIChat": ".providers.openai_chat",
    "OpenAIResponses": ".providers.openai_responses",
    "OperationError": ".providers.operations",
    "Operations": ".providers.operations",
    "PydanticAIModel": ".providers.pydantic_ai_bridge",
    "Question": ".policy.permission",
    "Recording": ".engine.recording",
    "ReplayMismatch": ".engine.recording",
    "Run": ".surfaces.run",
    "RunResult": ".engine.run",
    "SessionError": ".core",
    "SessionExplorer": ".surfaces.explorer",
    "SessionState": ".core",
    "TokenPrices": ".providers.prices",
    "ToolContext": ".tools.base",
    "ToolOutput": ".tools.base",
    "create_session": ".surfaces.sdk",
    "empty_state": ".core",
    "fetch_tool": ".tools.fetch",
    "is_cancelled": ".core",
    "keyring_key": ".providers.keys",
    "python_hook": ".policy.hooks",
    "open_or_resume": ".surfaces.sdk",
    "query": ".surfaces.sdk",
    "replay": ".engine.recording",
    "resumable": ".core",
    "run_agent": ".surfaces.sdk",
    "session_reducer": ".core",
    "tool": ".tools.function",
}

__all__ = [
    "Agent",
    "AgentWidget",
    "AnthropicMessages",
    "ApplicationPrompt",
    "Budget",
    "ChatSession",
    "CommandFailed",
    "CommandResult",
    "Compaction",
    "Decision",
    "Handoff",
    "Judgement",
    "OfflineModel",
    "OpenAIChat",
    "OpenAIResponses",
    "OperationError",
    "Operations",
    "PydanticAIModel",
    "Question",
    "Recording",
    "ReplayMismatch",
    "Run",
    "RunResult",
    "SessionError",
    "SessionExplorer",
    "SessionState",
    "TokenPrices",
    "ToolContext",
    "ToolOutput",
    "create_session",
    "empty_state",
    "fetch_tool",
    "is_cancelled",
    "keyring_key",
    "open_or_resume",
    "python_hook",
    "query",
    "replay",
    "resumable",
    "run_agent",
    "session_reducer",
    "tool",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
