"""The kernel's interrupt, time limits and order of cells while a cell waits for a run."""

from __future__ import annotations

import pytest

from tests.surfaces.kernel.kernels import RealKernel

# Ready is a job, so that it comes when the wait has begun.
WAITS = {
    "await run": ("kit.main.submit(kit.ready); await kit.awaited({0})", "CancelledError"),
    "run.result()": ("kit.main.submit(kit.ready); kit.wait({0})", "KeyboardInterrupt"),
    "run.result() in a cell that awaits": (
        "await asyncio.sleep(0); kit.main.submit(kit.ready); kit.wait({0})",
        "KeyboardInterrupt",
    ),
}


@pytest.mark.parametrize("wait", WAITS)
def test_the_kernels_interrupt_stops_the_run_and_ends_the_cell_promptly(
    healthy: RealKernel, wait: str
) -> None:
    code, error = WAITS[wait]
    name = healthy.name()
    # The run ends when it is stopped, as a run does.
    healthy.run(f"kit.stopped = 0; kit.ends_when_stopped({name!r})")
    cell = healthy.begin_ready(code.format(f"kit.run({name!r})"))
    healthy.interrupt()
    healthy.end(cell)
    assert cell.error is not None
    assert cell.error.startswith(error)
    assert healthy.run("print(kit.stopped)") == "1\n"


def test_the_kernels_interrupt_ends_the_running_job_and_the_wait(healthy: RealKernel) -> None:
    name = healthy.name()
    cell = healthy.begin_ready(
        f"kit.stopped = 0; kit.ends_when_stopped({name!r})\n"
        "job = kit.submit_aside(kit.naps)\n"
        f"kit.wait(kit.run({name!r}))"
    )
    healthy.interrupt()
    healthy.end(cell)
    assert (cell.error or "").startswith("KeyboardInterrupt")
    assert healthy.run("print(kit.stopped, repr(job.exception()))").startswith("1 Cancelled(")


@pytest.mark.parametrize("wait", ["await kit.awaited", "kit.wait"])
def test_a_time_limit_leaves_the_run_alone(kernel: RealKernel, wait: str) -> None:
    name = kernel.name()
    code = (
        f"kit.stopped = 0\ntry: {wait}(kit.run({name!r}), 0.05)\n"
        f"except TimeoutError as error: print(error, kit.stopped, kit.run({name!r}).done())"
    )
    assert kernel.run(code) == "The run has not ended within 0.05 s; it goes on. 0 False\n"


@pytest.mark.parametrize("wait", ["await kit.awaited", "kit.wait"])
def test_cells_queued_behind_a_wait_run_in_order(kernel: RealKernel, wait: str) -> None:
    name = kernel.name()
    cell = kernel.begin_ready(f"kit.order.clear(); kit.ready(); {wait}(kit.run({name!r}))")
    later = [kernel.begin(f"kit.order.append({n})") for n in range(3)]
    kernel.send({"request_id": name})
    for each in [cell, *later]:
        assert kernel.end(each).error is None
    assert kernel.run("print(kit.order)") == "[0, 1, 2]\n"


def test_another_thread_waits_as_for_any_future(kernel: RealKernel) -> None:
    name = kernel.name()
    kernel.run(
        f"Thread(lambda: kit.tell(ended=kit.wait(kit.run({name!r}))))",
    )
    kernel.send({"request_id": name})
    assert kernel.tell(ended=name)


def test_what_a_click_prints_lands_in_the_cell_that_showed_the_widget(kernel: RealKernel) -> None:
    name = kernel.name()
    shown = kernel.end(kernel.begin("kit.display = DisplayContext.capture()"))
    kernel.run("print('another cell')")
    kernel.run(f"kit.plan({name!r}, lambda: kit.display.run(kit.say, 'clicked'))")
    kernel.send({"request_id": name})
    assert kernel.tell(said="clicked")
    kernel.run("print()")
    # Before 6.30 a kernel has no context to print in: it prints to what ran last.
    assert shown.text == ("clicked\n" if kernel.release >= (6, 30) else "")


def test_the_host_is_an_ipykernel_of_its_release(kernel: RealKernel) -> None:
    code = "print(kit.host.kind, kit.host.ipykernel, kit.host.release, kit.host.allow_stdin())"
    assert kernel.run(code) == f"ipykernel {kernel.version} {kernel.release} False\n"


def test_a_question_is_asked_at_the_keyboard_of_a_waiting_cell(kernel: RealKernel) -> None:
    code = "answer = terminal_question('rm -r data\u202e', kit.host); print(answer)"
    cell = kernel.begin(code, allow_stdin=True)
    asked = [kernel.answer(text) for text in ("perhaps", "d", "it is the only copy")]
    assert [prompt.split(" ")[0] for prompt in asked] == ["[a]llow", "[a]llow", "Why"]
    assert "rm -r data\\u202e" in kernel.end(cell).text
    assert cell.text.endswith("TerminalAnswer(decision='deny', reason='it is the only copy')\n")


def test_nobody_is_asked_where_the_front_end_has_no_keyboard(kernel: RealKernel) -> None:
    assert kernel.run("print(terminal_question('rm -r data', kit.host))") == "None\n"
