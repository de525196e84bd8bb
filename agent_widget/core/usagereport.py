"""How servers say what a model call used, read into the four kinds that do not overlap.

Each vendor has its own names, and they do not agree on what a number holds: the prompt of OpenAI
counts what came from the cache, that of Anthropic does not; thinking is inside the completion of
OpenAI and beside that of xAI and Gemini. Where the names leave it open, the total that was sent
along decides, and then that a part cannot be more than its whole.

Servers that report more than once report the total so far: a later report replaces an earlier one,
number by number, and a zero replaces nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from .usage import Usage

MAX_TOKENS: Final = 2**53 - 1
"""More than that is not exact in JSON everywhere; a larger count is taken for this one."""


class UsageReport(Struct, frozen=True, kw_only=True):
    """What a server has said of a call so far, in its own way of counting; 0 is not said.

    ``thoughts`` are output tokens that ``output`` leaves out, ``reasoning`` those of which that is
    not known. ``excludes_cache`` tells whether ``prompt`` leaves out what was read from the cache
    and written to it; None when no prompt was reported yet.
    """

    prompt: int = 0
    output: int = 0
    cached: int = 0
    written: int = 0
    thoughts: int = 0
    reasoning: int = 0
    total: int = 0
    excludes_cache: bool | None = None

    @property
    def usage(self) -> Usage | None:
        """The four kinds; None when nothing was counted."""
        cache = self.cached + self.written
        output = self.output + self.thoughts
        unexplained = max(0, self.total - self.prompt - output)
        explained_by_cache = cache > 0 and unexplained - cache in {0, self.reasoning}
        if self.excludes_cache or explained_by_cache or cache > self.prompt:
            fresh = self.prompt
            unexplained = max(0, unexplained - cache)
        else:
            fresh = self.prompt - cache
        if unexplained or self.reasoning <= output:
            output += unexplained
        else:
            output += self.reasoning
        usage = Usage(fresh, output, self.cached, self.written)
        return usage if usage.total_tokens else None

    def then(self, later: UsageReport) -> UsageReport:
        """What the server has said after it sent ``later`` too."""
        return UsageReport(
            prompt=later.prompt or self.prompt,
            output=later.output or self.output,
            cached=later.cached or self.cached,
            written=later.written or self.written,
            thoughts=later.thoughts or self.thoughts,
            reasoning=later.reasoning or self.reasoning,
            total=later.total or self.total,
            excludes_cache=self.excludes_cache
            if later.excludes_cache is None
            else later.excludes_cache,
        )


def read_report(data: object) -> UsageReport | None:
    """What ``data`` says of a call: a usage object, or a chunk or an answer that holds one.

    None when there is no count in it. Values are not trusted.
    """
    for place in _PLACES:
        found = _at(data, place)
        if isinstance(found, Mapping):
            report = _report_of(found)
            if report != _NOTHING:
                return report
    return None


def read_usage(data: object) -> Usage | None:
    """The tokens that one answer or usage object reports; None when none were counted."""
    report = read_report(data)
    return None if report is None else report.usage


def usage_of_stream(chunks: Iterable[object]) -> Usage | None:
    """The tokens that the chunks of one answer report together; None when none were counted."""
    so_far = _NOTHING
    for chunk in chunks:
        report = read_report(chunk)
        if report is not None:
            so_far = so_far.then(report)
    return so_far.usage


# --- names -------------------------------------------------------------------------------------

_NOTHING: Final = UsageReport()

Path: TypeAlias = tuple[str | int, ...]
Names: TypeAlias = tuple[str | Path, ...]

_PLACES: Final[tuple[Path, ...]] = (
    ("usage", "billed_units"),  # Cohere: what it bills, beside what it counted
    ("usage",),
    ("x_groq", "usage"),
    ("usageMetadata",),
    ("usage_metadata",),
    ("message", "usage"),  # Anthropic's message_start
    ("response", "usage"),  # the Responses API's response.completed
    ("metadata", "usage"),  # Bedrock's stream
    ("delta", "usage", "billed_units"),  # Cohere's message-end
    ("choices", 0, "usage"),  # Moonshot
    ("billed_units",),
    ("timings",),  # llama.cpp
    (),  # a usage object itself; Ollama and llama.cpp have their counts beside the answer
)

_WITH_CACHE: Final = (
    "prompt_tokens",
    "promptTokenCount",
    "prompt_token_count",
    "prompt_eval_count",
    "tokens_evaluated",
    "promptTokens",
)
_EITHER: Final = ("input_tokens", "inputTokens")
_WITHOUT_CACHE: Final = ("prompt_n",)
_TELLS_CACHE_IS_INSIDE: Final = (
    "input_tokens_details",
    "input_token_details",
    "cachedInputTokens",
)
_BESIDE_PROMPT: Final = ("toolUsePromptTokenCount", "tool_use_prompt_token_count")
_OUTPUT: Final = (
    "completion_tokens",
    "output_tokens",
    "outputTokens",
    "candidatesTokenCount",
    "candidates_token_count",
    "eval_count",
    "tokens_predicted",
    "predicted_n",
    "completionTokens",
)
_DETAILS: Final = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_CACHED: Final[Names] = (
    *((details, "cached_tokens") for details in _DETAILS),
    *((details, "cache_read_input_tokens") for details in _DETAILS),
    "cached_tokens",
    "num_cached_tokens",
    "prompt_cache_hit_tokens",
    "cache_read_input_tokens",
    "cacheReadInputTokens",
    "cachedInputTokens",
    "cachedContentTokenCount",
    "cached_content_token_count",
    "cached_prompt_text_tokens",
    "cache_n",
)
_WRITTEN: Final[Names] = (
    *((details, "cache_write_tokens") for details in _DETAILS),
    *((details, "cache_creation_tokens") for details in _DETAILS),
    *((details, "cache_creation_input_tokens") for details in _DETAILS),
    "cache_creation_input_tokens",
    "cacheCreationInputTokens",
    "cacheWriteInputTokens",
)
_WRITTEN_BY_AGE: Final = (
    ("cache_creation", "ephemeral_5m_input_tokens"),
    ("cache_creation", "ephemeral_1h_input_tokens"),
)
_THOUGHTS: Final = ("thoughtsTokenCount", "thoughts_token_count")
_REASONING: Final[Names] = (
    ("completion_tokens_details", "reasoning_tokens"),
    ("output_tokens_details", "reasoning_tokens"),
    "reasoning_tokens",
)
_TOTAL: Final = ("total_tokens", "totalTokens", "totalTokenCount", "total_token_count")
_CITATIONS: Final = "citation_tokens"


def _report_of(data: Mapping[object, object]) -> UsageReport:
    with_cache = _first(data, _WITH_CACHE)
    prompt = with_cache or _first(data, _EITHER) or _first(data, _WITHOUT_CACHE)
    is_inside = bool(with_cache) or any(data.get(name) for name in _TELLS_CACHE_IS_INSIDE)
    reasoning, thoughts = _first(data, _REASONING), _first(data, _THOUGHTS)
    if _CITATIONS in data:  # Perplexity counts both beside the answer, and bills them
        thoughts, reasoning = reasoning + _count(data, (_CITATIONS,)), 0
    return UsageReport(
        prompt=prompt + _first(data, _BESIDE_PROMPT),
        output=_first(data, _OUTPUT),
        cached=_first(data, _CACHED),
        written=_first(data, _WRITTEN) or sum(_count(data, path) for path in _WRITTEN_BY_AGE),
        thoughts=thoughts,
        reasoning=reasoning,
        total=_first(data, _TOTAL),
        excludes_cache=not is_inside if prompt else None,
    )


def _first(data: Mapping[object, object], names: Names) -> int:
    """The first count under one of ``names`` that is not 0, else 0."""
    paths = ((name,) if isinstance(name, str) else name for name in names)
    return next((count for path in paths if (count := _count(data, path))), 0)


def _count(data: object, path: Path) -> int:
    value = _at(data, path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(min(value, MAX_TOKENS)) if value > 0 else 0


def _at(data: object, path: Path) -> object:
    for key in path:
        if isinstance(data, Mapping):
            data = data.get(key)
        elif isinstance(key, int) and isinstance(data, list | tuple) and len(data) > key:
            data = data[key]
        else:
            return None
    return data
