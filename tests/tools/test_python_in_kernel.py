from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.tools.support.kernel import Kernel


@pytest.fixture(scope="module", params=["ipykernel", "ipykernel 6"])
def kernel(request: pytest.FixtureRequest) -> Iterator[Kernel]:
    folder = request.getfixturevalue("ipykernel6_path") if request.param == "ipykernel 6" else None
    started = Kernel(folder)
    yield started
    started.close()


def texts(report: dict[str, Any], audience: str = "all") -> list[str]:
    return [
        block["text"]
        for block in report["content"]
        if block["type"] == "text" and block.get("audience", "all") in ("all", audience)
    ]


def kinds(report: dict[str, Any]) -> list[str]:
    return [block["type"] for block in report["content"]]


def test_prints_and_the_last_value_come_in_order_and_nothing_reaches_a_cell(kernel: Kernel) -> None:
    report = kernel.python("print('one')\ndisplay({'two': 2})\nprint('three')\nmade = 4\nmade")
    assert texts(report) == ["one", "{'two': 2}", "three", "4"]
    assert report["is_error"] is False
    assert report["live"] == "one\nthree\n"
    assert kernel.text("print(made)") == "4\n"


def test_a_value_of_the_code_leaves_the_persons_underscore_and_history_alone(
    kernel: Kernel,
) -> None:
    kernel.run("'mine'")
    report = kernel.python("'the agents'")
    assert texts(report) == ["'the agents'"]
    seen = kernel.text("print(_ == 'mine', [line for line in In if 'the agents' in line])")
    assert seen.startswith("True ['call")  # only the cell of this test


def test_a_semicolon_hides_the_value_of_the_code_and_only_of_the_code(kernel: Kernel) -> None:
    kernel.run("1;")
    assert texts(kernel.python("5")) == ["5"]
    assert texts(kernel.python("5;")) == ["(no result)"]
    assert kernel.run("6") == [("execute_result", "6")]


def test_a_plot_lands_in_the_card_as_png_and_the_model_reads_its_text(kernel: Kernel) -> None:
    code = "import matplotlib.pyplot as plt\nprint('a')\nplt.plot([1, 2])\nprint('b')"
    kernel.python("import matplotlib.pyplot")
    report = kernel.python(code)
    assert kinds(report) == ["text", "image", "text"]
    assert report["content"][1]["mime"] == "image/png"
    assert "Figure" in texts(report, "model")[-1]
    assert kernel.run("7") == [("execute_result", "7")]


