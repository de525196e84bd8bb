"""One browser and two servers for all tests here; a notebook with a kernel of its own for each."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.host import Host
from tests.browser.notebook import Notebook
from tests.browser.pictures import SCREENSHOTS
from tests.support.jupyter import App, JupyterServer

ROOT: Final = Path(__file__).parents[2]
IPYKERNEL6: Final = "ipykernel6"

# A machine under load is slow, not wrong.
expect.set_options(timeout=20_000)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let fixtures see whether their test failed."""
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


FAILED: Final = pytest.StashKey[bool]()


@pytest.fixture(scope="package")
def browser(chromium_path: Path, chromium_arguments: list[str]) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path, args=[*chromium_arguments, "--disable-quic"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def host_of(
    browser: Browser, ipykernel6_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[App], Host]]:
    """The host for "lab" or "notebook", started when a test first asks for it."""
    hosts: dict[App, Host] = {}
    older = os.pathsep.join([str(ipykernel6_path), str(ROOT)])

    def host(app: App) -> Host:
        if app not in hosts:
            folder = tmp_path_factory.mktemp(app)
            server = JupyterServer(app, folder, {IPYKERNEL6: {"PYTHONPATH": older}})
            hosts[app] = Host(app, server, browser)
        return hosts[app]

    yield host
    for started in hosts.values():
        started.close()


@pytest.fixture
def notebook(request: pytest.FixtureRequest, host_of: Callable[[App], Host]) -> Iterator[Notebook]:
    """An open notebook in JupyterLab, or in what `in_both` says; no error may show in its page."""
    yield from opened(request, host_of(getattr(request, "param", "lab")), "python3")


@pytest.fixture
def lab(host_of: Callable[[App], Host]) -> Host:
    return host_of("lab")


@pytest.fixture
def notebook6(request: pytest.FixtureRequest, host_of: Callable[[App], Host]) -> Iterator[Notebook]:
    """An open notebook in JupyterLab whose kernel is an ipykernel 6."""
    yield from opened(request, host_of("lab"), IPYKERNEL6)


@pytest.fixture
def notebook_without_subshells(
    request: pytest.FixtureRequest, host_of: Callable[[App], Host]
) -> Iterator[Notebook]:
    """An open notebook in a JupyterLab whose user switched subshells off for widgets."""
    lab = host_of("lab")
    plugin = "@jupyterlab/apputils-extension:kernels-settings"
    with lab.server.setting(plugin, {"commsOverSubshells": "disabled"}), lab.further_page():
        yield from opened(request, lab, "python3")


def opened(request: pytest.FixtureRequest, host: Host, kernel: str) -> Iterator[Notebook]:
    """An open notebook; afterwards it is closed, and its page must have had no error."""
    notebook, kernel_id = host.open(kernel)
    notebook.problems.clear()
    yield notebook
    failed = request.node.stash.get(FAILED, True)
    problems = list(notebook.problems.errors)
    if failed:
        SCREENSHOTS.mkdir(exist_ok=True)
        name = "".join(c if c.isalnum() else "-" for c in request.node.name)
        notebook.page.screenshot(path=SCREENSHOTS / f"failed-{name}.png")
        host.forget_page()
    elif host.app == "lab":
        notebook.close()
    host.end_kernel(kernel_id)
    assert not problems, "\n".join(problems)
