"""What models cost: prices that a user gives, else the list of the package genai-prices.

Nothing is fetched: the list is part of that package. A price that is not known is None, never 0:
models of a server that is not in the list, models of a list entry without prices, and free local
models cost nothing only where a user says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ..core.errors import InvalidOptions
from ..core.usage import USD, Amount, Cost, Usage, exact, is_amount

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

_PER: Final = 1_000_000
_CURRENCY_CHARS: Final = 3


class TokenPrices(Struct, frozen=True, kw_only=True):
    """What tokens cost, in ``currency`` per million; raises InvalidOptions if wrong.

    Without prices of their own, tokens read from the cache and written to it cost what fresh ones
    do. 0 is free.
    """

    input_mtok: Amount
    output_mtok: Amount
    cache_read_mtok: Amount | None = None
    cache_write_mtok: Amount | None = None
    currency: str = USD

    def __post_init__(self) -> None:
        for name in ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok"):
            value = getattr(self, name)
            if value is None and name.startswith("cache"):
                continue
            if not is_amount(value):
                raise InvalidOptions(
                    f"{name} is {value!r}, expected a price per million tokens, 0 or more."
                )
        code: object = self.currency
        is_code = isinstance(code, str) and len(code) == _CURRENCY_CHARS and code.isupper()
        if not is_code:
            raise InvalidOptions(f"currency is {code!r}, expected a code such as 'USD' or 'EUR'.")

    def cost(self, usage: Usage) -> Cost:
        """What ``usage`` costs, exactly."""
        fresh = exact(self.input_mtok)
        read = fresh if self.cache_read_mtok is None else exact(self.cache_read_mtok)
        written = fresh if self.cache_write_mtok is None else exact(self.cache_write_mtok)
        amount = (
            fresh * usage.input_tokens
            + read * usage.cache_read_tokens
            + written * usage.cache_write_tokens
            + exact(self.output_mtok) * usage.output_tokens
        )
        return Cost(amount / _PER, self.currency)


FREE: Final = TokenPrices(input_mtok=0, output_mtok=0)
"""The prices of a model that costs nothing, such as the demo model."""


class PriceList:
    """Prices of models; ``prices`` are those of a user, by the names of models.

    Those win over the list, wherever the model is. Values may be mappings of the fields of
    TokenPrices. Raises InvalidOptions. The first question about another model reads the list,
    about 0.3 s and 30 MB: ask it off the event loop.
    """

    def __init__(
        self, prices: Mapping[str, TokenPrices | Mapping[str, object]] | None = None
    ) -> None:
        given = {} if prices is None else prices
        self._own = {name.lower(): _token_prices(name, value) for name, value in given.items()}

    def cost(self, usage: Usage, model: str, *, base_url: str | None, at_ms: int) -> Cost | None:
        """What ``usage`` of ``model`` costs at the server ``base_url``; None when not known.

        ``at_ms`` is when it was used, in ms: prices change, some of them with the hour. Server
        tools, service tiers and batches are not in it.
        """
        own = self._own.get(model.lower())
        if own is not None:
            return own.cost(usage)
        listed = _listed(usage, model, base_url, at_ms)
        return None if listed is None else Cost(listed.total_price)

    def currency(self, model: str, *, base_url: str | None, at_ms: int) -> str | None:
        """The currency that ``model`` is paid in; None when no price is known."""
        cost = self.cost(Usage(), model, base_url=base_url, at_ms=at_ms)
        return None if cost is None else cost.currency

    def uncached_cost(
        self, usage: Usage, model: str, *, base_url: str | None, at_ms: int
    ) -> Cost | None:
        """What ``usage`` would have cost without a cache; None when not known.

        Less than it did cost where a cache was written to and not read yet.
        """
        uncached = Usage(usage.prompt_tokens, usage.output_tokens)
        return self.cost(uncached, model, base_url=base_url, at_ms=at_ms)

    def context_window(self, model: str, *, base_url: str | None) -> int | None:
        """How many tokens of input ``model`` takes; None when not known."""
        listed = _calculated(Usage(), model, base_url, at_ms=0)
        return None if listed is None else listed.model.context_window


def _token_prices(name: str, value: object) -> TokenPrices:
    if isinstance(value, TokenPrices):
        return value
    fields = TokenPrices.__struct_fields__
    if not isinstance(value, Mapping) or not {"input_mtok", "output_mtok"} <= {*value} <= {*fields}:
        raise InvalidOptions(
            f"prices[{name!r}] is {value!r}, expected a mapping of {', '.join(fields)}.",
            advice=f"Write prices={{{name!r}: {{'input_mtok': 0.25, 'output_mtok': 2}}}}, in "
            "dollars per million tokens.",
        )
    return TokenPrices(**value)


def _listed(usage: Usage, model: str, base_url: str | None, at_ms: int) -> PriceCalculation | None:
    """What the list says that ``usage`` costs.

    An entry without prices of text in and text out does not: it would make them free.
    """
    listed = _calculated(usage, model, base_url, at_ms)
    if listed is None:
        return None
    prices = listed.model_price
    is_complete = prices.input_mtok is not None and prices.output_mtok is not None
    return listed if is_complete else None


def _calculated(
    usage: Usage, model: str, base_url: str | None, at_ms: int
) -> PriceCalculation | None:
    if base_url is None:
        return None
    import genai_prices  # slow to import, and only needed where models are paid for

    tokens = genai_prices.Usage(
        input_tokens=usage.prompt_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )
    at = datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    try:
        return genai_prices.calc_price(
            tokens, model, provider_api_url=base_url, genai_request_timestamp=at
        )
    except (LookupError, ValueError):  # not in the list, or priced by what is not counted here
        return None
