"""Another model, or another thinking level, from the next run on: stored first, and for good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from agent_widget.core.errors import InvalidOptions, NoCredentials
from agent_widget.core.events import ModelChanged, ThinkingChanged
from agent_widget.engine.models import ModelOptions
from agent_widget.policy.retry import RetrySettings
from agent_widget.providers.base import Model, ModelInfo
from agent_widget.store.memory import MemoryStore
from agent_widget.testing.doubles import Gate, ScriptedModel, text
from tests.engine.support import FailingStore, code_of, opened

pytestmark = pytest.mark.anyio

OFF = RetrySettings(enabled=False)


class Thinker(ScriptedModel):
    """Answers anything; reasons at ``levels``."""

    def __init__(self, name: str, *levels: str) -> None:
        super().__init__([[text(f"I am {name}.")]] * 9, name=name)
        self._levels = levels

    @property
    def info(self) -> ModelInfo:
        return replace(super().info, thinking_levels=self._levels)


def resolver(models: Mapping[str, Model]) -> Any:
    def resolve(wanted: str | Model) -> Model:
        if not isinstance(wanted, str):
            return wanted
        if wanted == "locked":
            raise NoCredentials("locked needs a key.")
        if wanted not in models:
            raise InvalidOptions(f"There is no {wanted}.")
        return models[wanted]

    return resolve


def options(*scoped: str, known: Mapping[str, Model] | None = None) -> ModelOptions:
    return ModelOptions(scoped=scoped, resolve=resolver(known or {}), retry=OFF)


async def test_a_model_is_that_of_the_next_run_and_a_run_under_way_keeps_its_own() -> None:
    gate = Gate()
    first = ScriptedModel([[text("one"), gate]], name="first")
    second = Thinker("second")
    async with opened(first, models=options(known={"second": second})) as case:
        run = await case.session.send("hi")
        await gate.reached.wait()
        await case.session.models.set_model("second")
        gate.open()
        while not run.future.done():
            await case.session.wait_for_idle()
        assert run.future.result().text == "one"
        assert (await case.send("who are you?")).text == "I am second."
        assert case.session.view.model.label == "second"
        (record,) = [r.data for r in await case.records() if r.kind == "model_change"]
        assert (record["model"], record["label"]) == ("second", "second")
    assert first.is_closed
    assert second.is_closed


async def test_what_cannot_be_chosen_changes_nothing() -> None:
    store = FailingStore()
    async with opened(
        Thinker("first"), models=options(known={"second": Thinker("second")}), store=store
    ) as case:
        models = case.session.models
        before, kinds = case.session.view, await case.kinds()
        assert await code_of(models.set_model("nonsense")) == "assembly_failed"
        assert await code_of(models.set_model("locked")) == "no_credentials"
        store.kinds.add("model_change")
        assert await code_of(models.set_model("second")) == "STORAGE_ERROR"
        store.kinds.clear()
        assert (models.alias, case.session.view.model) == ("first", before.model)
        assert await case.kinds() == kinds
        assert (await case.send("hi")).text == "I am first."


async def test_cycling_goes_round_the_scoped_models_and_tells_what_it_came_to() -> None:
    known: dict[str, Model] = {name: Thinker(name, "low", "high") for name in ("b", "c")}
    async with opened(Thinker("a"), models=options("a", "b", "c", known=known)) as case:
        models = case.session.models
        cycle = await models.cycle_model()
        assert cycle is not None
        assert (cycle.model, cycle.thinking_level, cycle.is_scoped) == ("b", None, True)
        steps = [await models.cycle_model("previous") for _ in range(2)]
        assert [step.model for step in steps if step] == ["a", "c"]
        assert models.scoped_models == ("a", "b", "c")
    async with opened(Thinker("a")) as case:
        assert case.session.models.scoped_models == ()
        assert await case.session.models.cycle_model() is None


async def test_thinking_is_clamped_stored_told_and_asked_for() -> None:
    model = Thinker("m", "minimal", "low", "high")
    plain = Thinker("plain")
    store = FailingStore()
    async with opened(model, models=options(known={"plain": plain}), store=store) as case:
        models = case.session.models
        await case.send("as you like")
        assert models.supports_thinking()
        assert await models.set_thinking_level("medium")
        assert await models.set_thinking_level("high")  # is so already: no second record
        await case.send("think")
        assert await models.cycle_thinking_level() == "minimal"
        store.kinds.add("thinking_level_change")
        assert not await models.set_thinking_level("low")
        assert await models.cycle_thinking_level() is None
        store.kinds.clear()
        await case.send("think")
        assert [request.thinking for request in model.requests] == [None, "high", "minimal"]
        told = [event.level for event in case.events if isinstance(event, ThinkingChanged)]
        kept = [r.data["level"] for r in await case.records() if r.kind == "thinking_level_change"]
        assert told == kept == ["high", "minimal"]
        assert await models.set_thinking_level(8000)
        await case.send("think so many tokens")
        assert model.requests[-1].thinking == models.thinking_level == "8000"
        for wrong in ("hard", 0, -1, True):
            with pytest.raises(InvalidOptions, match="no level"):
                await models.set_thinking_level(wrong)
        await models.set_model("plain")
        assert (models.thinking_level, models.available_thinking_levels()) == ("off", ("off",))
        assert await models.cycle_thinking_level() is None
        await case.send("hi")
        assert plain.requests[-1].thinking is None


async def test_a_choice_outlives_the_session_unless_code_says_something_else() -> None:
    store = MemoryStore()

    def known() -> dict[str, Model]:
        return {"second": Thinker("second", "low", "high")}

    async with opened(Thinker("first"), models=options(known=known()), store=store) as case:
        session_id = case.session.session_id
        await case.session.models.set_model("second")
        await case.session.models.set_thinking_level("high")
    again: dict[str, Any] = {"store": store, "session_id": session_id}
    async with opened(Thinker("first"), models=options(known=known()), opening=2, **again) as case:
        view = case.session.view.model
        assert (view.label, view.thinking, view.alias) == ("second", "high", "second")
        assert [e.label for e in case.events if isinstance(e, ModelChanged)] == ["second"]
    async with opened(Thinker("first"), models=options(), opening=3, **again) as case:
        assert case.session.view.model.label == "first"
        assert [n.code for n in case.session.view.notices] == ["model_not_restored"]
    async with opened(Thinker("third"), models=options(known=known()), opening=4, **again) as case:
        assert case.session.view.model.label == "third"


async def test_the_status_of_a_model_says_what_is_missing() -> None:
    async with opened(Thinker("first"), models=options()) as case:
        models = case.session.models
        assert models.model_status().status == "review"
        assert models.model_status("nonsense").status == "unresolved"
        locked = models.model_status("locked")
        assert (locked.status, locked.problem) == ("unresolved", "locked needs a key.")
