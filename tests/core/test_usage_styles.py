"""The same four kinds, however a server counts. The wanted numbers are worked out by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from agent_widget.core.usage import Usage
from agent_widget.core.usagereport import (
    MAX_TOKENS,
    UsageReport,
    read_report,
    read_usage,
    usage_of_stream,
)
from agent_widget.providers.prices import TokenPrices

PRICES = TokenPrices(input_mtok=1, output_mtok=2, cache_read_mtok=0.1, cache_write_mtok=1.25)

Case = tuple[list[Any], Usage | None]


def whole(usage: dict[str, Any]) -> list[Any]:
    """An answer that was not streamed."""
    return [{"choices": [{"message": {"content": "ok"}}], "usage": usage}]


def chunks(*usages: dict[str, Any] | None) -> list[Any]:
    return [{"choices": [{"delta": {"content": "o"}}], "usage": usage} for usage in usages]


STYLES: dict[str, Case] = {
    "OpenAI": (
        whole({"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21}),
        Usage(9, 12),
    ),
    "OpenAI: cached tokens and thinking are inside": (
        whole(
            {
                "prompt_tokens": 20_000,
                "completion_tokens": 1_000,
                "total_tokens": 21_000,
                "prompt_tokens_details": {"cached_tokens": 16_000, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 900},
            }
        ),
        Usage(4_000, 1_000, 16_000),
    ),
    "OpenAI: the last chunk alone": (
        chunks(None, None, {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}),
        Usage(10, 3),
    ),
    "OpenAI Responses": (
        [
            {"type": "response.output_text.delta", "delta": "o"},
            {
                "type": "response.completed",
                "response": {
                    "usage": {
                        "input_tokens": 328,
                        "input_tokens_details": {"cached_tokens": 200},
                        "output_tokens": 52,
                        "output_tokens_details": {"reasoning_tokens": 40},
                        "total_tokens": 380,
                    }
                },
            },
        ],
        Usage(128, 52, 200),
    ),
    "OpenRouter: cache writes are inside too": (
        whole(
            {
                "prompt_tokens": 10_339,
                "completion_tokens": 60,
                "total_tokens": 10_399,
                "prompt_tokens_details": {"cached_tokens": 8_000, "cache_write_tokens": 2_000},
                "cost": 0.003,
            }
        ),
        Usage(339, 60, 8_000, 2_000),
    ),
    "Anthropic: the cache is beside the input": (
        [
            {
                "type": "message",
                "usage": {
                    "input_tokens": 4_000,
                    "cache_read_input_tokens": 16_000,
                    "cache_creation_input_tokens": 2_000,
                    "output_tokens": 1_000,
                },
            }
        ],
        Usage(4_000, 1_000, 16_000, 2_000),
    ),
    "Anthropic: running totals are not added up": (
        [
            {
                "type": "message_start",
                "message": {"usage": {"input_tokens": 25, "output_tokens": 1}},
            },
            {"type": "message_delta", "usage": {"output_tokens": 7}},
            {"type": "message_delta", "usage": {"output_tokens": 15}},
            {"type": "message_stop"},
        ],
        Usage(25, 15),
    ),
    "Anthropic: the last event repeats all with the cache": (
        [
            {
                "type": "message_start",
                "message": {
                    "usage": {"input_tokens": 3, "cache_read_input_tokens": 900, "output_tokens": 1}
                },
            },
            {
                "type": "message_delta",
                "usage": {
                    "input_tokens": 3,
                    "cache_read_input_tokens": 900,
                    "cache_creation_input_tokens": 0,
                    "output_tokens": 80,
                },
            },
        ],
        Usage(3, 80, 900),
    ),
    "Anthropic: writes told by age alone": (
        [
            {
                "usage": {
                    "input_tokens": 5,
                    "output_tokens": 6,
                    "cache_creation": {
                        "ephemeral_5m_input_tokens": 100,
                        "ephemeral_1h_input_tokens": 40,
                    },
                }
            }
        ],
        Usage(5, 6, 0, 140),
    ),
    "a proxy of Anthropic whose first event counts nothing": (
        [
            {
                "type": "message_start",
                "message": {"usage": {"input_tokens": 0, "output_tokens": 0}},
            },
            {"type": "message_delta", "usage": {"input_tokens": 31, "output_tokens": 8}},
        ],
        Usage(31, 8),
    ),
    "a proxy of Anthropic whose last event takes the input back": (
        [
            {
                "type": "message_start",
                "message": {"usage": {"input_tokens": 31, "output_tokens": 1}},
            },
            {"type": "message_delta", "usage": {"input_tokens": 0, "output_tokens": 8}},
        ],
        Usage(31, 8),
    ),
    "a proxy that mixes both styles": (
        whole(
            {
                "prompt_tokens": 100,
                "prompt_tokens_details": {"cached_tokens": 80},
                "cache_read_input_tokens": 80,
                "cache_creation_input_tokens": 0,
                "completion_tokens": 5,
            }
        ),
        Usage(20, 5, 80),
    ),
    "a proxy with the names of OpenAI and the sums of Anthropic, told by the total": (
        whole(
            {
                "prompt_tokens": 400,
                "completion_tokens": 5,
                "total_tokens": 455,
                "cache_read_input_tokens": 30,
                "cache_creation_input_tokens": 20,
            }
        ),
        Usage(400, 5, 30, 20),
    ),
    "the same, told by a cache that is larger than the prompt": (
        whole({"prompt_tokens": 4, "completion_tokens": 5, "cache_read_input_tokens": 1_600}),
        Usage(4, 5, 1_600),
    ),
    "a gateway that sends the other style's names with zeros": (
        whole(
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 15,
                "input_tokens": 0,
                "output_tokens": 0,
                "input_tokens_details": None,
            }
        ),
        Usage(10, 5),
    ),
    "DeepSeek": (
        whole(
            {
                "prompt_tokens": 1_000,
                "completion_tokens": 50,
                "total_tokens": 1_050,
                "prompt_cache_hit_tokens": 640,
                "prompt_cache_miss_tokens": 360,
            }
        ),
        Usage(360, 50, 640),
    ),
    "xAI: thinking is beside the completion": (
        whole(
            {
                "prompt_tokens": 10_120,
                "completion_tokens": 1_499,
                "total_tokens": 14_428,
                "prompt_tokens_details": {"cached_tokens": 128},
                "completion_tokens_details": {"reasoning_tokens": 2_809},
            }
        ),
        Usage(9_992, 4_308, 128),
    ),
    "Gemini: thoughts beside the candidates, cache inside the prompt": (
        [
            {"usageMetadata": {"promptTokenCount": 20, "thoughtsTokenCount": 90}},
            {
                "usageMetadata": {
                    "promptTokenCount": 20,
                    "cachedContentTokenCount": 12,
                    "candidatesTokenCount": 198,
                    "thoughtsTokenCount": 405,
                    "totalTokenCount": 623,
                }
            },
        ],
        Usage(8, 603, 12),
    ),
    "Gemini: prompts of server tools are input": (
        [
            {
                "usage_metadata": {
                    "prompt_token_count": 20,
                    "tool_use_prompt_token_count": 300,
                    "candidates_token_count": 10,
                    "total_token_count": 330,
                }
            }
        ],
        Usage(320, 10),
    ),
    "Gemini as OpenAI: thoughts are only in the total": (
        whole({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}),
        Usage(20, 603),
    ),
    "a proxy of Gemini: nothing but thoughts": (
        whole(
            {
                "prompt_tokens": 21,
                "completion_tokens": 0,
                "total_tokens": 81,
                "completion_tokens_details": {"reasoning_tokens": 60},
            }
        ),
        Usage(21, 60),
    ),
    "the same without a total: a part is never more than its whole": (
        whole(
            {
                "prompt_tokens": 21,
                "completion_tokens": 0,
                "completion_tokens_details": {"reasoning_tokens": 60},
            }
        ),
        Usage(21, 60),
    ),
    "a proxy that leaves both out, the cache and the thinking": (
        whole(
            {
                "prompt_tokens": 400,
                "completion_tokens": 5,
                "total_tokens": 462,
                "cache_read_input_tokens": 50,
                "completion_tokens_details": {"reasoning_tokens": 7},
            }
        ),
        Usage(400, 12, 50),
    ),
    "Perplexity: thinking and citations are beside the answer": (
        whole(
            {
                "prompt_tokens": 33,
                "completion_tokens": 7_163,
                "total_tokens": 7_196,
                "citation_tokens": 20_016,
                "reasoning_tokens": 73_997,
                "num_search_queries": 18,
            }
        ),
        Usage(33, 7_163 + 20_016 + 73_997),
    ),
    "Databricks: thinking is inside, though it stands beside": (
        whole({"prompt_tokens": 30, "completion_tokens": 40, "reasoning_tokens": 25}),
        Usage(30, 40),
    ),
    "Bedrock": (
        [
            {
                "metadata": {
                    "usage": {
                        "inputTokens": 125,
                        "outputTokens": 60,
                        "cacheReadInputTokens": 1_000,
                        "cacheWriteInputTokens": 300,
                        "totalTokens": 1_485,
                    }
                }
            }
        ],
        Usage(125, 60, 1_000, 300),
    ),
    "this package's own events": (
        [
            {
                "type": "cost.usage.updated",
                "usage": {
                    "inputTokens": 10,
                    "outputTokens": 20,
                    "cacheReadInputTokens": 30,
                    "cacheCreationInputTokens": 39,
                },
            }
        ],
        Usage(10, 20, 30, 39),
    ),
    "the AI SDK: cached tokens are inside": (
        [{"usage": {"inputTokens": 50, "cachedInputTokens": 20, "outputTokens": 7}}],
        Usage(30, 7, 20),
    ),
    "Cohere: what it bills": (
        [
            {
                "type": "message-end",
                "delta": {
                    "usage": {
                        "billed_units": {"input_tokens": 17, "output_tokens": 12},
                        "tokens": {"input_tokens": 215, "output_tokens": 12},
                    }
                },
            }
        ],
        Usage(17, 12),
    ),
    "Cohere: not streamed": (
        [{"usage": {"billed_units": {"input_tokens": 17}, "tokens": {"input_tokens": 215}}}],
        Usage(17),
    ),
    "Groq: in a place of its own": (
        [
            {"choices": [{"delta": {}}], "x_groq": {"id": "r-1"}},
            {"choices": [], "x_groq": {"usage": {"prompt_tokens": 18, "completion_tokens": 5}}},
        ],
        Usage(18, 5),
    ),
    "Moonshot: in the choice, cached tokens flat": (
        [
            {
                "choices": [
                    {
                        "delta": {},
                        "usage": {
                            "prompt_tokens": 19,
                            "completion_tokens": 13,
                            "total_tokens": 32,
                            "cached_tokens": 12,
                        },
                    }
                ]
            }
        ],
        Usage(7, 13, 12),
    ),
    "Qwen: cache writes in the details": (
        whole(
            {
                "prompt_tokens": 3_019,
                "completion_tokens": 104,
                "total_tokens": 3_123,
                "prompt_tokens_details": {
                    "cached_tokens": 2_048,
                    "cache_creation_input_tokens": 900,
                },
            }
        ),
        Usage(71, 104, 2_048, 900),
    ),
    "llama.cpp: timings at each token": (
        [
            {"choices": [], "timings": {"cache_n": 236, "prompt_n": 1, "predicted_n": 1}},
            {"choices": [], "timings": {"cache_n": 236, "prompt_n": 1, "predicted_n": 35}},
        ],
        Usage(1, 35, 236),
    ),
    "llama.cpp: timings, then usage, which counts the cache as prompt": (
        [
            {"choices": [], "timings": {"cache_n": 236, "prompt_n": 1, "predicted_n": 35}},
            {
                "choices": [],
                "usage": {
                    "prompt_tokens": 237,
                    "completion_tokens": 35,
                    "total_tokens": 272,
                    "prompt_tokens_details": {"cached_tokens": 236},
                },
                "timings": {"cache_n": 236, "prompt_n": 1, "predicted_n": 35},
            },
        ],
        Usage(1, 35, 236),
    ),
    "llama.cpp: usage that does not tell the cache apart, and timings that do": (
        [
            {"choices": [], "timings": {"cache_n": 236, "prompt_n": 1, "predicted_n": 35}},
            {"choices": [], "usage": {"prompt_tokens": 237, "completion_tokens": 35}},
        ],
        Usage(1, 35, 236),
    ),
    "llama.cpp: its own API": (
        [{"content": "ok", "tokens_evaluated": 14, "tokens_predicted": 5, "tokens_cached": 18}],
        Usage(14, 5),
    ),
    "Ollama: its own API": (
        [
            {"message": {"content": "o"}, "done": False},
            {"done": True, "prompt_eval_count": 26, "eval_count": 298, "total_duration": 5},
        ],
        Usage(26, 298),
    ),
    "Ollama: a prompt that is all in its cache is not counted": (
        [{"done": True, "eval_count": 298}],
        Usage(0, 298),
    ),
    "vLLM: a total so far on each of three chunks": (
        chunks(*({"prompt_tokens": 10, "completion_tokens": n} for n in (1, 2, 3))),
        Usage(10, 3),
    ),
    "a total so far on each of 100 chunks": (
        chunks(*({"prompt_tokens": 7, "completion_tokens": n} for n in range(1, 101))),
        Usage(7, 100),
    ),
    "the same total on each chunk": (
        chunks(*[{"prompt_tokens": 7, "completion_tokens": 9, "total_tokens": 16}] * 5),
        Usage(7, 9),
    ),
    "cached tokens only in the last chunk": (
        chunks(
            {"prompt_tokens": 100, "completion_tokens": 1},
            {
                "prompt_tokens": 100,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 80},
            },
        ),
        Usage(20, 4, 80),
    ),
    "numbers as floats": (
        whole({"prompt_tokens": 12.0, "completion_tokens": 3.0}),
        Usage(12, 3),
    ),
    "no usage": (chunks(None, None), None),
    "zeros: nobody counted": (
        whole({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}),
        None,
    ),
    "not numbers": (
        whole({"prompt_tokens": "12", "completion_tokens": True, "total_tokens": float("nan")}),
        None,
    ),
    "less than nothing": (whole({"prompt_tokens": -5, "completion_tokens": -1}), None),
    "not an object": ([None, 3, "usage", [], {"usage": [1]}, {"usage": {"x": {}}}], None),
}


@pytest.mark.parametrize("style", STYLES)
def test_tokens_are_exact_whatever_the_style(style: str) -> None:
    said, wanted = STYLES[style]
    assert usage_of_stream(said) == wanted


@pytest.mark.parametrize("style", STYLES)
def test_the_cost_is_exact_whatever_the_style(style: str) -> None:
    said, wanted = STYLES[style]
    usage = usage_of_stream(said)
    if wanted is not None and usage is not None:
        millionths = (
            Fraction(wanted.input_tokens)
            + Fraction(wanted.output_tokens) * 2
            + Fraction(wanted.cache_read_tokens) / 10
            + Fraction(wanted.cache_write_tokens) * 5 / 4
        )
        assert Fraction(PRICES.cost(usage).amount) == millionths / 10**6


def test_at_least_twenty_styles_that_count_are_checked() -> None:
    assert sum(wanted is not None for _, wanted in STYLES.values()) >= 20


@pytest.mark.parametrize("style", STYLES)
def test_the_last_chunk_that_is_sent_twice_changes_nothing(style: str) -> None:
    said, wanted = STYLES[style]
    assert usage_of_stream([*said, said[-1]]) == wanted


@pytest.mark.parametrize("style", STYLES)
def test_the_four_kinds_add_up_to_the_total_that_was_sent(style: str) -> None:
    said, wanted = STYLES[style]
    report = read_report(said[-1])
    sums_up = "Perplexity" not in style  # its total leaves out what it bills beside
    if wanted is not None and report is not None and report.total and sums_up:
        assert wanted.total_tokens == report.total


def test_the_context_is_as_full_whoever_counts() -> None:
    openai = read_usage(STYLES["OpenAI: cached tokens and thinking are inside"][0][0])
    anthropic = Usage(4_000, 1_000, 16_000)
    assert openai == anthropic
    assert anthropic.total_tokens == 21_000
    assert anthropic.cache_share == 0.8
    assert Usage(0, 5).cache_share is None


def test_a_usage_object_and_the_answer_that_holds_it_say_the_same() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    assert read_usage(usage) == read_usage({"usage": usage}) == Usage(9, 2)


def test_an_absurd_count_stays_exact_in_json_and_is_never_taken_for_none() -> None:
    for absurd in (10**400, float("inf"), 2.0**80):
        assert read_usage({"prompt_tokens": absurd}) == Usage(MAX_TOKENS)


def test_nothing_said_is_nothing_counted() -> None:
    assert UsageReport().usage is None
    assert read_report({"choices": []}) is None
    assert usage_of_stream([]) is None
