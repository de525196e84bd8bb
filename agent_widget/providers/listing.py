"""Which models a server has: OpenAI and all that speak like it, Anthropic, Ollama's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import httpx
import msgspec

from ..core.errors import ModelError
from ._http import host_and_port, place, read_reply, status_error, transport_error
from ._secret import Grant

MAX_PAGES: Final = 50
MAX_MODELS: Final = 5_000
_NAMES: Final = ("id", "name", "model")
_NOT_THERE: Final = 404


def names_in(page: Any) -> tuple[str, ...]:
    """The names that a page lists, in its order; empty for what is no list of models.

    Lists are under ``data`` (OpenAI, Anthropic), ``models`` (Ollama), or the page itself.
    """
    rows = page
    if isinstance(page, Mapping):
        rows = page.get("data", page.get("models"))
    names: list[str] = []
    for row in rows if isinstance(rows, list) else ():
        found = [row.get(key) for key in _NAMES] if isinstance(row, Mapping) else [row]
        names += [name for name in found if isinstance(name, str) and name][:1]
    return tuple(names)


def next_page(page: Any) -> str | None:
    """The id after which the next page begins (Anthropic); None when this is the last one."""
    last = page.get("last_id") if isinstance(page, Mapping) and page.get("has_more") else None
    return last if isinstance(last, str) and last else None


async def listed_models(
    client: httpx.AsyncClient,
    url: httpx.URL,
    grant: Grant,
    *,
    limits: httpx.Timeout,
    headers: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """The names of the models that the server lists at ``url``, such as ``…/v1/models``.

    A server without that page is asked for Ollama's ``/api/tags``. ``headers`` are those of its
    API. Each name comes once. Raises ModelError.
    """
    names: dict[str, None] = {}
    after: str | None = None
    for _ in range(MAX_PAGES):
        where = url if after is None else url.copy_merge_params({"after_id": after})
        page = await _page(client, where, grant, limits, headers)
        if page is None and after is None:
            page = await _page(client, url.copy_with(path="/api/tags"), grant, limits, headers)
        if page is None:
            raise ModelError(
                "bad_request",
                f"{host_and_port(url)} does not list its models.",
                advice="Name the model you want.",
                status=_NOT_THERE,
            )
        names.update(dict.fromkeys(names_in(page)))
        after = next_page(page)
        if after is None or len(names) >= MAX_MODELS:
            break
    return tuple(names)[:MAX_MODELS]


async def _page(
    client: httpx.AsyncClient,
    url: httpx.URL,
    grant: Grant,
    limits: httpx.Timeout,
    headers: Mapping[str, str] | None,
) -> Any:
    """The decoded page, None where there is none. Raises ModelError."""
    failure: ModelError | None
    try:
        response = await client.get(
            url, auth=grant, timeout=limits, headers=dict(headers or {}), follow_redirects=False
        )
    except httpx.HTTPError as error:
        failure = transport_error(error, url, grant)
    else:
        if response.status_code == _NOT_THERE:
            return None
        if response.is_success:
            try:
                return msgspec.json.decode(response.content)
            except (msgspec.DecodeError, RecursionError):
                message = f"{place(url)} answered with no list of models."
                failure = ModelError("network", message, status=response.status_code)
        else:
            failure = status_error(read_reply(response, response.content, grant), url, "")
    # Raised here, away from the handlers: httpx's errors lead to the request and its key.
    raise failure
