"""Which host this is, and where waiting is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agent_widget.core.errors import WaitRefused
from agent_widget.surfaces.kernel.host import Host, detect_host
from agent_widget.surfaces.kernel.waiting import refuse_deadlock
from tests.surfaces.kernel.kernels import REPOSITORY, RealKernel


def printed(code: str, stdin: int = subprocess.DEVNULL) -> str:
    made = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return made.stdout


def test_a_script_is_a_script_without_a_keyboard_and_imports_no_host() -> None:
    code = (
        "import sys; from agent_widget.surfaces.kernel.host import detect_host\n"
        "host = detect_host(); print(host, host.release, host.allow_stdin())\n"
        "print(sorted({'IPython', 'ipykernel', 'marimo', 'zmq'} & set(sys.modules)))"
    )
    expected = "Host(kind='script', ipykernel=None, kernel=None) None False\n[]\n"
    assert printed(code) == expected


def test_ipythons_terminal_is_ipython() -> None:
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "from agent_widget.surfaces.kernel.host import detect_host\n"
        "InteractiveShell.instance(); print(detect_host().kind)"
    )
    assert printed(code) == "ipython\n"


@pytest.mark.parametrize(
    ("variables", "module", "kind"),
    [
        ({}, None, "ipykernel"),
        ({"SERVER_SOFTWARE": "voila/0.5.13"}, None, "voila"),
        ({"VOILA_PREHEAT": "True"}, None, "voila"),
        ({"SERVER_SOFTWARE": "jupyter"}, None, "ipykernel"),
        ({}, "google.colab", "colab"),
    ],
)
def test_a_kernel_is_told_apart_by_what_started_it(
    kernel: RealKernel, variables: dict[str, str], module: str | None, kind: str
) -> None:
    code = (
        "import sys, types; from agent_widget.surfaces.kernel.host import detect_host\n"
        f"if {module!r}: sys.modules[{module!r}] = types.ModuleType({module!r})\n"
        f"print(detect_host({variables!r}).kind); sys.modules.pop({module!r}, None)"
    )
    assert kernel.run(code) == f"{kind}\n"


def test_ipykernel_7_0_is_warned_about_once(kernel: RealKernel) -> None:
    code = (
        "import sys, warnings; from agent_widget.surfaces.kernel.host import detect_host\n"
        "module = sys.modules['ipykernel']; true = module.__version__\n"
        "module.__version__ = '7.0.1'\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    print([detect_host().release for _ in range(3)])\n"
        "module.__version__ = true\n"
        "print(len(caught), caught[0].message)"
    )
    text = kernel.run(code)
    assert text.startswith("[(7, 0), (7, 0), (7, 0)]\n1 ipykernel 7.0.1 loses")


def test_marimo_is_known_by_its_own_word(monkeypatch: pytest.MonkeyPatch) -> None:
    class Marimo:
        @staticmethod
        def running_in_notebook() -> bool:
            return True

    monkeypatch.setitem(sys.modules, "marimo", Marimo)
    assert detect_host().kind == "marimo"


@pytest.mark.parametrize("version", [None, "", "7", "dev", "7.x"])
def test_an_unreadable_version_has_no_release(version: str | None) -> None:
    assert Host("ipykernel", version).release is None


@pytest.mark.parametrize("kind", ["marimo", "voila"])
def test_waiting_is_refused_where_no_click_can_come(kind: str) -> None:
    host = Host(kind)  # type: ignore[arg-type]
    with pytest.raises(WaitRefused, match="ask_user="):
        refuse_deadlock(host, needs_click=True)
    refuse_deadlock(host, needs_click=False)


@pytest.mark.parametrize("kind", ["ipykernel", "colab", "ipython", "script"])
def test_waiting_is_allowed_elsewhere(kind: str) -> None:
    refuse_deadlock(Host(kind), needs_click=True)  # type: ignore[arg-type]
