"""What goes wrong is told with its code, its cause and the way out, and never with the key."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from agent_widget.core.errors import InvalidOptions, ModelError
from agent_widget.providers._http import retry_after_s
from agent_widget.providers.openai_chat import OpenAIChat

from .chat import DONE, data, delta, events_of, failure_of, text_of
from .rawserver import Drop, Hang, head, serving, stream, whole

pytestmark = pytest.mark.anyio
Make = Callable[..., OpenAIChat]

SAID = {"error": {"message": "these words", "type": "some_error"}}
STATUSES = {
    400: ("bad_request", False),
    401: ("chat_disabled", False),
    402: ("bad_request", False),
    403: ("chat_disabled", False),
    404: ("bad_request", False),
    408: ("network", True),
    409: ("network", True),
    413: ("bad_request", False),
    418: ("bad_request", False),
    422: ("bad_request", False),
    429: ("rate_limited", True),
    500: ("network", True),
    502: ("network", True),
    503: ("network", True),
    504: ("network", True),
    529: ("network", True),
}


@pytest.mark.parametrize("status", STATUSES)
async def test_a_status_has_its_code_and_the_servers_words(status: int, chat_model: Make) -> None:
    async with serving(whole(status, SAID)) as server:
        error = await failure_of(chat_model(server.url))
    assert (error.code, error.retryable, error.status) == (*STATUSES[status], status)
    assert "these words" in error.message
    assert str(status) in error.message


async def test_a_refused_key_names_the_variable_and_the_argument(chat_model: Make) -> None:
    async with serving(whole(401, SAID)) as server:
        error = await failure_of(chat_model(server.url))
    assert "OPENAI_API_KEY" in (error.advice or "")
    assert "api_key=" in (error.advice or "")


async def test_a_missing_model_names_model_and_address(chat_model: Make) -> None:
    async with serving(whole(404, SAID)) as server:
        error = await failure_of(chat_model(server.url, "gpt-x"))
        assert "'gpt-x'" in error.message
        assert f"{server.url}/chat/completions" in error.message


async def test_a_refused_field_names_the_option(chat_model: Make) -> None:
    body = {"detail": [{"loc": ["body", "stream_options"], "msg": "extra fields not permitted"}]}
    async with serving(whole(422, body)) as server:
        error = await failure_of(chat_model(server.url))
    assert "include_usage=False" in (error.advice or "")


BODIES: dict[str, tuple[bytes, str]] = {
    "openai": (b'{"error":{"message":"no","type":"t"}}', ": no"),
    "text for an error": (b'{"error":"no"}', ": no"),
    "message": (b'{"message":"no"}', ": no"),
    "detail": (b'{"detail":"no"}', ": no"),
    "details": (b'{"detail":[{"msg":"no"}]}', '"msg":"no"'),
    "other JSON": (b'{"code":7}', '{"code":7}'),
    "a list": (b'["no"]', '["no"]'),
    "text": (b"no\n  way", ": no way"),
    "a page": (b"<html><title>502 Bad\nGateway</title></html>", "a web page titled"),
    "a page without a title": (b"<!DOCTYPE html>x", ": a web page"),
    "nothing": (b"", "."),
    "an empty object": (b"{}", "."),
    "bytes": (b"\xff\xfe", "\ufffd"),
    "very much": (b"x" * 200_000, "x…"),
    "deep": (b"[" * 100_000, "["),
}


@pytest.mark.parametrize("case", BODIES)
async def test_the_servers_words_are_found_and_bounded(case: str, chat_model: Make) -> None:
    body, words = BODIES[case]
    async with serving(whole(500, body)) as server:
        error = await failure_of(chat_model(server.url))
    assert words in error.message
    assert len(error.message) < 700


async def test_a_refusal_whose_body_never_comes_is_still_told(
    chat_model: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_widget.providers._driver._LAST_WORDS_S", 0.05)
    for end in (Hang(), Drop()):
        async with serving([head(503, "content-length: 99"), b"over", end]) as server:
            error = await failure_of(chat_model(server.url))
        assert (error.code, error.status) == ("network", 503)


async def test_a_used_up_quota_is_not_worth_a_retry(chat_model: Make) -> None:
    body = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    async with serving(whole(429, body)) as server:
        error = await failure_of(chat_model(server.url))
    assert (error.code, error.retryable) == ("rate_limited", False)


NOW = "Wed, 21 Oct 2026 07:00:00 GMT"
RETRY_AFTER = {
    "2": 2.0,
    "0": 0.0,
    "1.5": 1.5,
    "86400": 86400.0,
    "-5": None,
    "soon": None,
    "": None,
    "nan": None,
    "inf": None,
    "1e400": None,
    "\u0662": None,
    "Wed, 21 Oct 2026 07:28:00 GMT": 28 * 60.0,
    "Wed, 21 Oct 2026 06:28:00 GMT": 0.0,
    "Sun, 06 Nov 99999 08:49:37 GMT": None,
}


@pytest.mark.parametrize("value", RETRY_AFTER)
def test_a_wish_to_wait_is_read_where_it_makes_sense(value: str) -> None:
    assert retry_after_s({"retry-after": value, "date": NOW}) == RETRY_AFTER[value]


def test_milliseconds_are_more_exact() -> None:
    assert retry_after_s({"retry-after": "2", "retry-after-ms": "1500"}) == 1.5


@pytest.mark.parametrize("clock", [{}, {"date": "junk"}])
def test_a_date_without_the_servers_clock_is_taken_against_ours(clock: dict[str, str]) -> None:
    in_an_hour = datetime.now(UTC) + timedelta(hours=1)
    wait_s = retry_after_s({"retry-after": format_datetime(in_an_hour, usegmt=True), **clock})
    assert wait_s is not None
    assert 3500 < wait_s <= 3600


@pytest.mark.parametrize(("seconds", "words"), [("2", "2 s"), ("600", "10 min"), ("86400", "24 h")])
async def test_the_wait_is_told(seconds: str, words: str, chat_model: Make) -> None:
    async with serving(whole(429, SAID, f"Retry-After: {seconds}")) as server:
        error = await failure_of(chat_model(server.url))
    assert error.retry_after_s == float(seconds)
    assert words in (error.advice or "")


# --- connections -----------------------------------------------------------------------------


def unused_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


async def test_a_server_that_is_not_there_is_named(chat_model: Make) -> None:
    port = unused_port()
    error = await failure_of(chat_model(f"http://127.0.0.1:{port}"))
    assert (error.code, error.retryable) == ("network", True)
    assert error.message == f"127.0.0.1:{port} refused the connection."
    assert "base_url" in (error.advice or "")


async def test_a_name_without_a_server_is_named(
    chat_model: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    error = await failure_of(chat_model("http://no-such-host.invalid"))
    assert (error.code, error.message) == (
        "network",
        "There is no server named no-such-host.invalid.",
    )


async def test_a_server_without_tls_is_told_apart(chat_model: Make) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        error = await failure_of(chat_model(f"https://127.0.0.1:{port}"))
    assert error.code == "network"
    assert "secure connection" in error.message
    assert "https://" in (error.advice or "")


async def test_a_silent_server_times_out(chat_model: Make) -> None:
    for reply in ([Hang()], [*stream(delta(content="par"))[:-1], Hang()]):
        async with serving(reply) as server:
            error = await failure_of(chat_model(server.url, timeout_s=0.5))
        assert (error.code, error.retryable) == ("network", True)
        assert "silent" in error.message
        assert "timeout_s" in (error.advice or "")


async def test_what_is_not_http_is_told(chat_model: Make) -> None:
    async with serving([b"SSH-2.0-OpenSSH_9.6\r\n", Drop()]) as server:
        error = await failure_of(chat_model(server.url))
    assert error.code == "network"
    assert f"127.0.0.1:{server.port}" in error.message


async def test_a_redirect_is_not_followed_but_told(chat_model: Make) -> None:
    async with serving(stream(delta("stop", content="stolen"))) as other:
        to = f"Location: {other.url}/chat/completions?key=1"
        async with (
            serving(whole(307, b"", to)) as server,
            httpx.AsyncClient(follow_redirects=True) as client,
        ):
            for options in ({}, {"client": client}):
                model = chat_model(server.url, api_key="SENTINEL-abcdefgh12345678", **options)
                error = await failure_of(model)
                assert error.code == "bad_request"
                assert f"{other.url}/chat/completions" in error.message
                assert "key=1" not in error.message
        assert other.requests == []


async def test_a_proxy_of_the_environment_is_used(
    monkeypatch: pytest.MonkeyPatch, chat_model: Make
) -> None:
    async with serving(stream(delta("stop", content="ok") + DONE)) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        model = chat_model("http://model.invalid")
        assert text_of(await events_of(model)) == "ok"
        assert proxy.requests[0].target == "http://model.invalid/v1/chat/completions"


async def test_a_closed_model_says_so(chat_model: Make) -> None:
    model = chat_model("http://127.0.0.1:1")
    await model.aclose()
    await model.aclose()
    assert "closed" in (await failure_of(model)).message


async def test_a_client_that_was_passed_in_stays_open(chat_model: Make) -> None:
    async with httpx.AsyncClient() as client:
        await chat_model("http://127.0.0.1:1", client=client).aclose()
        assert not client.is_closed


# --- the key ---------------------------------------------------------------------------------

KEY = "SENTINEL-abcdefgh12345678"
HEADER = "Token-HEADERSECRET-0987654321"


async def test_the_key_goes_with_each_request(chat_model: Make) -> None:
    keys = iter(["first-key", " second-key\n"])
    async with serving(stream(delta("stop") + DONE)) as server:
        for model, wanted in (
            (chat_model(server.url, api_key=f"  {KEY}\n"), [f"Bearer {KEY}"] * 2),
            (
                chat_model(server.url, api_key=lambda: next(keys)),
                ["Bearer first-key", "Bearer second-key"],
            ),
            (chat_model(server.url), [None] * 2),
            (chat_model(server.url, api_key=" "), [None] * 2),
            (chat_model(server.url, headers={"Authorization": "Basic x"}), ["Basic x"] * 2),
        ):
            server.requests.clear()
            await events_of(model)
            await events_of(model)
            assert [r.headers.get("authorization") for r in server.requests] == wanted


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: None, "NoneType"),
        (lambda: f"{KEY} {KEY}", "InvalidOptions"),
        (lambda: os.environ[KEY], "KeyError"),
    ],
)
async def test_a_key_function_that_fails_is_told_without_its_value(
    key: Any, told: str, chat_model: Make
) -> None:
    error = await failure_of(chat_model("http://127.0.0.1:1", api_key=key))
    assert (error.code, error.retryable) == ("chat_disabled", False)
    assert told in error.message
    assert_hidden(error)


@pytest.mark.parametrize("key", [f"{KEY}\nx", f"{KEY} x", f"{KEY}\u00e9", 7, b"x"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: Any) -> None:
    with pytest.raises(InvalidOptions) as caught:
        OpenAIChat("m", api_key=key)
    assert "api_key" in caught.value.message
    assert "SENTINEL" not in str(caught.value)


ECHOES = {
    "whole": KEY,
    "in a word": f"x{KEY}y",
    "starred": "SENTI***5678",
    "starred long": "SE*****************78",
    "dotted": "SENTINEL-ab...78",
    "ellipsis": "SENT…5678",
    "head alone": "SENTINEL-abc",
    "tail alone": "efgh12345678",
    "head and stars": "SENTIN****",
    "quoted": f'"{KEY[:12]}"',
    "twice": f"{KEY} {KEY}",
    "bearer": f"Bearer {KEY}",
    "x for characters": "SENTxxxxxxxxxxxx5678",
}


@pytest.mark.parametrize("case", ECHOES)
async def test_an_echo_of_the_key_is_masked(case: str, chat_model: Make) -> None:
    said = {"error": {"message": f"Incorrect API key {ECHOES[case]} provided"}}
    for reply in (whole(401, said), stream(data(said)), whole(200, said)):
        async with serving(reply) as server:
            error = await failure_of(chat_model(server.url, api_key=KEY))
        assert "Incorrect API key" in error.message
        assert "provided" in error.message
        assert "***" in error.message
        for piece in ("SENT", "5678", "abc", "h1234"):
            assert piece not in error.message


async def test_an_echo_of_a_secret_header_is_masked(chat_model: Make) -> None:
    said = {"error": {"message": f"bad {HEADER} for my-app"}}
    headers = {"Api-Key": HEADER, "X-Title": "my-app"}
    async with serving(whole(401, said)) as server:
        error = await failure_of(chat_model(server.url, headers=headers))
        assert server.requests[0].headers["api-key"] == HEADER
    assert error.message.endswith("bad *** for my-app")


async def test_other_text_of_an_error_is_left_alone(chat_model: Make) -> None:
    words = "The model `gpt-x` ... was **not** found (see https://example.org/docs…) xxxx"
    async with serving(whole(400, {"error": {"message": words}})) as server:
        error = await failure_of(chat_model(server.url, api_key=KEY))
    assert words in error.message


def assert_hidden(error: ModelError) -> None:
    """Neither the error, nor what hangs on it, nor its traceback with all values shows the key."""
    assert error.__cause__ is None
    assert error.__context__ is None
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    shown = "".join(told.format()) + repr(error) + repr(vars(error))
    assert "SENTINEL" not in shown
    assert "HEADERSECRET" not in shown


async def test_the_key_shows_nowhere(chat_model: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secrets: dict[str, Any] = {"api_key": KEY, "headers": {"X-Token": HEADER}}
    async with serving(
        whole(401, SAID), stream(data(SAID)), stream(delta(content="x")), [Drop()]
    ) as server:
        model = chat_model(server.url, **secrets)
        del secrets
        for _ in range(4):
            assert_hidden(await failure_of(model))
        assert server.requests[3].headers["authorization"] == f"Bearer {KEY}"
    shown = [repr(model), str(model), repr(model.info), *map(repr, vars(model).values())]
    shown += [record.getMessage() for record in caplog.records]
    assert caplog.records
    assert "SENTINEL" not in json.dumps(shown)
    assert "HEADERSECRET" not in json.dumps(shown)


# --- options ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        ("http://h:1", "http://h:1/v1/chat/completions"),
        ("http://h:1/", "http://h:1/v1/chat/completions"),
        ("http://h/v1", "http://h/v1/chat/completions"),
        (" http://h/v1/ ", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions/", "http://h/v1/chat/completions"),
        ("https://h/openai/v1", "https://h/openai/v1/chat/completions"),
        ("https://h/openai/deployments/x", "https://h/openai/deployments/x/chat/completions"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
    ],
)
def test_an_address_may_be_written_in_every_usual_way(base_url: str, address: str) -> None:
    assert repr(OpenAIChat("m", base_url=base_url)) == f"OpenAIChat('m', base_url={address!r})"


async def test_the_query_of_an_address_is_sent_and_not_shown(chat_model: Make) -> None:
    async with serving(whole(404, SAID)) as server:
        model = chat_model(f"{server.url}?api-version=7")
        error = await failure_of(model)
        assert server.requests[0].target == "/v1/chat/completions?api-version=7"
    assert "api-version" not in str(error) + repr(model)


@pytest.mark.parametrize(
    "base_url",
    [
        "",
        "h:1",
        "localhost:8000/v1",
        "ftp://h",
        "http://",
        "http:///v1",
        "http://h:port",
        "http://a b",
    ],
)
def test_what_is_no_address_is_refused_by_its_name(base_url: str) -> None:
    with pytest.raises(InvalidOptions, match="base_url") as caught:
        OpenAIChat("m", base_url=base_url)
    assert repr(base_url) in caught.value.message
    assert "http://localhost" in (caught.value.advice or "")


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    with pytest.raises(InvalidOptions, match="base_url") as caught:
        OpenAIChat("m", base_url="http://me:SENTINEL@h/v1")
    assert "SENTINEL" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"model": ""}, "model"),
        ({"model": 7}, "model"),
        ({"base_url": 7}, "base_url"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"timeout_s": float("nan")}, "timeout_s"),
        ({"extra_body": {"messages": []}}, "messages"),
        ({"extra_body": {"x": object()}}, "extra_body"),
        ({"extra_body": 7}, "extra_body"),
        ({"headers": {"a b": "c"}}, "'a b'"),
        ({"headers": {"a": "b\r\nc: d"}}, "'a'"),
        ({"headers": {"a": 7}}, "'a'"),
    ],
)
def test_misuse_is_refused_when_the_model_is_made(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOptions) as caught:
        OpenAIChat(**{"model": "m", **options})
    assert named in caught.value.message


def test_a_label_says_whose_model_it_is() -> None:
    assert OpenAIChat("gpt-x").info.label == "openai:gpt-x"
    assert OpenAIChat("llama", base_url="http://localhost:11434").info.label == (
        "llama at localhost:11434"
    )


async def test_the_request_is_what_the_api_documents(chat_model: Make) -> None:
    async with serving(stream(delta("stop") + DONE)) as server:
        model = chat_model(server.url, extra_body={"seed": 7}, include_usage=False)
        await events_of(model)
        (request,) = server.requests
    assert request.target == "/v1/chat/completions"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert request.json == {
        "model": "m-1",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "seed": 7,
    }
