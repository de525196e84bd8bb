"""What holds for every test: an isolated environment, one event loop, a browser on request."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from hypothesis import settings

from tests.support.chromium import HOW_TO_GET_ONE, ChromiumError, in_ci, obtained_chromium
from tests.support.isolation import isolated
from tests.support.thorough import is_thorough

BROWSER = pytest.StashKey["Browser"]()
NO_CHROMIUM: Final = "no Chromium"

# Few examples by default; in CI as many as time allows, the same ones in every run.
settings.register_profile("default", max_examples=25, deadline=None)
settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("thorough", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile("ci" if in_ci(os.environ) or is_thorough() else "default")


TOGETHER: Final = {
    "tests/browser/test_l": "pictures and lifecycle",
    "tests/browser/test_resume": "pictures and lifecycle",
    "tests/browser/": "browser",
    "tests/store/sql/": "databases",
}
"""Tests that run in one process, by the start of their path: they share a browser, a server.

The browser's are two groups of like length, which take longest and mostly wait.
"""


class Browser:
    """The Chromium of this run, looked for once, when the first test asks for it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._sought: tuple[Path | None, str] | None = None

    def sought(self) -> tuple[Path | None, str]:
        """The executable, or None and the reason."""
        if self._sought is None:
            try:
                self._sought = (obtained_chromium(self._environ), HOW_TO_GET_ONE)
            except ChromiumError as error:
                self._sought = (None, str(error))
        return self._sought

    def require(self) -> Path:
        """The executable; without one the test is skipped, and fails in CI."""
        path, reason = self.sought()
        if path is not None:
            return path
        if in_ci(self._environ):
            pytest.fail(f"A browser test has no browser in CI. {reason}", pytrace=False)
        pytest.skip(NO_CHROMIUM)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Isolate the whole process, before a plugin or a test reads the environment."""
    before = dict(os.environ)
    # The user's PATH and caches: that is where browsers are.
    config.stash[BROWSER] = Browser(before)
    if is_controller(config):
        return  # its workers isolate themselves
    folder = tempfile.TemporaryDirectory(prefix="agent-widget-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    config.add_cleanup(lambda: replace_environ(before))
    replace_environ(isolated(before, Path(folder.name)))


def is_controller(config: pytest.Config) -> bool:
    """Whether this process only hands tests out to others (`-n`)."""
    return bool(getattr(config.option, "numprocesses", None)) and not hasattr(config, "workerinput")


def replace_environ(wanted: Mapping[str, str]) -> None:
    """Make `os.environ` equal to `wanted`."""
    for name in set(os.environ) - set(wanted):
        del os.environ[name]
    os.environ.update(wanted)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever uses the path of the browser is a browser test."""
    for item in items:
        if "chromium_path" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``-n``, a file stays in one process, and so does each group of ``TOGETHER``."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            groups = (group for start, group in TOGETHER.items() if path.startswith(start))
            return next(groups, path)

    return ByFile(config, log)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look for the browser now: installing one may take longer than a test may."""
    if not session.config.option.collectonly and any(map(is_browser_test, session.items)):
        session.config.stash[BROWSER].sought()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip or fail a browser test that has no browser."""
    if is_browser_test(item):
        item.config.stash[BROWSER].require()


def is_browser_test(item: pytest.Item) -> bool:
    """Whether the test carries the marker `browser`."""
    return item.get_closest_marker("browser") is not None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly what was not tested for want of a browser."""
    skipped = terminalreporter.stats.get("skipped", ())
    count = sum(NO_CHROMIUM in str(report.longrepr) for report in skipped)
    if count:
        title = f"SKIPPED BROWSER TESTS: {count}"
        terminalreporter.section(title, sep="!", yellow=True, bold=True)
        terminalreporter.line(HOW_TO_GET_ONE, yellow=True)


@pytest.fixture(scope="session")
def chromium_path(pytestconfig: pytest.Config) -> Path:
    """The executable of the Chromium to test with."""
    return pytestconfig.stash[BROWSER].require()


@pytest.fixture(scope="session")
def chromium_arguments() -> list[str]:
    """Arguments that keep Chromium off the network and let it run as root, as in a container."""
    quiet = [
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-gpu",
        "--disable-sync",
        "--no-first-run",
    ]
    return [*quiet, "--no-sandbox"] if os.geteuid() == 0 else quiet


@pytest.fixture(scope="session")
def ipykernel6_path() -> Path:
    """A folder that, first on PYTHONPATH, makes a kernel an ipykernel 6; `make test` fills it."""
    folder = Path(sys.prefix, "ipykernel6")
    if not (folder / "ipykernel").is_dir():
        reason = f"no ipykernel 6 in {folder}; `make test` installs it"
        if in_ci(os.environ):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def anyio_backend() -> Literal["asyncio"]:
    """Jupyter runs on asyncio, and so do async tests."""
    return "asyncio"
