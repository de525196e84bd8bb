"""How servers say that a prompt does not fit into the context window of their model."""

from __future__ import annotations

import re
from typing import Final

_OTHER_STATUSES: Final = frozenset({401, 403, 404, 408, 409, 429})
"""What these say of tokens is said of rates and rights."""
_CODES: Final = re.compile(
    r"context_length_exceeded|exceed_context_size|context_window_exceeded|context_too_long"
    r"|string_above_max_length"
)
_WORDS: Final = re.compile(
    r"prompt is too long"  # Anthropic
    r"|input is too long for"  # Bedrock
    r"|exceeds? (?:the )?(?:model'?s )?context (?:window|length|size)"  # OpenAI, Ollama
    r"|exceeds the available context size"  # llama.cpp
    r"|input token count\b.*\bexceeds the maximum"  # Gemini
    r"|maximum prompt length is \d"  # xAI
    r"|maximum (?:context|model) length"  # OpenAI, OpenRouter, vLLM, DeepSeek
    r"|longer than the maximum model len"  # vLLM
    r"|reduce the length of the (?:messages|prompt|input)"  # Groq
    r"|prompt token count of \d+ exceeds the limit"  # GitHub
    r"|greater than the context length"  # LM Studio
    r"|context window exceeds limit"  # MiniMax
    r"|exceeded model token limit"  # Kimi
    r"|prompt contains \d+ tokens\b.*\btoo large"  # Mistral
    r"|prompt too long; exceeded"  # Ollama
    r"|max_new_tokens` must be <="  # TGI
    r"|too many (?:input )?tokens: "  # Cohere
    r"|context[ _]length[ _]exceeded|token limit exceeded|too long for this context",
    re.IGNORECASE,
)


def is_too_long(status: int, code: str, message: str) -> bool:
    """Whether a refusal says that the prompt has too many tokens for the model.

    ``code`` is lower case. Known from the words of the servers that speak this API, as few of them
    have a code for it.
    """
    if status in _OTHER_STATUSES:
        return False
    return bool(_CODES.search(code) or _WORDS.search(message))
