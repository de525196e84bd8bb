"""The models that options name: refused at once, or used as they stand."""

from __future__ import annotations

from typing import Any

import pytest

from agent_widget import AgentWidget, create_session
from agent_widget.core.errors import InvalidOptions, ModelError, SessionError
from agent_widget.providers.keys import TypedKeys
from agent_widget.surfaces.modelchoice import model_choice
from agent_widget.testing.doubles import ScriptedModel, text

pytestmark = pytest.mark.anyio

DOWN = ModelError("network", "It is down.", status=503, retryable=True)
"""A failure of one that another model makes good."""


@pytest.mark.parametrize("as_list", [True, False])
async def test_a_list_of_models_and_a_fallback_are_the_same(as_list: bool) -> None:
    first, second = ScriptedModel([DOWN], name="a"), ScriptedModel([[text("Hi.")]], name="b")
    options: dict[str, Any] = {} if as_list else {"fallback": [second]}
    async with await create_session([first, second] if as_list else first, **options) as chat:
        assert (await chat.ask("hi")).text == "Hi."
        assert chat.view.model.choices == ("a", "b")
        await chat.set_model("b")
        assert chat.view.model.label == "b"


@pytest.mark.parametrize(
    "options",
    [
        {"model": []},
        {"model": ["offline", 7]},
        {"fallback": "offline"},
        {"models": "offline"},
        {"models": [7]},
        {"thinking": "hard"},
        {"model": "offline", "fallback": ["nonsense"]},
    ],
    ids=str,
)
def test_what_names_no_model_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOptions):
        AgentWidget(**options)


def test_a_budget_in_dollars_refuses_a_model_without_a_price_wherever_it_comes_from() -> None:
    unpriced = ScriptedModel([], name="acme-9.1")
    known = {"acme-1": {"input_mtok": 1, "output_mtok": 1}}
    limits: dict[str, Any] = {"budget": {"max_usd": 0.01}, "prices": known}
    with pytest.raises(InvalidOptions, match=r"acme-9\.1"):
        AgentWidget(ScriptedModel([], name="acme-1"), fallback=[unpriced], **limits)
    with AgentWidget(ScriptedModel([], name="acme-1"), **limits) as widget:
        with pytest.raises(SessionError) as caught:
            widget.set_model(unpriced)
        assert caught.value.code == "assembly_failed"
        assert widget.session.view.model.label == "acme-1"


@pytest.mark.parametrize(
    ("alias", "is_given"),
    [("openai-chat:m", True), ("openai:other", True), ("elsewhere:m", False)],
)
def test_a_key_goes_to_no_server_but_the_first_models(alias: str, is_given: bool) -> None:
    given: dict[str, Any] = {"base_url": "http://127.0.0.1:9/v1", "api_key": "k-1"}
    asked: list[dict[str, Any]] = []

    def resolved(_name: str, **options: Any) -> ScriptedModel:
        asked.append(options)
        return ScriptedModel([])

    options = {**given, "fallback": [alias]}
    model_choice("openai:m", options, TypedKeys(), lambda _model: None, resolved)
    nothing = dict.fromkeys(given)
    assert asked == [given, given if is_given else nothing]