def test_the_first_plot_of_a_kernel_lands_in_the_card(kernel: Kernel) -> None:
    fresh = Kernel()
    try:
        report = fresh.python("import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
        assert "image" in kinds(report)
    finally:
        fresh.close()


def test_figures_of_a_cell_that_waits_stay_in_that_cell(kernel: Kernel) -> None:
    kernel.python("import matplotlib.pyplot as plt")
    outputs = kernel.run(
        "fig = plt.figure(num='cells own'); plt.plot([3])\n"
        "call = kit.python('plt.figure(num=\"agents\"); plt.plot([1])')\n"
        "import json; report = json.loads(await call.ended())\n"
        "print([b['type'] for b in report['content']])\n"
    )
    assert outputs[0] == ("stdout", "['text', 'image', 'text']\n")
    assert [kind for kind, _ in outputs] == ["stdout", "display_data"]
    assert kernel.text("print(plt.get_fignums())") == "[]\n"


def test_a_table_is_html_for_the_person_and_text_for_the_model(kernel: Kernel) -> None:
    report = kernel.python("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
    assert kinds(report) == ["html", "text"]
    assert "<table" in report["content"][0]["html"]
    assert report["content"][1]["audience"] == "model"


def test_a_traceback_is_captured_coloured_for_the_person_and_plain_for_the_model(
    kernel: Kernel,
) -> None:
    report = kernel.python("print('before')\ndef f():\n    return 1 / 0\nf()")
    assert report["is_error"] is True
    assert texts(report)[0] == "before"
    (model,) = [text for text in texts(report, "model") if "ZeroDivisionError" in text]
    (user,) = [text for text in texts(report, "user") if "ZeroDivisionError" in text]
    assert "\x1b" not in model
    assert "\x1b[" in user
    assert kernel.run("8") == [("execute_result", "8")]


def test_a_syntax_error_is_captured(kernel: Kernel) -> None:
    report = kernel.python("print(1")
    assert report["is_error"] is True
    assert "SyntaxError" in "".join(texts(report, "model"))


def test_magics_and_shell_commands_work_and_are_captured(kernel: Kernel) -> None:
    assert "echoed" in "".join(texts(kernel.python("!echo echoed")))
    assert "Wall time" in "".join(texts(kernel.python("%time sum(range(9))")))
    assert "UsageError" in "".join(texts(kernel.python("%no_such_magic")))


def test_output_of_a_child_process_is_captured(kernel: Kernel) -> None:
    code = "import subprocess, sys\nsubprocess.run(['echo', 'from a child'], check=True);"
    assert texts(kernel.python(code)) == ["from a child"]
    request = kernel.begin("subprocess.run(['echo', 'of a cell'], check=True);")
    kernel.until(request, lambda: kernel.shown(request) == [("stdout", "of a cell\n")])


def test_help_goes_to_the_card_and_not_to_the_pager(kernel: Kernel) -> None:
    report = kernel.python("len?")
    assert "number of items" in "".join(texts(report, "model"))
    request = kernel.begin("0")
    assert kernel.reply(request)["payload"] == []
    kernel.end(request)


@pytest.mark.parametrize("code", ["input('name? ')", "import getpass; getpass.getpass()"])
@pytest.mark.parametrize("while_cell_waits", [False, True])
def test_input_is_refused_at_once(kernel: Kernel, code: str, while_cell_waits: bool) -> None:
    if while_cell_waits:
        kernel.text(f"call = None\ncode = {code!r}")
        report = kernel.run("call = kit.python(code); done = await call.ended()")
        assert report == []
    else:
        kernel.text(f"call = kit.python({code!r})")
    ended = kernel.report()
    assert ended["is_error"] is True
    assert "nobody to answer" in "".join(texts(ended, "model"))


@pytest.mark.parametrize(
    "code", ["exit()", "quit()", "exit", "import sys; sys.exit(3)", "raise SystemExit"]
)
def test_no_way_of_exiting_ends_the_kernel(kernel: Kernel, code: str) -> None:
    kernel.python(code)
    assert kernel.run("9") == [("execute_result", "9")]
    assert kernel.manager.is_alive()


def test_top_level_await_runs_on_the_kernels_loop(kernel: Kernel) -> None:
    report = kernel.python(
        "import asyncio\nprint('a')\nawait asyncio.sleep(0.01)\nprint('b')\n1 + 1"
    )
    assert texts(report) == ["a\nb", "2"]


def test_a_cell_that_runs_beside_awaiting_code_keeps_its_own_output(kernel: Kernel) -> None:
    kernel.text("import asyncio; go = asyncio.Event()")
    kernel.text(
        'call = kit.python(\'print("agent 1")\\nawait go.wait()\\nprint("agent 2")\\n'
        "display(1)\\n1/0')"
    )
    outputs = kernel.run(
        "print('cell 1'); display('shown'); go.set(); await asyncio.wrap_future(call.future)\n"
        "print('cell 2')\n'value'"
    )
    assert outputs == [
        ("stdout", "cell 1\n"),
        ("display_data", "'shown'"),
        ("stdout", "cell 2\n"),
        ("execute_result", "'value'"),
    ]
    report = kernel.report()
    assert texts(report)[:2] == ["agent 1\nagent 2", "1"]
    assert report["is_error"] is True
    assert kernel.run("1/0") == [("error", "ZeroDivisionError")]


SLEEPING = "print('begun')\ninside.set()\nwhile True: time.sleep(0.01)"
AWAITING = "print('begun')\ninside.set()\nawait asyncio.sleep(60)"


def start_and(kernel: Kernel, code: str, then: str) -> None:
    """Start a call of ``code``; once it is inside, ``then`` happens on another thread."""
    kernel.text(
        "import asyncio, threading, time\n"
        "from tests.tools.support.inkernel import interrupt_main_thread\n"
        "inside = threading.Event()\n"
        f"call = kit.python({code!r})\n"
        f"threading.Thread(target=lambda: (inside.wait(), {then})).start()"
    )


@pytest.mark.parametrize("code", [SLEEPING, AWAITING])
def test_stop_ends_running_code_and_the_kernel_stays_healthy(kernel: Kernel, code: str) -> None:
    start_and(kernel, code, "call.stop()")
    report = kernel.report()
    assert report["raised"] == ["stopped", ""]
    assert report["live"] == "begun\n"
    assert kernel.run("10") == [("execute_result", "10")]


def test_the_kernels_own_interrupt_cancels_the_call(kernel: Kernel) -> None:
    start_and(kernel, SLEEPING, "interrupt_main_thread()")
    assert kernel.report()["raised"] == [
        "cancelled",
        "Interrupted by the user. Output until then:\nbegun",
    ]


def test_the_card_says_what_the_call_waits_for_until_it_starts(kernel: Kernel) -> None:
    kernel.text("import time; kit.main.reason = 'Waiting for the cell'")
    kernel.text("call = kit.python('1'); time.sleep(0.5)")
    report = kernel.report()
    assert report["progress"] == ["Waiting for the cell", None]
    kernel.text("kit.main.reason = None")


def test_output_after_the_call_goes_nowhere(kernel: Kernel) -> None:
    kernel.text("import asyncio; later = asyncio.Event()")
    kernel.python(
        "async def late():\n    await later.wait()\n    print('late')\n"
        "task = asyncio.ensure_future(late())"
    )
    assert kernel.text("later.set(); await task; print('cell')") == "cell\n"


def test_two_function_tools_and_a_cell_at_once_each_keep_their_output(kernel: Kernel) -> None:
    kernel.text(
        "import threading, logging, sys\n"
        "from agent_widget.tools import tool\n"
        "handler = logging.StreamHandler(sys.stderr)\n"
        "log = logging.getLogger('mine'); log.addHandler(handler)\n"
        "all_in = threading.Barrier(3, timeout=20)\n"
        "@tool\n"
        "def noisy(mark: str) -> str:\n"
        "    print(mark, 1); all_in.wait(); display(mark); log.warning(mark); print(mark, 2)\n"
        "    all_in.wait()\n"
        "    return 'done'\n"
    )
    outputs = kernel.run(
        "a, b = kit.start(noisy, mark='x'), kit.start(noisy, mark='y')\n"
        "print('cell 1'); all_in.wait(); display('cell'); print('cell 2'); all_in.wait();\n"
    )
    assert [text for _, text in outputs] == ["cell 1\n", "'cell'", "cell 2\n"]
    for call, mark in (("a", "x"), ("b", "y")):
        report = kernel.report(call)
        assert texts(report) == [f"{mark} 1", f"'{mark}'", f"{mark}\n{mark} 2", "done"]


def test_clear_output_and_display_updates_act_on_the_card(kernel: Kernel) -> None:
    report = kernel.python(
        "from IPython.display import clear_output, display\n"
        "print('gone'); clear_output(); print('kept')\n"
        "handle = display('old', display_id=True); handle.update('new')\n"
    )
    assert texts(report) == ["kept", "'new'"]


def test_list_variables_shows_the_persons_and_not_ipythons(kernel: Kernel) -> None:
    fresh = Kernel()
    try:
        fresh.text("import os\nprice = 3\ndef helper(): ...\n_private = 1")
        fresh.text("call = kit.start('list_variables')")
        listed = "".join(texts(fresh.report(), "model"))
        names = {line.split()[0] for line in listed.splitlines()[1:]}
        assert names - {"call"} == {"kit", "price"}  # the call may be faster than its cell
    finally:
        fresh.close()


def test_no_cell_shows_anything_after_it_has_ended(kernel: Kernel) -> None:
    kernel.python("print('a'); display('b'); 1/0")
    assert kernel.unexpected() == []
