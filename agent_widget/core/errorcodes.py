"""What the codes of ``SessionError`` mean, for programs that branch on them.

Codes in capitals answer commands; ``chat_disabled`` to ``network`` are those of model servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CODES: Final[Mapping[str, str]] = {
    "INPUT_BLOCKED": "A run is under way, or was told to stop, and no message is taken meanwhile.",
    "INVALID_ARGS": "What a person edited or filled in does not fit the schema.",
    "INVALID_INPUT": "A command says something that cannot be carried out; its message names it.",
    "INVALID_RULE": "A permission rule cannot be added: it cannot be read, or was not on offer.",
    "QUESTION_CLOSED": "The question is no longer open.",
    "QUESTION_TOO_EARLY": "The question was answered before anybody could have read it.",
    "SESSION_BUSY": "A run or a summary is under way, and this needs the session at rest.",
    "SESSION_NOT_RUNNING": "Nothing runs that could be stopped.",
    "STORAGE_ERROR": "The store did not take a record; nothing has changed.",
    "assembly_failed": "A model or an option could not be set up; nothing has changed.",
    "bad_request": "The model's server refused the request as wrong, or its answer was of no use.",
    "bash.execution": "A person's command failed or was killed; its result is there.",
    "budget_exceeded": "The budget lets no further model call through; the session is open.",
    "cancelled": "A person ended the call.",
    "chat_disabled": "The model's server refuses this key or this service.",
    "checkpoint_not_found": "There is no checkpoint of that id.",
    "class_fixed": "The teacher of the class has fixed this.",
    "compaction.already_compacted": "Nothing was said since the last summary.",
    "compaction.cancelled": "The summary was ended by a person or a hook; nothing has changed.",
    "compaction.nothing_to_compact": "There is too little that a summary could stand for.",
    "compaction.summarization_failed": "The model gave no summary; nothing has changed.",
    "exception": "A tool failed in a way that has no code of its own.",
    "extension.resource_discover": "What extensions have could not be looked for.",
    "hook_blocked": "A guard objects, or failed.",
    "internal": "A bug of this package ended the run; the session is open.",
    "invalid_args": "The model's arguments do not fit the tool's schema.",
    "invalid_command": "A command that was typed lacks arguments, or has too many.",
    "invalid_event": "An event in wire form cannot be read.",
    "invalid_options": "An option, a model or a tool cannot work; raised before anything is done.",
    "invalid_result": "A tool returned what is not JSON data.",
    "malformed_input_metadata": "Nobody can say whether stored input was used.",
    "mcp_failed": "An MCP server did not give a prompt or a resource.",
    "network": "The model's server did not answer, or failed.",
    "no_credentials": "The key of a model is missing.",
    "operation_failed": "An operation beside the chat failed: an embedding, a picture, speech.",
    "prompt.message": "Code prompts while a run is under way and does not say what shall happen.",
    "query_not_ended": "The result of a query that was left early is asked for.",
    "rate_limited": "The model's server takes no more requests for now.",
    "recording_failed": "A recording cannot be written; what was said and done stays.",
    "replay_mismatch": "A replay did not go as it was recorded.",
    "session_closed": "The session was closed.",
    "session_in_use": "Another process has the session.",
    "session_not_found": "There is no session of that id in the store.",
    "session_store_corrupted": "What is stored cannot be read here; it was left as it is.",
    "settings_not_written": "The user's settings could not be changed; nothing has changed.",
    "timeout": "A call took longer than it may.",
    "tree.not_found": "There is no such entry or message in the session.",
    "unknown_command": "No prompt or server has the command that was typed.",
    "unknown_variable": "The notebook has no variable of that name.",
    "unsaved": "The session cannot be taken over: something of this view was never stored.",
    "wait_refused": "Waiting here would never end.",
    "wrong_thread": "A blocking method was called on the engine's own thread.",
}
"""Each code, in a sentence. A code keeps its meaning from version to version."""
