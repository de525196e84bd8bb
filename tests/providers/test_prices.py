"""Prices against sums worked out by hand; what is not known is never free."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.core.usage import Cost, Usage
from agent_widget.providers.prices import FREE, PriceList, TokenPrices
from agent_widget.view.model import UsageView

AT_MS = 1_793_000_000_000  # autumn 2026
OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com/v1"
LOCAL = "http://localhost:8080/v1"
ACME = TokenPrices(input_mtok=1.0, output_mtok=2.0, cache_read_mtok=0.1, cache_write_mtok=1.25)


def cost(
    usage: Usage, model: str, base_url: str | None = OPENAI, prices: PriceList | None = None
) -> Cost | None:
    return (prices or PriceList()).cost(usage, model, base_url=base_url, at_ms=AT_MS)


def test_a_users_prices_are_exact() -> None:
    prices = PriceList({"acme-9.1": ACME})
    for usage, wanted in [
        (Usage(4_000, 1_000, 16_000), "0.0076"),
        (Usage(4_000, 1_000, 16_000, 2_000), "0.0101"),
        (Usage(1, 0), "0.000001"),
        (Usage(0, 0, 1), "0.0000001"),
        (Usage(), "0"),
    ]:
        assert cost(usage, "acme-9.1", LOCAL, prices) == Cost(Decimal(wanted))


# Prices per million tokens as the vendors publish them: input, cache read, cache write, output.
PUBLISHED = {
    ("gpt-5-mini", OPENAI): (0.25, 0.025, 0.25, 2.0),
    ("gpt-5", OPENAI): (1.25, 0.125, 1.25, 10.0),
    ("gpt-4o", OPENAI): (2.5, 1.25, 2.5, 10.0),
    ("claude-sonnet-4-5", ANTHROPIC): (3.0, 0.3, 3.75, 15.0),
    ("claude-opus-4-1", ANTHROPIC): (15.0, 1.5, 18.75, 75.0),
}


@pytest.mark.parametrize(("model", "base_url"), PUBLISHED)
def test_the_list_agrees_with_what_vendors_publish(model: str, base_url: str) -> None:
    fresh, read, written, out = PUBLISHED[model, base_url]
    usage = Usage(1_234, 567, 8_901, 234)
    wanted = (1_234 * fresh + 567 * out + 8_901 * read + 234 * written) / 1e6
    found = cost(usage, model, base_url)
    assert found is not None
    assert found.currency == "USD"
    assert float(found.amount) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("model", ["GPT-5-Mini", "gpt-5-mini-2025-08-07"])
def test_case_and_dates_of_a_name_do_not_matter(model: str) -> None:
    assert cost(Usage(100, 10), model) == cost(Usage(100, 10), "gpt-5-mini") is not None


UNKNOWN: dict[str, tuple[str, str | None]] = {
    "a model that nobody knows": ("acme-9.1", OPENAI),
    "a server that nobody knows": ("gpt-5-mini", LOCAL),
    "a local model with the name of a vendor": ("openai/gpt-oss-20b", LOCAL),
    "a name that the server does not have": ("openai/gpt-5-mini", OPENAI),
    "no server": ("gpt-5-mini", None),
    "a subscription, which the list has without prices": (
        "gpt-4o",
        "https://api.githubcopilot.com",
    ),
    "a model without a price of output": ("text-embedding-3-small", OPENAI),
    "an empty name": ("", OPENAI),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_price_is_none_and_never_nothing(name: str) -> None:
    model, base_url = UNKNOWN[name]
    prices = PriceList()
    assert cost(Usage(10_000, 10_000), model, base_url) is None
    assert prices.currency(model, base_url=base_url, at_ms=AT_MS) is None
    assert prices.uncached_cost(Usage(1, 1, 1), model, base_url=base_url, at_ms=AT_MS) is None


def test_a_users_price_makes_a_model_known_wherever_it_is() -> None:
    prices = PriceList({"Acme-9.1": {"input_mtok": 8, "output_mtok": 8, "currency": "CNY"}})
    assert cost(Usage(500_000), "acme-9.1", LOCAL, prices) == Cost(Decimal(4), "CNY")
    assert prices.currency("ACME-9.1", base_url=None, at_ms=AT_MS) == "CNY"
    cheaper = PriceList({"gpt-5-mini": ACME})
    assert cost(Usage(1_000_000), "gpt-5-mini", OPENAI, cheaper) == Cost(Decimal(1))


def test_free_is_what_a_user_calls_free() -> None:
    prices = PriceList({"qwen3:8b": FREE})
    assert cost(Usage(10**9, 10**9), "qwen3:8b", LOCAL, prices) == Cost(Decimal(0))
    assert prices.currency("qwen3:8b", base_url=LOCAL, at_ms=AT_MS) == "USD"


def test_what_the_cache_saved_is_what_the_same_tokens_would_have_cost_more() -> None:
    prices = PriceList({"acme": ACME})

    def saved(*calls: Usage) -> str | None:
        view = UsageView()
        for usage in calls:
            kinds = (
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                usage.cache_write_tokens,
            )
            cost = prices.cost(usage, "acme", base_url=None, at_ms=AT_MS)
            uncached = prices.uncached_cost(usage, "acme", base_url=None, at_ms=AT_MS)
            assert cost is not None
            assert uncached is not None
            view = view.plus(kinds, f"{cost.amount:f}", "USD", f"{uncached.amount:f}")
        return view.saved

    read, written = Usage(4_000, 1_000, 16_000), Usage(0, 0, 0, 1_000)
    assert Decimal(saved(read) or 0) == Decimal("0.0144")
    assert saved(Usage(4_000, 1_000)) is None
    assert saved(written) is None
    assert Decimal(saved(written, read) or 0) == Decimal("0.01415")  # what writing cost is off it
    unpriced = UsageView().plus((1, 1, 9, 0), None, None)
    assert unpriced.saved is None


def test_a_long_prompt_is_paid_by_the_rate_for_long_prompts() -> None:
    short = cost(Usage(100_000), "claude-sonnet-4-5", ANTHROPIC)
    long = cost(Usage(300_000), "claude-sonnet-4-5", ANTHROPIC)
    assert short is not None
    assert long is not None
    assert long.amount > 3 * short.amount


def test_the_window_of_a_model_is_known_or_none() -> None:
    prices = PriceList()
    assert (prices.context_window("gpt-5-mini", base_url=OPENAI) or 0) > 100_000
    assert prices.context_window("acme-9.1", base_url=OPENAI) is None
    assert prices.context_window("gpt-5-mini", base_url=LOCAL) is None


BAD: list[Any] = [
    5,
    {"input_mtok": 1},
    {"input_mtok": 1, "output_mtok": -1},
    {"input_mtok": 1, "output_mtok": "2"},
    {"input_mtok": 1, "output_mtok": None},
    {"input_mtok": 1, "output_mtok": float("inf")},
    {"input_mtok": 1, "output_mtok": True},
    {"input_mtok": 1, "output_mtok": 1, "cache_read_mtok": "0"},
    {"input_mtok": 1, "output_mtok": 1, "currency": "dollars"},
    {"input_mtok": 1, "output_mtok": 1, "per": 1000},
]


@pytest.mark.parametrize("bad", BAD)
def test_prices_that_make_no_sense_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidOptions):
        PriceList({"acme": bad})


def test_the_list_is_read_when_it_is_asked_and_fetches_nothing() -> None:
    code = f"""
import sys
from agent_widget.core.usage import Usage
from agent_widget.providers.prices import FREE, PriceList
own = PriceList({{"a": FREE}})
own.cost(Usage(1), "a", base_url={OPENAI!r}, at_ms=0)
print("genai_prices" in sys.modules)
asked = []
sys.addaudithook(lambda event, _: asked.append(event) if event.startswith("socket.") else None)
own.cost(Usage(1), "gpt-5", base_url={OPENAI!r}, at_ms=0)
print("genai_prices" in sys.modules, [each for each in asked if "connect" in each or "get" in each])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["False", "True []"], done.stderr
