"""Jobs on a real kernel's main thread: when they run, what they see, how they are stopped."""

from __future__ import annotations

import json

import pytest

from tests.surfaces.kernel.kernels import RealKernel

WAITS = {"await run": "await kit.awaited({0})", "run.result()": "kit.wait({0})"}


def test_a_job_runs_on_main_in_the_submitters_context_while_the_kernel_idles(
    kernel: RealKernel,
) -> None:
    name = kernel.name()
    kernel.run(
        f"kit.plan({name!r}, lambda: kit.report({name!r}, kit.submit_aside(kit.where)))",
    )
    kernel.send({"request_id": name})
    assert kernel.tell(job=name)["outcome"] == "main:engine"


@pytest.mark.parametrize("wait", WAITS)
def test_a_job_runs_on_main_while_a_cell_waits_for_its_run(kernel: RealKernel, wait: str) -> None:
    code = f"future = kit.submit_aside(kit.where)\nprint({WAITS[wait].format('future')})"
    assert kernel.run(code) == "main:engine\n"


def test_a_job_runs_while_a_cell_awaits_something_else(kernel: RealKernel) -> None:
    code = (
        "future = kit.submit_aside(kit.where)\n"
        "while not future.done(): await asyncio.sleep(0.01)\n"
        "print(future.result())"
    )
    assert kernel.run(code) == "main:engine\n"


def test_a_job_behind_a_busy_cell_runs_right_after_it_and_says_what_it_waits_for(
    kernel: RealKernel,
) -> None:
    busy = kernel.begin_ready(
        "kit.order.clear(); kit.ready()\n"
        "job = kit.submit_aside(lambda: kit.order.append('job'))\n"
        "time.sleep(0.5)\n"
        "print(kit.main.waits_for())\n"
        "kit.order.append('cell')"
    )
    after = kernel.begin("kit.order.append('next cell')")
    kernel.end(after)
    assert busy.text.splitlines()[-1] == "Waiting for the running cell to finish"
    assert kernel.run("print(kit.order)") == "['cell', 'job', 'next cell']\n"


@pytest.mark.parametrize("wait", WAITS)
def test_a_cell_that_waits_for_its_run_keeps_no_job_waiting(kernel: RealKernel, wait: str) -> None:
    name = kernel.name()
    body = WAITS[wait].format(f"kit.run({name!r})")
    cell = kernel.begin_ready(
        f"watch = lambda: kit.tell(cell={name!r}, waits=kit.watch_main(0.6))\n"
        f"kit.main.submit(lambda: (kit.ready(), Thread(watch))); {body}"
    )
    assert kernel.tell(cell=name)["waits"] is None
    kernel.send({"request_id": name})
    assert kernel.end(cell).error is None


@pytest.mark.parametrize("wait", WAITS)
def test_stop_interrupts_a_sleeping_job_of_a_waiting_cell(healthy: RealKernel, wait: str) -> None:
    body = WAITS[wait].format("kit.sleeper(kit.main.interrupt)")
    code = f"try: {body}\nexcept Cancelled: print('stopped', kit.stopped)"
    healthy.run("kit.stopped = 0")
    assert healthy.run(code) == "stopped 0\n"


def test_stop_interrupts_a_sleeping_job_of_an_idle_kernel(healthy: RealKernel) -> None:
    name = healthy.name()
    healthy.run(f"kit.report({name!r}, kit.sleeper(kit.main.interrupt))")
    assert healthy.tell(job=name)["outcome"] == "Cancelled"


def test_the_kernels_own_interrupt_ends_a_job_of_an_idle_kernel_and_not_the_kernel(
    healthy: RealKernel,
) -> None:
    name = healthy.name()
    cell = healthy.begin(f"kit.report({name!r}, kit.main.submit(kit.naps))")
    healthy.until(lambda: "ready" in cell.text)
    healthy.interrupt()
    assert healthy.tell(job=name)["outcome"] == "Cancelled"


def test_a_dropped_job_never_runs(kernel: RealKernel) -> None:
    code = (
        "kit.order.clear()\n"
        "job = kit.main.submit(lambda: kit.order.append('job'))\n"
        "kit.main.interrupt(job)\n"
        "print(job.cancelled()); await asyncio.sleep(0.05); print(kit.order)"
    )
    assert kernel.run(code) == "True\n[]\n"


def test_an_immune_job_runs_to_its_end(kernel: RealKernel) -> None:
    code = (
        "def job():\n"
        "    Thread(lambda: kit.main.interrupt(future)).join(5)\n"
        "    return 'ended'\n"
        "future = kit.main.submit(job, interruptible=False)\n"
        "print(kit.wait(future))"
    )
    assert kernel.run(code) == "ended\n"


def test_an_interrupt_that_comes_at_the_end_of_a_job_hits_nothing_else(
    healthy: RealKernel,
) -> None:
    counts = json.loads(healthy.run("import json; print(json.dumps(kit.hail(300)))"))
    assert set(counts) <= {"ended", "Cancelled", "CancelledError"}
    assert sum(counts.values()) == 300


def test_a_job_that_exits_ends_neither_kernel_nor_loop(healthy: RealKernel) -> None:
    code = (
        "import sys\n"
        "future = kit.main.submit(lambda: sys.exit(3))\n"
        "while not future.done(): await asyncio.sleep(0.01)\n"
        "print(repr(future.exception()))"
    )
    assert "exit (3)" in healthy.run(code)


def test_a_coroutine_runs_as_a_task_of_the_kernels_loop(kernel: RealKernel) -> None:
    code = (
        "async def job():\n"
        "    await asyncio.sleep(0)\n"
        "    return kit.where(), asyncio.current_task() is not None\n"
        "future = kit.main.submit_coroutine(job)\n"
        "print(await kit.awaited(future))"
    )
    assert kernel.run(code) == "('main:nobody', True)\n"


@pytest.mark.parametrize("blocks", [False, True], ids=["awaits", "computes"])
def test_stop_ends_a_coroutine(healthy: RealKernel, blocks: bool) -> None:
    name = healthy.name()
    healthy.run(f"kit.report({name!r}, kit.coroutine_sleeper(blocks={blocks}))")
    assert healthy.tell(job=name)["outcome"] == "Cancelled"


def test_a_coroutine_is_refused_while_a_cell_blocks_the_loop(kernel: RealKernel) -> None:
    code = (
        "async def job(): pass\n"
        "try: kit.wait(kit.main.submit_coroutine(job))\n"
        "except ToolFailure as error: print(error)"
    )
    assert "`await run`" in kernel.run(code)


def test_a_blocking_wait_is_refused_while_a_coroutine_runs(healthy: RealKernel) -> None:
    code = (
        "gate = asyncio.Event()\n"
        "future = kit.main.submit_coroutine(gate.wait)\n"
        "await asyncio.sleep(0)\n"
        "while not future.running(): await asyncio.sleep(0)\n"
        "try: kit.wait(kit.run('never'))\n"
        "except Exception as error: print(type(error).__name__)\n"
        "gate.set(); print(await kit.awaited(future))"
    )
    assert healthy.run(code) == "WaitRefused\nTrue\n"
