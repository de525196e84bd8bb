"""Known servers: where they are, which variable holds their key, and what is odd about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from ._thinking import Field

Wire: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic"]


class Preset(Struct, frozen=True):
    """A server by name.

    ``base_url`` is None where each user has an address of their own, which ``url_variable`` may
    hold. The key is in the first of ``key_variables`` that is set and goes into ``key_header``;
    a server without ``key_variables`` needs none. ``thinking`` is how it is asked to think.
    ``sends_reasoning`` is for servers that want ``reasoning_content`` back, ``short_ids`` for those
    that take ids of nine letters and digits.
    """

    name: str
    base_url: str | None
    key_variables: tuple[str, ...] = ()
    url_variable: str | None = None
    wire: Wire = "openai-chat"
    key_header: str = "authorization"
    thinking: Field = "effort"
    sends_reasoning: bool = False
    short_ids: bool = False


OPENAI: Final = Preset(
    "openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",), url_variable="OPENAI_BASE_URL"
)
ANTHROPIC: Final = Preset(
    "anthropic",
    "https://api.anthropic.com/v1",
    ("ANTHROPIC_API_KEY",),
    url_variable="ANTHROPIC_BASE_URL",
    wire="anthropic",
    key_header="x-api-key",
)

_ALL: Final = (
    OPENAI,
    ANTHROPIC,
    Preset(
        "openrouter",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        thinking="reasoning",
    ),
    Preset("groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    Preset("mistral", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",), short_ids=True),
    Preset(
        "deepseek",
        "https://api.deepseek.com/v1",
        ("DEEPSEEK_API_KEY",),
        thinking="type",
        sends_reasoning=True,
    ),
    Preset(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    Preset(
        "azure",
        None,
        ("AZURE_OPENAI_API_KEY",),
        url_variable="AZURE_OPENAI_ENDPOINT",
        key_header="api-key",
    ),
    Preset("ollama", "http://localhost:11434/v1", url_variable="OLLAMA_HOST"),
    Preset("llama.cpp", "http://localhost:8080/v1", thinking="template"),
    Preset("vllm", "http://localhost:8000/v1", thinking="template"),
    Preset("lmstudio", "http://localhost:1234/v1"),
)

PRESETS: Final[Mapping[str, Preset]] = {preset.name: preset for preset in _ALL}
