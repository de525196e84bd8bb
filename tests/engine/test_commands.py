"""Shell commands of a person: their output, their place in the conversation, their end."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from agent_widget.core.bashevents import CommandResult
from agent_widget.core.errors import SessionError
from agent_widget.core.events import BashCompleted, BashOutputDelta, BashStarted
from agent_widget.core.journal import Journal
from agent_widget.engine.commands import CommandFailed
from agent_widget.policy.compaction import Compaction
from agent_widget.store.memory import MemoryStore
from agent_widget.store.owner import this_process
from agent_widget.testing.doubles import Gate, ScriptedModel, text
from agent_widget.tools.shellcommand import TAIL_BYTES, TAIL_LINES
from agent_widget.view.history import view_of
from tests.engine.support import Case, FailingStore, asked, code_of, opened

pytestmark = pytest.mark.anyio

ONE = CommandResult(output="1", exit_code=0)
LONG_S = 120
"""What is killed here would otherwise last so long."""


def commands_said(case: Case) -> list[str]:
    """The commands in the conversation, by the second line of their fences."""
    notes = case.session.view.notes
    noted = [m for m in case.session.messages if m.id in notes and notes[m.id].kind == "bash"]
    return [message.text.split("```bash\n")[1].split("\n")[0] for message in noted]


async def stored_is_live(case: Case) -> None:
    journal = Journal.of(await case.records())
    folded, view = view_of(journal, journal.leaf), case.session.view
    assert (folded.chat, folded.notes, folded.unread) == (view.chat, view.notes, view.unread)


async def test_output_comes_in_order_as_it_is_written_and_is_told_and_stored(
    tmp_path: Path,
) -> None:
    chunks: list[str] = []
    go = tmp_path / "go"

    def take(chunk: str) -> None:
        chunks.append(chunk)
        go.touch()  # the second piece is written when the first has arrived

    async with opened([]) as case:
        script = f"printf 'é1\\n'; while [ ! -e {go} ]; do sleep 0.01; done; printf 'b2\\n' >&2"
        result = await case.session.commands.execute(script, take, id="mine")
        assert chunks == ["é1\n", "b2\n"]
        assert result == CommandResult(output="é1\nb2", exit_code=0)
        told = [e for e in case.events if isinstance(e, BashStarted | BashOutputDelta)]
        assert {event.id for event in told} == {"mine"}
        deltas = [event.delta for event in told if isinstance(event, BashOutputDelta)]
        assert deltas == chunks
        [ended] = [event for event in case.events if isinstance(event, BashCompleted)]
        assert ended.result == result
        [record] = [each for each in await case.records() if each.kind == "bash"]
        assert record.data["command"] == script
        assert (record.data["output"], record.data["exit_code"]) == ("é1\nb2", 0)
        await stored_is_live(case)


async def test_another_exit_code_raises_with_the_result_and_is_read_by_the_model() -> None:
    model = ScriptedModel([[text("I see.")]])
    async with opened(model) as case:
        with pytest.raises(CommandFailed) as failed:
            await case.session.commands.execute("echo '```'; exit 3")
        assert failed.value.code == "bash.execution"
        assert failed.value.result == CommandResult(output="```", exit_code=3)
        assert not case.session.view.can_retry  # there is nothing that was cut short
        await case.send("What was that?")
        [said, question] = asked(model)[0]
        assert question == "What was that?"
        assert "exit code 3" in said
        assert "````text\n```\n````" in said


async def test_what_takes_too_long_is_killed_and_what_is_no_command_never_runs() -> None:
    async with opened([]) as case:
        commands = case.session.commands
        with pytest.raises(CommandFailed) as late:
            await commands.execute(f"printf x; sleep {LONG_S}", timeout_s=0.05)
        assert (late.value.result.exit_code, late.value.result.cancelled) == (None, False)
        assert "Timed out" in late.value.result.output
        for wrong in ("  ", "a\0b"):
            assert await code_of(commands.execute(wrong)) == "invalid_options"
        assert commands_said(case) == [f"printf x; sleep {LONG_S}"]


async def test_long_output_keeps_its_end_and_the_file_has_all_of_it() -> None:
    async with opened([]) as case:
        commands = case.session.commands
        lines = await commands.execute(f"seq {TAIL_LINES + 1}")
        assert lines.truncated
        assert lines.output.startswith("2\n3\n")
        assert lines.full_output_path is not None
        whole = await asyncio.to_thread(Path(lines.full_output_path).read_text)
        assert whole.splitlines() == [str(n) for n in range(1, TAIL_LINES + 2)]
        assert lines.full_output_path in case.session.messages[-1].text
        wide = await commands.execute(
            f"head -c {2 * TAIL_BYTES} /dev/zero | tr '\\0' x; printf end"
        )
        assert (len(wide.output), wide.output[-4:]) == (TAIL_BYTES, "xend")
        short = await commands.execute("seq 3")
        assert (short.truncated, short.full_output_path) == (False, None)


async def test_what_is_recorded_while_a_run_streams_stands_behind_it_and_before_the_next() -> None:
    gate = Gate()
    model = ScriptedModel([[text("a"), gate, text("b")], [text("c")]])
    async with opened(model) as case:
        commands = case.session.commands
        run = await case.session.send("one")
        await gate.reached.wait()
        await commands.execute("echo first")
        await commands.record("second", ONE)
        await commands.flush()  # not while it runs
        assert commands.pending_count == 2
        await case.session.enqueue("two", "follow_up")
        gate.open()
        await asyncio.wrap_future(run.future)
        await case.session.wait_for_idle()
        assert not commands.has_pending
        kinds = await case.kinds()
        ends = [at for at, kind in enumerate(kinds) if kind == "run_ended"]
        assert len(ends) == 1, "a follow-up is part of its run"
        assert kinds[ends[0] + 1 :] == ["bash", "bash"]
        assert commands_said(case) == ["echo first", "second"]
        await case.send("three")
        assert [kind for kind in await case.kinds() if kind in ("bash", "run_admitted")] == [
            "run_admitted",
            "bash",
            "bash",
            "run_admitted",
        ]
        await stored_is_live(case)


async def test_input_that_starts_the_next_run_by_itself_comes_after_what_was_recorded() -> None:
    gate = Gate()

    class Late(MemoryStore):
        """Lets a message come in while the end of the first run is being written."""

        case: Case

        async def append(self, lease, position, records) -> None:  # type: ignore[no-untyped-def]
            is_end = any(record.kind == "run_ended" for record in records)
            await super().append(lease, position, records)
            if is_end and not self.case.session.inputs.waiting:
                self.late = asyncio.ensure_future(self.case.session.enqueue("two", "steering"))

    store = Late()
    async with opened([[gate, text("a")], [text("b")]], store=store) as case:
        store.case = case
        run = await case.session.send("one")
        await gate.reached.wait()
        await case.session.commands.record("x", ONE)
        gate.open()
        await asyncio.wrap_future(run.future)
        await store.late
        await case.session.wait_for_idle()
        order = [kind for kind in await case.kinds() if kind in ("run_admitted", "bash")]
        assert order == ["run_admitted", "bash", "run_admitted"]


async def test_a_refused_append_keeps_it_and_the_rest_until_it_is_taken() -> None:
    gate, store = Gate(), FailingStore()
    async with opened([[gate, text("a")]], store=store) as case:
        commands = case.session.commands
        run = await case.session.send("one")
        await gate.reached.wait()
        for name in ("x", "y"):
            await commands.record(name, ONE)
        store.kinds.add("bash")
        gate.open()
        assert (await asyncio.wrap_future(run.future)).ok
        await case.session.wait_for_idle()
        assert commands.pending_count == 2
        assert [notice.code for notice in case.session.view.notices] == ["STORAGE_ERROR"]
        assert await code_of(commands.flush()) == "STORAGE_ERROR"
        assert await code_of(commands.record("z", ONE)) == "STORAGE_ERROR"
        with pytest.raises(SessionError) as lost:
            await commands.execute("echo kept")
        assert not isinstance(lost.value, CommandFailed)
        assert (lost.value.code, lost.value.detail["output"]) == ("STORAGE_ERROR", "kept")
        assert commands_said(case) == []
        store.kinds.clear()
        await commands.flush()
        assert commands_said(case) == ["x", "y"]
        assert not commands.has_pending


async def test_what_is_excluded_is_shown_and_neither_read_nor_summed_up() -> None:
    model = ScriptedModel([[text("a")], [text("It was left.")]])
    async with opened(model) as case:
        first = (await case.session.tree.journal()).leaf
        assert first is not None
        await case.session.commands.execute("echo hush", exclude_from_context=True)
        await case.session.commands.execute("echo loud")
        await case.send("one")
        assert commands_said(case) == ["echo hush", "echo loud"]
        await case.session.tree.navigate(first, summarize=True)
        for request in asked(model):
            assert not any("hush" in said for said in request)
            assert any("loud" in said for said in request)
        assert case.session.view.unread == frozenset()


async def test_a_summary_is_made_without_what_is_excluded_and_of_the_rest() -> None:
    model = ScriptedModel([[text("a")], [text("b")], [text("Summed up.")]])
    async with opened(model, compaction=Compaction(keep_tokens=1)) as case:
        await case.session.commands.execute("echo hush", exclude_from_context=True)
        await case.session.commands.execute("echo loud")
        await case.send("one")
        await case.send("two")
        await case.session.compact()
        [summing] = asked(model)[2:]
        assert "loud" in "".join(summing)
        assert not any("hush" in said for request in asked(model) for said in request)
        assert commands_said(case)[:2] == ["echo hush", "echo loud"]
        await stored_is_live(case)


async def test_it_is_there_after_a_restart_on_its_branch_and_in_a_fork() -> None:
    store = MemoryStore()
    async with opened([[text("a")]], store=store) as case:
        await case.session.commands.execute("echo hush", exclude_from_context=True)
        await case.send("one")
        await case.session.commands.record("x", ONE)
        session_id, messages = case.session.session_id, case.session.messages
        await case.session.tree.switch(messages[1].id, 0)
        assert case.session.messages == messages
        fork = await case.session.tree.fork()
    for each in (session_id, fork):
        async with opened([[text("b")]], store=store, opening=2, session_id=each) as case:
            assert case.session.messages == messages
            assert case.session.view.unread == {messages[0].id}
            assert {n.kind for n in case.session.view.notes.values()} == {"bash"}
            kinds = [record.kind for record in await case.records()]
            assert all(kind != "bash" or after != "header" for kind, after in pairwise(kinds))


async def test_an_abort_kills_what_runs_and_what_it_printed_is_kept() -> None:
    started = asyncio.Event()
    async with opened([]) as case:
        session = case.session
        work = asyncio.ensure_future(
            session.commands.execute(f"echo begun; sleep {LONG_S}", lambda _: started.set())
        )
        await started.wait()
        assert session.view.bash_running
        await session.abort()
        with pytest.raises(CommandFailed) as stopped:
            await work
        assert stopped.value.result.cancelled
        assert stopped.value.result.exit_code is None
        assert stopped.value.result.output.startswith("begun")
        assert session.view.commands == frozenset()
        assert len(commands_said(case)) == 1
        await session.abort()  # nothing runs: fine


async def test_closing_and_whoever_waits_no_more_kill_it_too() -> None:
    started = asyncio.Event()

    async def begin(case: Case) -> asyncio.Task[CommandResult]:
        started.clear()
        commands = case.session.commands
        script = f"echo x; sleep {LONG_S}"
        work = asyncio.ensure_future(commands.execute(script, lambda _: started.set()))
        await started.wait()
        return work

    async with opened([]) as case:
        cancelled = await begin(case)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert not case.session.commands.is_running
        open_still = await begin(case)
        receipt = await case.session.close(60)
        assert receipt.ok
        assert isinstance(open_still.exception(), CommandFailed)
        assert (await case.kinds()).count("bash") == 2
        assert await code_of(case.session.commands.execute("true")) == "session_closed"


async def test_a_callback_that_fails_ends_the_command_and_is_raised() -> None:
    def broken(_: str) -> None:
        raise ZeroDivisionError

    async with opened([]) as case:
        with pytest.raises(ZeroDivisionError):
            await case.session.commands.execute(f"echo x; sleep {LONG_S}", broken)
        assert len(commands_said(case)) == 1


async def test_a_session_that_can_only_be_read_runs_nothing(tmp_path: Path) -> None:
    store = MemoryStore()
    async with opened([], store=store) as case:
        commands = case.session.commands
        case.session._writer.recorder.read_only = f"It is open in process {this_process().pid}."
        mark = tmp_path / "mark"
        assert await code_of(commands.execute(f"touch {mark}")) == "session_in_use"
        assert await code_of(commands.record("x", ONE)) == "session_in_use"
        assert not mark.exists()
        case.session._writer.recorder.read_only = None
