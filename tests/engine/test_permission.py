"""Questions: asked one at a time, answered once, denied when nobody can answer."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from agent_widget import tool
from agent_widget.core.errors import InvalidOptions, SessionError
from agent_widget.core.events import PermissionDecided
from agent_widget.engine.approvals import READING_MS
from agent_widget.engine.permissions import Judgement
from agent_widget.engine.subagents import Agent
from agent_widget.policy.permission import Decision, Question
from agent_widget.testing.doubles import ScriptedModel, Step, call, text
from tests.engine.support import Case, opened, output_text

pytestmark = pytest.mark.anyio

RAN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


@tool
def change(name: str) -> str:
    """Change something."""
    RAN.append(name)
    return f"changed {name}"


@tool(read_only=True)
def look(name: str) -> str:
    """Look at something."""
    return name


def decisions(case: Case) -> list[tuple[str, str]]:
    found = [event for event in case.events if isinstance(event, PermissionDecided)]
    return [(event.decision, event.decision_source) for event in found]


STEPS: list[Step] = [[call("change", {"name": "a"})], [text("end")]]


async def test_allow_once_runs_this_call_and_asks_again_for_the_next() -> None:
    steps: list[Step] = [
        [call("change", {"name": "a"})],
        [call("change", {"name": "b"})],
        [text("end")],
    ]
    async with opened(steps, [change]) as case:
        run = await case.session.send("go")
        for name in "ab":
            question = await case.question()
            assert question.args == {"name": name}
            assert not RAN or RAN == ["a"]
            assert case.session.view.phase == "awaiting_confirmation"
            case.session.decide(question.permission_id, "allow_once")
        assert (await asyncio.wrap_future(run.future)).text == "end"
        assert RAN == ["a", "b"]
        assert decisions(case) == [("allow", "user")] * 2


async def test_allow_for_the_session_asks_no_more_for_that_tool() -> None:
    steps: list[Step] = [
        [call("change", {"name": "a"}), call("change", {"name": "b"})],
        [call("change", {"name": "c"})],
        [text("end")],
    ]
    async with opened(steps, [change]) as case:
        run = await case.session.send("go")
        question = await case.question()
        case.session.decide(question.permission_id, "allow_session")
        await asyncio.wrap_future(run.future)
        assert RAN == ["a", "b", "c"]
        assert decisions(case) == [("allow", "user"), ("allow", "rule"), ("allow", "rule")]
        assert case.person.asked.empty()


async def test_deny_with_a_reason_is_cancelled_and_the_model_reads_the_reason() -> None:
    model = ScriptedModel(STEPS)
    async with opened(model, [change]) as case:
        run = await case.session.send("go")
        question = await case.question()
        case.session.decide(question.permission_id, "deny", "use the copy")
        await asyncio.wrap_future(run.future)
        [part] = model.requests[1].messages[-1].tool_calls
        assert part.state == "cancelled"
        assert "use the copy" in str(part.error)
        assert RAN == []
        assert decisions(case) == [("deny", "user")]


async def test_two_calls_of_one_tool_ask_one_after_the_other_and_the_right_one_waits() -> None:
    steps: list[Step] = [
        [call("change", {"name": "a"}), call("change", {"name": "b"})],
        [text("end")],
    ]
    async with opened(steps, [change]) as case:
        run = await case.session.send("go")
        for name, states in [
            ("a", ["awaiting-confirmation", "running"]),
            ("b", ["cancelled", "awaiting-confirmation"]),
        ]:
            question = await case.question()
            assert question.args == {"name": name}
            assert [part.state for part in case.session.messages[-1].tool_calls] == states
            waiting = [call.progress for call in case.session.view.live.values()]
            assert waiting == (["Waiting for the call before it"] if name == "a" else [None])
            case.session.decide(question.permission_id, "deny")
        await asyncio.wrap_future(run.future)
        assert RAN == []


async def test_late_repeated_and_forged_answers_change_nothing() -> None:
    async with opened(STEPS, [change]) as case:
        run = await case.session.send("go")
        question = await case.question()
        for pid, answer, code in [
            ("p-forged", "allow_once", "QUESTION_CLOSED"),
            (question.permission_id, "allow_everything", "INVALID_INPUT"),
            (question.permission_id, None, "INVALID_INPUT"),
        ]:
            with pytest.raises(SessionError) as caught:
                case.session.decide(pid, answer)
            assert caught.value.code == code
        case.session.decide(question.permission_id, "deny")
        with pytest.raises(SessionError) as caught:
            case.session.decide(question.permission_id, "allow_once")
        assert caught.value.code == "QUESTION_CLOSED"
        await asyncio.wrap_future(run.future)
        with pytest.raises(SessionError):
            case.session.decide(question.permission_id, "allow_once")
        assert RAN == []


async def test_a_click_in_the_first_half_second_is_refused_and_the_question_stays_open() -> None:
    steps: list[Step] = [
        [call("change", {"name": "a"}), call("change", {"name": "b"})],
        [text("end")],
    ]
    async with opened(steps, [change]) as case:
        run = await case.session.send("go")
        for name in "ab":  # the next question has a first half second of its own
            question = await case.unread_question()
            asked_ms = case.asked()[-1].ts
            for now_ms in (asked_ms, asked_ms + 1, asked_ms + READING_MS - 2):
                case.clock.now_ms = now_ms
                with pytest.raises(SessionError) as caught:
                    case.session.decide(question.permission_id, "allow_once")
                assert caught.value.code == "QUESTION_TOO_EARLY"
                shown = case.session.view.question
                assert shown is not None
                assert shown.pid == question.permission_id
            assert name not in RAN
            case.clock.now_ms = asked_ms + READING_MS
            case.session.decide(question.permission_id, "allow_once")
        await asyncio.wrap_future(run.future)
        assert RAN == ["a", "b"]


async def test_a_clock_that_is_set_back_keeps_a_question_shut_no_longer_than_that() -> None:
    async with opened(STEPS, [change]) as case:
        run = await case.session.send("go")
        question = await case.unread_question()
        case.clock.now_ms -= 3_600_000
        with pytest.raises(SessionError, match="Read it"):
            case.session.decide(question.permission_id, "allow_once")
        case.clock.now_ms += READING_MS
        case.session.decide(question.permission_id, "allow_once")
        await asyncio.wrap_future(run.future)
        assert RAN == ["a"]


async def test_read_only_tools_ask_nothing() -> None:
    async with opened([[call("look", {"name": "a"})], [text("end")]], [look]) as case:
        assert (await case.send("go")).ok
        assert not case.asked()
        assert decisions(case) == [("allow", "mode")]


async def test_without_anybody_it_is_denied_and_one_notice_says_why() -> None:
    steps: list[Step] = [
        [call("change", {"name": "a"}), call("change", {"name": "b"})],
        [text("end")],
    ]
    async with opened(steps, [change], attended=False) as case:
        await case.send("go")
        assert RAN == []
        assert decisions(case) == [("deny", "none")] * 2
        assert [part.state for part in case.session.messages[1].tool_calls] == ["error"] * 2
        [notice] = case.session.view.notices
        assert notice.code == "nobody_to_ask"
        assert "ask_user" in notice.message


async def test_the_notice_says_why_it_asked_where_there_is_a_reason() -> None:
    judges: dict[str, Any] = {"attended": False, "adjudicator": lambda _call: "safe"}
    async with opened([[call("change", {"name": "a"})], [text("end")]], [change], **judges) as case:
        await case.send("go")
        [notice] = case.session.view.notices
        assert "It asked because: The adjudicator answered 'safe'. " in notice.message


async def raising(_question: Question) -> bool:
    raise RuntimeError("the guard fell over")


async def allowing(_question: Question) -> bool:
    return True


@pytest.mark.parametrize(
    ("ask_user", "ran", "decision"),
    [
        (lambda _q: True, ["a"], ("allow", "user")),
        (lambda _q: "allow_once", ["a"], ("allow", "user")),
        (allowing, ["a"], ("allow", "user")),
        (lambda q: Decision("deny", f"not {q.tool}"), [], ("deny", "user")),
        (lambda _q: False, [], ("deny", "user")),
        (lambda _q: None, [], ("deny", "user")),
        (lambda _q: "yes please", [], ("deny", "none")),
        (lambda _q: 1, [], ("deny", "none")),
        (raising, [], ("deny", "none")),
        (lambda _q: 1 / 0, [], ("deny", "none")),
    ],
)
async def test_what_ask_user_returns_decides_and_anything_unclear_denies(
    ask_user: Any, ran: list[str], decision: tuple[str, str]
) -> None:
    async with opened(STEPS, [change], ask_user=ask_user) as case:
        assert (await case.send("go")).ok
        assert ran == RAN
        assert decisions(case) == [decision]
        assert case.session.view.question is None  # code was asked, no card shows buttons


async def test_the_question_holds_exactly_what_will_run() -> None:
    weird = "ok\u202e\n" + "x" * 5000
    async with opened([[call("change", {"name": weird})], [text("end")]], [change]) as case:
        run = await case.session.send("go")
        question = await case.question()
        assert question.args == {"name": weird}
        shown = case.session.view.question
        assert shown is not None
        assert len(shown.text) >= len(weird)
        case.session.decide(question.permission_id, "allow_once")
        await asyncio.wrap_future(run.future)
        assert [weird] == RAN


async def test_a_helper_asks_in_its_own_name_and_its_denial_is_its_own() -> None:
    helper = Agent("buyer", "Buys.", tools=[change])
    model = ScriptedModel(
        [
            [call("delegate_to_buyer", {"task": "buy a mug"}, id="d1")],
            [text("I try."), call("change", {"name": "cart"}, id="c1")],
            [text("not allowed")],
            [text("The buyer may not.")],
        ]
    )
    async with opened(model, [look], agents=[helper]) as case:
        run = await case.session.send("go")
        question = await case.question()
        assert question.agent == "buyer"
        case.session.decide(question.permission_id, "deny")
        assert (await asyncio.wrap_future(run.future)).text == "The buyer may not."
        [delegate] = case.session.messages[1].tool_calls
        assert delegate.state == "done"
        assert delegate.agent is not None
        nested = [(m.text, [part.state for part in m.tool_calls]) for m in delegate.agent.messages]
        assert nested == [("I try.", ["cancelled"]), ("not allowed", [])]
        assert "not allowed" in str(delegate.output)
        first_of_helper = model.requests[1]
        assert [spec.name for spec in first_of_helper.tools] == ["change"]
        assert [m.text for m in first_of_helper.messages] == ["buy a mug"]
        assert RAN == []


async def test_a_helper_has_the_tools_of_its_session_but_no_helpers_of_its_own() -> None:
    model = ScriptedModel([[call("delegate_to_h", {"task": "t"})], [text("x")], [text("y")]])
    async with opened(model, [look, change], agents=[Agent("h", "Helps.")]) as case:
        await case.send("go")
        assert [spec.name for spec in model.requests[1].tools] == ["look", "change"]


@tool(name="bash", kind="execute")
def shell(command: str) -> str:
    """Run a command (here: only remember it)."""
    RAN.append(command)
    return f"ran {command}"


async def answered(
    steps: Any, tools: Any, answer: str, **options: Any
) -> tuple[Case, ScriptedModel]:
    """A run whose one question was answered so."""
    fields = {name: options.pop(name) for name in ("args", "rules", "reason") if name in options}
    model = ScriptedModel(steps)
    async with opened(model, tools, **options) as case:
        run = await case.session.send("go")
        question = await case.question()
        case.session.decide(question.permission_id, answer, **fields)
        await asyncio.wrap_future(run.future)
    return case, model


async def test_edited_arguments_run_are_recorded_and_told_to_the_model() -> None:
    case, model = await answered(STEPS, [change], "edit", args={"name": "b"})
    assert RAN == ["b"]
    [part] = model.requests[1].messages[-1].tool_calls
    assert part.input == {"name": "a"}
    assert "edited the arguments" in output_text(part)
    assert '"b"' in output_text(part)
    stored = [r.data for r in await case.records() if r.kind == "permission_decided"]
    assert [data["edited_args"] for data in stored] == [{"name": "b"}]
    assert case.session.view.facts[part.id].is_edited


@pytest.mark.parametrize("args", [{}, {"name": None}, {"nam": "x"}, None, "b", [1]])
async def test_an_edit_that_does_not_fit_leaves_the_question_open(args: Any) -> None:
    async with opened(STEPS, [change]) as case:
        run = await case.session.send("go")
        question = await case.question()
        with pytest.raises(SessionError) as caught:
            case.session.decide(question.permission_id, "edit", args=args)
        assert caught.value.code == "INVALID_ARGS"
        assert case.session.view.question is not None
        case.session.decide(question.permission_id, "deny")
        await asyncio.wrap_future(run.future)
        assert RAN == []


async def test_an_edit_cannot_get_around_a_deny_rule() -> None:
    steps: list[Step] = [[call("bash", {"command": "make docs"})], [text("end")]]
    rules = {"rules": {"deny": ["bash(rm *)"]}}
    case, _ = await answered(
        steps, [shell], "edit", args={"command": "make docs && rm -r x"}, permission=rules
    )
    assert RAN == []
    assert decisions(case)[-1] == ("deny", "rule")


async def test_a_rule_for_the_session_lets_such_calls_run_and_no_others() -> None:
    steps: list[Step] = [
        [call("bash", {"command": "make docs"})],
        [call("bash", {"command": "make docs"})],
        [call("bash", {"command": "make docs; rm -r x"})],
        [text("end")],
    ]
    async with opened(steps, [shell]) as case:
        run = await case.session.send("go")
        question = await case.question()
        assert "bash(make docs)" in question.rules
        case.session.decide(question.permission_id, "allow_session", rules=["bash(make docs)"])
        second = await case.question()
        assert second.args == {"command": "make docs; rm -r x"}
        case.session.decide(second.permission_id, "deny")
        await asyncio.wrap_future(run.future)
        assert RAN == ["make docs", "make docs"]


@pytest.mark.parametrize("rules", [["*"], ["bash("], [7], "bash", ["bash()"]])
async def test_a_rule_that_is_none_is_refused_and_the_question_stays(rules: Any) -> None:
    steps: list[Step] = [[call("bash", {"command": "make docs"})], [text("end")]]
    async with opened(steps, [shell]) as case:
        run = await case.session.send("go")
        question = await case.question()
        with pytest.raises(SessionError):
            case.session.decide(question.permission_id, "allow_session", rules=rules)
        assert case.session.view.question is not None
        case.session.decide(question.permission_id, "deny")
        await asyncio.wrap_future(run.future)
        assert RAN == []


@pytest.mark.parametrize(
    ("permission", "command", "ran", "decision"),
    [
        ({"mode": "allow_all"}, "make docs", True, ("allow", "mode")),
        ({"mode": "deny_all"}, "make docs", False, ("deny", "mode")),
        ({"mode": "plan"}, "make docs", False, ("deny", "mode")),
        ({"rules": {"allow": ["bash(make *)"]}}, "make docs", True, ("allow", "rule")),
        ({"mode": "allow_all", "rules": {"deny": ["bash"]}}, "ls", False, ("deny", "rule")),
        (
            {"rules": {"allow": ["bash(make *)"], "deny": ["bash(make docs)"]}},
            "make docs",
            False,
            ("deny", "rule"),
        ),
    ],
)
async def test_mode_and_rules_decide_and_the_record_names_what_did(
    permission: dict[str, Any], command: str, ran: bool, decision: tuple[str, str]
) -> None:
    steps: list[Step] = [[call("bash", {"command": command})], [text("end")]]
    async with opened(steps, [shell], permission=permission) as case:
        await case.send("go")
        assert ([command] == RAN) is ran
        assert decisions(case) == [decision]
        assert not case.asked()
        [stored] = [r.data for r in await case.records() if r.kind == "permission_decided"]
        assert (stored["decision"], stored["source"]) == decision


async def test_an_ask_rule_asks_even_where_the_mode_allows_all() -> None:
    options = {"mode": "allow_all", "rules": {"ask": ["bash(make *)"]}}
    steps: list[Step] = [[call("bash", {"command": "make docs"})], [text("end")]]
    case, _ = await answered(steps, [shell], "allow_once", permission=options)
    assert RAN == ["make docs"]
    assert case.session.view.mode_warning is not None


async def test_the_next_questions_of_an_answer_are_listed() -> None:
    steps: list[Step] = [[call("change", {"name": n}, id=f"c-{n}") for n in "abc"], [text("end")]]
    async with opened(steps, [change]) as case:
        run = await case.session.send("go")
        for left in (["c-b", "c-c"], ["c-c"], []):
            question = await case.question()
            assert [queued.tool_call_id for queued in case.session.view.queue] == left
            case.session.decide(question.permission_id, "deny")
        await asyncio.wrap_future(run.future)


async def safe(_call: Any) -> Judgement:
    return Judgement("safe", "looks fine")


async def broken_judge(_call: Any) -> Judgement:
    raise RuntimeError("no idea")


@pytest.mark.parametrize(
    ("adjudicator", "asks", "reason"),
    [
        (safe, False, None),
        (lambda _call: Judgement("safe"), False, None),
        (lambda _call: Judgement("dangerous", "it deletes"), True, "it deletes"),
        (broken_judge, True, "The adjudicator failed: no idea"),
        (lambda _call: "safe", True, "The adjudicator answered 'safe'."),
    ],
)
async def test_an_adjudicator_answers_what_would_ask_and_a_broken_one_does_not(
    adjudicator: Any, asks: bool, reason: str | None
) -> None:
    async with opened(STEPS, [change], adjudicator=adjudicator) as case:
        run = await case.session.send("go")
        if asks:
            question = await case.question()
            assert question.reason == reason
            case.session.decide(question.permission_id, "deny")
        await asyncio.wrap_future(run.future)
        assert ([] if asks else ["a"]) == RAN
        assert decisions(case) == [("deny", "user") if asks else ("allow", "adjudicator")]


@pytest.mark.parametrize(
    "describe", [lambda args: args["none"], lambda _args: "words", lambda: None]
)
async def test_a_call_that_its_tool_cannot_describe_is_shown_as_its_arguments(
    describe: Any,
) -> None:
    odd = tool(name="change", describe=describe)(change)
    async with opened([[call("change", {"name": "a"})], [text("end")]], [odd]) as case:
        run = await case.session.send("go")
        question = await case.question()
        assert (question.text, question.language) == ('{\n  "name": "a"\n}', "json")
        case.session.decide(question.permission_id, "allow_once")
        assert (await asyncio.wrap_future(run.future)).ok


@pytest.mark.parametrize("name", ["ask_user", "adjudicator"])
async def test_a_function_of_the_host_that_blocks_holds_up_neither_a_stop_nor_others(
    name: str,
) -> None:
    entered, release = asyncio.Event(), threading.Event()
    loop, here = asyncio.get_running_loop(), threading.current_thread()
    runs_here: list[bool] = []

    def blocks(_asked: object) -> bool:
        runs_here.append(threading.current_thread() is here)
        loop.call_soon_threadsafe(entered.set)
        return runs_here[-1] or release.wait(600)

    options: dict[str, Any] = {name: blocks}
    steps: list[Step] = [[call("change", {"name": "a"})], [text("and on")]]
    try:
        async with opened(steps, [change], **options) as case:
            run = await case.session.send("go")
            await asyncio.wait_for(entered.wait(), 60)
            assert runs_here == [False]
            await case.session.interrupt()
            assert (await asyncio.wrap_future(run.future)).reason == "interrupted"
            assert (await case.send("again")).text == "and on"
            assert not release.is_set()
    finally:
        release.set()
    assert RAN == []


def dangerous(_call: Any) -> Judgement:
    return Judgement("dangerous", "the host says so")


@pytest.mark.parametrize(
    ("adjudicator", "permission", "asks", "notices"),
    [
        (None, None, False, []),
        (None, {"rules": {"allow": ["look"]}}, False, []),
        (None, {"mode": "default"}, True, ["adjudicator_skipped_by_mode"]),
        (False, {"mode": "default"}, True, []),
        (False, None, True, []),
        (dangerous, None, True, []),
    ],
)
async def test_the_hosts_adjudicator_judges_unless_a_mode_is_chosen_or_it_is_switched_off(
    adjudicator: Any, permission: Any, asks: bool, notices: list[str]
) -> None:
    steps: list[Step] = [[call("change", {"name": name})] for name in "ab"]
    async with opened(
        [*steps, [text("end")]],
        [change],
        adjudicator=adjudicator,
        host_adjudicator=safe,
        permission=permission,
    ) as case:
        run = await case.session.send("go")
        for _ in range(2 * asks):
            case.session.decide((await case.question()).permission_id, "allow_once")
        await asyncio.wrap_future(run.future)
        assert decisions(case) == [("allow", "user" if asks else "adjudicator")] * 2
        assert [notice.code for notice in case.session.view.notices] == notices


async def test_a_gate_that_needs_to_know_where_a_call_runs_denies_what_does_not_say_so() -> None:
    def gate(question: Question) -> bool:
        target = getattr(question, "execution_target", None)  # in this process: absent
        return target == "sandbox"

    async with opened(STEPS, [change], ask_user=gate) as case:
        await case.send("go")
        assert RAN == []
        assert decisions(case) == [("deny", "user")]


async def test_a_mode_and_an_adjudicator_contradict_each_other() -> None:
    with pytest.raises(InvalidOptions, match="contradict"):
        async with opened(STEPS, [change], adjudicator=safe, permission={"mode": "default"}):
            pass


async def test_an_answer_that_was_not_on_offer_changes_nothing() -> None:
    async with opened(STEPS, [change]) as case:
        run = await case.session.send("go")
        question = await case.question()
        with pytest.raises(SessionError) as caught:
            case.session.decide(question.permission_id, "allow_project")
        assert caught.value.code == "INVALID_INPUT"
        case.session.decide(question.permission_id, "deny")
        await asyncio.wrap_future(run.future)
