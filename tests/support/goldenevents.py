"""Sessions that show each family of events, and the events they tell.

python -m tests.support.goldenevents    writes tests/vectors/events/*.json anew
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from agent_widget import Agent, tool
from agent_widget.core.errors import ModelError, SessionError, ToolFailure
from agent_widget.core.events import Todo
from agent_widget.core.eventwire import event_to_wire
from agent_widget.core.usage import Usage
from agent_widget.engine.hooks import Hooks
from agent_widget.engine.models import ModelOptions
from agent_widget.policy.compaction import Compaction
from agent_widget.policy.hooks import python_hook
from agent_widget.providers.base import ModelInfo
from agent_widget.providers.prices import PriceList
from agent_widget.testing.doubles import (
    Gate,
    ScriptedModel,
    Step,
    call,
    end,
    reasoning,
    text,
)
from agent_widget.tools.base import ToolContext
from tests.engine.support import Case, opened

FOLDER: Final = Path(__file__).parents[1] / "vectors" / "events"
_MADE_UP: Final = re.compile(r"([a-z]+)-\d+")
"""Ids that the session makes; those of a script's calls are named by the script."""

Play = Callable[[Case], Awaitable[None]]


@tool(read_only=True)
async def look(name: str, context: ToolContext) -> str:
    """Look at something."""
    context.progress("looking")
    return f"{name} is there"


@tool
async def change(name: str) -> str:
    """Change something."""
    return f"changed {name}"


@tool(read_only=True)
async def broken() -> str:
    """Always fail."""
    raise ToolFailure("no such luck")


async def conversation(case: Case) -> None:
    await case.send("hi")
    await case.session.rename("Greetings")
    await case.session.show_todos((Todo("greet", "completed"), Todo("go on", "in_progress")))


async def tools(case: Case) -> None:
    await case.send("look around")
    await case.session.set_active_tools_by_name(["look"])


async def permission(case: Case) -> None:
    run = await case.session.send("change things")
    for answer in ("allow_once", "deny"):
        question = await case.question()
        case.session.decide(question.permission_id, answer, "as I say")
    await asyncio.wrap_future(run.future)


async def agents(case: Case) -> None:
    await case.send("get help")


async def waiting(case: Case) -> None:
    run = await case.session.send("first")
    await GATES["waiting"].reached.wait()
    await case.session.send("second")
    await case.session.enqueue("last", "follow_up")
    await case.session.enqueue("never", "follow_up")
    _, last, never = case.session.inputs.waiting
    await case.session.inputs.edit(last.message_id, "at last")
    await case.session.inputs.withdraw([never.message_id])
    GATES["waiting"].open()
    await asyncio.wrap_future(run.future)


async def branches(case: Case) -> None:
    await case.send("one")
    point = await case.session.tree.checkpoint("start")
    await case.send("two")
    await case.session.tree.restore(point)
    await case.send("other two")
    await case.session.reset()


async def compaction(case: Case) -> None:
    await case.send("one")
    with contextlib.suppress(SessionError):
        await case.session.compact()
    await case.send("two")
    await case.session.compact()
    await case.send("three")
    await case.send("four")


async def endings(case: Case) -> None:
    await case.send("too long")
    case.session.dismiss(case.session.view.notices[-1].nid)
    run = await case.session.send("stop me")
    await GATES["endings"].reached.wait()
    await case.session.interrupt()
    await asyncio.wrap_future(run.future)
    await case.send("fail")
    await case.retry()


async def silence(case: Case) -> None:
    await case.send("say something")


async def hooks(case: Case) -> None:
    await case.send("change things")


def _hooks() -> Hooks:
    def guard(happening: Mapping[str, Any]) -> object:
        if happening["args"] == {"name": "a"}:
            return {"decision": "deny", "reason": "Not a."}
        return None

    return Hooks([python_hook("before_tool", guard), python_hook("after_run", lambda _: None)])


async def models(case: Case) -> None:
    await case.send("look")
    await case.session.models.cycle_model()
    await case.session.models.set_thinking_level("medium")


async def takeover(case: Case) -> None:
    await case.send("look")


class Thinker(ScriptedModel):
    """Reasons, more or less."""

    @property
    def info(self) -> ModelInfo:
        return replace(super().info, thinking_levels=("low", "high"))


async def no_wait(_seconds: float) -> None:
    """Time passes at once."""


def _options(**more: Any) -> ModelOptions:
    return ModelOptions(sleep=no_wait, chance=lambda: 0.0, **more)


GATES: dict[str, Gate] = {}


