"""The finder takes a browser that starts, in the order it promises, and is strict in CI."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.chromium import ChromiumError, found_chromium, in_ci, may_install


def executable(path: Path, *, works: bool = True) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho Chromium 150.0\nexit {0 if works else 1}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An empty machine."""
    return {"HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "bin")}


@pytest.fixture(autouse=True)
def no_applications(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.chromium.MAC_APPS", ())


def test_an_empty_machine_has_none(environ: dict[str, str]) -> None:
    assert found_chromium(environ) is None


def test_the_variable_comes_before_the_path(environ: dict[str, str], tmp_path: Path) -> None:
    executable(tmp_path / "bin/chromium")
    mine = executable(tmp_path / "mine/browser")
    assert found_chromium({**environ, "AGENT_WIDGET_CHROMIUM": str(mine)}) == mine


def test_a_variable_that_names_no_browser_is_an_error(environ: dict[str, str]) -> None:
    with pytest.raises(ChromiumError, match="/nowhere/chromium"):
        found_chromium({**environ, "AGENT_WIDGET_CHROMIUM": "/nowhere/chromium"})


@pytest.mark.parametrize("name", ["chromium", "google-chrome-stable", "msedge"])
def test_a_browser_on_the_path_is_found(environ: dict[str, str], tmp_path: Path, name: str) -> None:
    assert found_chromium(environ) != executable(tmp_path / "bin" / name)
    assert found_chromium(environ) == tmp_path / "bin" / name


def test_a_stub_that_does_not_start_is_passed_over(environ: dict[str, str], tmp_path: Path) -> None:
    executable(tmp_path / "bin/chromium", works=False)
    chrome = executable(tmp_path / "bin/google-chrome")
    assert found_chromium(environ) == chrome


def test_playwrights_newest_browser_is_found(environ: dict[str, str], tmp_path: Path) -> None:
    cache = tmp_path / "browsers"
    executable(cache / "chromium-1100/chrome-linux/chrome")
    newest = executable(cache / "chromium-1200/chrome-linux/chrome")
    assert found_chromium({**environ, "PLAYWRIGHT_BROWSERS_PATH": str(cache)}) == newest


@pytest.mark.parametrize(("value", "ci"), [("true", True), ("1", True), ("", False), ("0", False)])
def test_ci_is_told_by_its_variable(value: str, ci: bool) -> None:
    assert in_ci({"CI": value}) is ci


def test_nothing_is_installed_unasked() -> None:
    assert may_install({}) is False
