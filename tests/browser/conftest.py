"""One browser and two servers for all tests here; a notebook with a kernel of its own for each."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.host import VIEWPORT, Notebook, Problems
from tests.support.jupyter import App, JupyterServer

ROOT: Final = Path(__file__).parents[2]
SCREENSHOTS: Final = ROOT / "tests/screenshots"
IPYKERNEL6: Final = "ipykernel6"

expect.set_options(timeout=10_000)


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


class Host:
    """One server and its page. The page of JupyterLab is kept from test to test."""

    def __init__(self, app: App, server: JupyterServer, browser: Browser) -> None:
        self.app = app
        self.server = server
        self.page: Page | None = None
        self.problems: Problems | None = None
        self._browser = browser
        self._names = (f"test{number}.ipynb" for number in itertools.count(1))
        self._spare = server.start_kernel()

    def open(self, kernel: str = "python3") -> tuple[Notebook, str]:
        """A new notebook with a fresh kernel, and that kernel's id."""
        path = next(self._names)
        self.server.write_notebook(path, kernel)
        if kernel == "python3":
            # The kernel of the next test starts while this one runs.
            kernel_id, self._spare = self._spare, self.server.start_kernel()
        else:
            kernel_id = self.server.start_kernel(kernel)
        self.server.use_kernel(path, kernel_id)
        return self.show(path), kernel_id

    def show(self, path: str) -> Notebook:
        """The notebook at ``path``, in the page."""
        if self.page is None:
            self.page = self._browser.new_page(viewport=VIEWPORT)
            self.problems = Problems(self.page)
            self.page.goto(self.address(path))
        elif self.app == "notebook":
            self.page.goto(self.address(path))
        else:
            opened = "path => jupyterapp.commands.execute('docmanager:open', {path}).then(() => {})"
            self.page.evaluate(opened, path)
        assert self.problems is not None
        notebook = Notebook(self.page, self.server, path, self.problems)
        notebook.await_ready()
        return notebook

    def address(self, path: str) -> str:
        folder = "lab/tree" if self.app == "lab" else "notebooks"
        return f"{self.server.url}/{folder}/{path}"

    def forget_page(self) -> None:
        if self.page is not None:
            self.page.close()
        self.page = self.problems = None


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
        started.forget_page()
        started.server.close()


@pytest.fixture
def notebook(
    request: pytest.FixtureRequest, host_of: Callable[[App], Host]
) -> Iterator[Notebook]:
    """An open notebook in JupyterLab, or in what `in_both` says; no error may show in its page."""
    yield from opened(request, host_of(getattr(request, "param", "lab")), "python3")


@pytest.fixture
def notebook6(
    request: pytest.FixtureRequest, host_of: Callable[[App], Host]
) -> Iterator[Notebook]:
    """An open notebook in JupyterLab whose kernel is an ipykernel 6."""
    yield from opened(request, host_of("lab"), IPYKERNEL6)


@pytest.fixture
def notebook_without_subshells(
    request: pytest.FixtureRequest, host_of: Callable[[App], Host]
) -> Iterator[Notebook]:
    """An open notebook in a JupyterLab whose user switched subshells off for widgets."""
    lab = host_of("lab")
    plugin = "@jupyterlab/apputils-extension:kernels-settings"
    with lab.server.setting(plugin, {"commsOverSubshells": "disabled"}):
        lab.forget_page()
        yield from opened(request, lab, "python3")
    lab.forget_page()


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
    host.server.stop_kernel(kernel_id)
    assert not problems, "\n".join(problems)