def _scripts() -> dict[str, tuple[Play, list[Step], dict[str, Any]]]:
    """What each session does, what its model answers, and how it is opened."""
    GATES.update(waiting=Gate(), endings=Gate())
    helper = Agent("helper", "Helps.")
    return {
        "conversation": (
            conversation,
            [[reasoning("hm"), text("Hel"), text("lo"), end("stop", Usage(1500, 342, 20, 4))]],
            {},
        ),
        "tools": (
            tools,
            [
                [text("Let me look."), call("look", {"name": "a"}, id="c1")],
                [call("broken", id="c2")],
                [call("look", {"names": "b"}, id="c3")],
                [call("nothing", id="c4")],
                [text("Done.")],
            ],
            {"tools": [look, broken]},
        ),
        "permission": (
            permission,
            [
                [
                    call("change", {"name": "a"}, id="c1"),
                    call("change", {"name": "b"}, id="c2"),
                    call("change", {"name": "c"}, id="c3"),
                ],
                [text("Done.")],
            ],
            {"tools": [change], "permission": {"rules": {"allow": ["change(name=c)"]}}},
        ),
        "agents": (
            agents,
            [
                [call("delegate_to_helper", {"task": "look"}, id="d1")],
                [reasoning("so"), call("look", {"name": "a"}, id="c1")],
                [text("It is there.")],
                [text("Done.")],
            ],
            {"tools": [look], "agents": [helper]},
        ),
        "waiting": (
            waiting,
            [[text("a"), GATES["waiting"]], [text("b")], [text("c")]],
            {"while_running": "steer"},
        ),
        "branches": (branches, [[text("1")], [text("2")], [text("3")]], {}),
        "compaction": (
            compaction,
            [
                [text("1")],
                [text("2")],
                _BUSY,
                [text("They said one."), end("stop", Usage(50, 9))],
                [text("3"), end("stop", Usage(990, 5))],
                [text("They said two."), end("stop", Usage(40, 8))],
                ModelError("bad_request", "The prompt is too long.", is_too_long=True),
            ],
            {"compaction": Compaction(keep_tokens=5, context_window=1_000), "models": _options()},
        ),
        "models": (
            models,
            [
                [reasoning("hm"), text("hal"), call("look", {"name": "a"}, id="c1"), _BUSY],
                [call("delegate_to_helper", {"task": "look"}, id="d1")],
                [text("wro"), _BUSY],
                [text("I see.")],
                [text("Done.")],
            ],
            {"agents": [helper], "models": _options(scoped=("scripted", Thinker([], name="b")))},
        ),
        "takeover": (
            takeover,
            [[text("so"), _REFUSED]],
            {"models": _options(fallback=(Thinker([[text("Done.")]], name="b"),))},
        ),
        "endings": (
            endings,
            [
                [text("too lo"), end("length")],
                [text("half"), GATES["endings"]],
                [text("ha"), ModelError("network", "The server is gone.", advice="Try again.")],
                [text("whole")],
            ],
            {},
        ),
        "silence": (
            silence,
            [[text(" "), reasoning("hm")], [], [text("Here."), end("stop", Usage(9, 1))]],
            {"prices": PriceList({"scripted": {"input_mtok": 1, "output_mtok": 2}})},
        ),
        "hooks": (
            hooks,
            [
                [call("change", {"name": "a"}, id="c1")],
                [call("change", {"name": "b"}, id="c2")],
                [text("Done.")],
            ],
            {"tools": [change], "permission": {"mode": "allow_all"}, "hooks": _hooks()},
        ),
    }


_BUSY: Final = ModelError("network", "It is busy.", status=529, retryable=True)
_REFUSED: Final = ModelError("chat_disabled", "The key is refused.", status=401)
NAMES: Final = tuple(_scripts())


@asynccontextmanager
async def played(name: str, watch: Play | None = None) -> AsyncIterator[Case]:
    """The session ``name`` after it was played; it is closed when the block ends.

    ``watch`` is awaited before, when the session is open.
    """
    play, steps, options = _scripts()[name]
    async with opened(steps, **options) as case:
        if watch is not None:
            await watch(case)
        await play(case)
        yield case


async def told(name: str) -> list[dict[str, Any]]:
    """What the session ``name`` tells, in wire form, without what differs from run to run.

    Times are left out, and the ids that it makes are numbered as they appear.
    """
    async with played(name) as case:
        pass
    known: dict[str, str] = {}
    return [_settled(event_to_wire(event), known) for event in case.events]


def _settled(wire: Mapping[str, Any], known: dict[str, str]) -> dict[str, Any]:
    left = {key: value for key, value in wire.items() if key not in ("ts", "durationMs")}
    if "cwd" in left:
        left["cwd"] = "/somewhere"
    settled: dict[str, Any] = _renamed(left, known)
    return settled


def _renamed(value: Any, known: dict[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _renamed(item, known) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, known) for item in value]
    found = _MADE_UP.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return value
    count = sum(name.startswith(f"{found[1]}-") for name in known.values())
    return known.setdefault(value, f"{found[1]}-{count + 1}")


async def _write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        lines = [json.dumps(wire, ensure_ascii=False) for wire in await told(name)]
        text_of_file = "[\n" + ",\n".join(lines) + "\n]\n"
        (FOLDER / f"{name}.json").write_text(text_of_file, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(_write())
