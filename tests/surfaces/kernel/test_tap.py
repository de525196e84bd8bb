"""Which way a click reaches the engine while a cell runs, in every ipykernel."""

from __future__ import annotations

import pytest

from tests.surfaces.kernel.kernels import WITH_SUBSHELLS, RealKernel

WAITS = {
    "await run": "await kit.awaited(kit.run({0!r}), {1})",
    "run.result()": "kit.wait(kit.run({0!r}), {1})",
}
FOREIGN = {
    "await": "await kit.foreign_await({0!r}, {1})",
    "sleep": "kit.foreign_sleep({0!r}, {1})",
    "busy": "kit.busy({0!r}, {1})",
}
BLOCKING = ("sleep", "busy")


def clicked(kernel: RealKernel, code: str, *, timeout_s: float, subshell: str | None) -> bool:
    """Whether a click arrived while the cell ran; checks that it came by the tap, and once."""
    name = kernel.name()
    before = int(kernel.run("print(kit.inbox.statistics.duplicates)"))
    body = code.format(name, timeout_s)
    cell = kernel.begin_ready(f"kit.ready()\n{body}\nprint({name!r} in kit.seen)")
    kernel.send({"request_id": name, "kind": "command"}, subshell=subshell)
    assert kernel.end(cell).error is None, cell.error
    # The kernel's own copy comes after the cell at the latest, and changes nothing.
    copies = kernel.run(f"print(await kit.second_copies({before + 1}))")
    assert int(copies) == before + 1
    assert kernel.run(f"print(kit.inbox.path_of({name!r}), kit.seen.count({name!r}))") == "tap 1\n"
    return cell.text.endswith("True\n")


@pytest.mark.parametrize("wait", WAITS)
def test_a_click_reaches_a_cell_that_waits_for_a_run(kernel: RealKernel, wait: str) -> None:
    assert clicked(kernel, WAITS[wait], timeout_s=10, subshell=None)


@pytest.mark.parametrize("foreign", FOREIGN)
def test_a_click_passes_a_foreign_cell_wherever_the_kernel_has_a_shell_thread(
    kernel: RealKernel, foreign: str
) -> None:
    possible = kernel.has_shell_thread or foreign not in BLOCKING
    timeout_s = 10 if possible else 0.3
    assert clicked(kernel, FOREIGN[foreign], timeout_s=timeout_s, subshell=None) is possible


@pytest.mark.parametrize("kernel", WITH_SUBSHELLS, indirect=True)
@pytest.mark.parametrize("situation", [*WAITS, *FOREIGN])
def test_a_click_sent_to_a_subshell_arrives_by_the_tap_too(
    kernel: RealKernel, situation: str
) -> None:
    code = (WAITS | FOREIGN)[situation]
    assert clicked(kernel, code, timeout_s=10, subshell=kernel.subshell())


def test_500_messages_into_a_busy_cell_arrive_once_and_in_order_and_cells_go_on(
    kernel: RealKernel,
) -> None:
    names = [kernel.name() for _ in range(500)]
    start = int(kernel.run("print(len(kit.seen))"))
    timeout_s = 10 if kernel.has_shell_thread else 0.2
    busy = kernel.begin_ready(f"kit.ready(); kit.busy({names[-1]!r}, {timeout_s})")
    for name in names:
        kernel.send({"request_id": name})
    later = [kernel.begin(f"print('cell', {n})") for n in range(3)]
    kernel.end(busy)
    assert [kernel.end(cell).text for cell in later] == [f"cell {n}\n" for n in range(3)]
    assert kernel.run(f"print(kit.seen[{start}:] == {names!r})") == "True\n"


def test_buffers_come_with_the_message(kernel: RealKernel) -> None:
    name = kernel.name()
    kernel.send({"request_id": name}, buffer=b"\x00png\xff")
    assert kernel.run(f"kit.wait(kit.run({name!r})); print(kit.buffers[{name!r}])") == (
        "b'\\x00png\\xff'\n"
    )


def test_a_second_install_finds_the_first_tap(kernel: RealKernel) -> None:
    code = (
        "from agent_widget.surfaces.kernel.tap import install_tap\n"
        "before = kit.host.kernel.shell_stream._recv_callback\n"
        "again = install_tap(kit.host)\n"
        "print(again is kit.tap, before is kit.host.kernel.shell_stream._recv_callback)\n"
        "print(kit.tap.installed, kit.tap.needs_pump)"
    )
    pumped = not kernel.has_shell_thread
    assert kernel.run(code) == f"True True\nTrue {pumped}\n"


def test_the_switch_leaves_the_stream_alone(kernel: RealKernel) -> None:
    code = (
        "import os; from agent_widget.surfaces.kernel.tap import install_tap\n"
        "os.environ['AGENT_WIDGET_TAP'] = '0'\n"
        "print(install_tap(kit.host)); del os.environ['AGENT_WIDGET_TAP']"
    )
    assert kernel.run(code) == "None\n"


def test_an_unwatched_comm_comes_by_on_msg(kernel: RealKernel) -> None:
    name = kernel.name()
    kernel.run("kit.tap.unwatch(kit.comm.comm_id)")
    kernel.send({"request_id": name})
    assert kernel.run(f"print(kit.inbox.path_of({name!r}))") == "on_msg\n"
    kernel.run("kit.tap.watch(kit.comm.comm_id, kit.inbox)")
