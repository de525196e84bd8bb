"""The chat session as data: messages, actions, state and the pure reducer.

Imports nothing but msgspec; see ``reducer.session_reducer``.
"""

from .actions import Action, StreamPart, read_action
from .errors import SessionError, is_cancelled
from .messages import Conversation, Message, ReasoningPart, TextPart, ToolPart
from .reducer import session_reducer
from .resumable import resumable
from .state import ErrorInfo, SessionState, empty_state

__all__ = [
    "Action",
    "Conversation",
    "ErrorInfo",
    "Message",
    "ReasoningPart",
    "SessionError",
    "SessionState",
    "StreamPart",
    "TextPart",
    "ToolPart",
    "empty_state",
    "is_cancelled",
    "read_action",
    "resumable",
    "session_reducer",
]
