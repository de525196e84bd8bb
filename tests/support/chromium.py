"""Find a Chromium for the browser tests, or install one where that is allowed.

Needs the standard library alone, so that it can run before anything is installed:

    python tests/support/chromium.py            print the path, or nothing when there is none
    python tests/support/chromium.py --install  first install what the system lacks

Exit status 1: none can be had in CI (CI=true), or AGENT_WIDGET_CHROMIUM names none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)
MAC_APPS = (
    "Google Chrome.app/Contents/MacOS/Google Chrome",
    "Chromium.app/Contents/MacOS/Chromium",
    "Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
# Newest first by the revision in the folder's name; the layout differs by platform and by age.
PLAYWRIGHT_PATTERNS = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
    "chromium_headless_shell-*/chrome-*/headless_shell",
    "chromium_headless_shell-*/chrome-headless-shell-*/chrome-headless-shell",
)
# Fonts: without them screenshots show boxes for letters and emoji.
SYSTEM_PACKAGES = ("chromium", "fonts-liberation", "fonts-dejavu-core", "fonts-noto-color-emoji")
HOW_TO_GET_ONE = (
    "No Chromium was found. Any one of these gets one:\n"
    "  - install Chromium, Chrome or Edge so that it is on PATH (macOS: in /Applications)\n"
    "  - set AGENT_WIDGET_CHROMIUM to the path of its executable\n"
    "  - run `python -m playwright install chromium`\n"
    "  - as root on Debian, set AGENT_WIDGET_INSTALL_BROWSER=1 and run again"
)


class ChromiumError(Exception):
    """A browser that was asked for by name, or that CI must have, is not there."""


def obtained_chromium(environ: Mapping[str, str] = os.environ) -> Path | None:
    """A Chromium that starts, installed first when there is none and that is allowed.

    Raises `ChromiumError` when AGENT_WIDGET_CHROMIUM names none, and when there is none in CI.
    """
    found = found_chromium(environ)
    if found is None and may_install(environ):
        install()
        found = found_chromium(environ)
    if found is None and in_ci(environ):
        raise ChromiumError(HOW_TO_GET_ONE)
    return found


def found_chromium(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The first Chromium that starts: named, on PATH, Playwright's, or an app of macOS."""
    if named := environ.get("AGENT_WIDGET_CHROMIUM"):
        if not starts(Path(named)):
            message = f"AGENT_WIDGET_CHROMIUM is {named!r}, which is no browser that starts."
            raise ChromiumError(message)
        return Path(named)
    return next((path for path in candidates(environ) if starts(path)), None)


def candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    """Executables that may be a Chromium, best first."""
    for name in NAMES:
        if on_path := shutil.which(name, path=environ.get("PATH")):
            yield Path(on_path)
    for cache in playwright_caches(environ):
        for pattern in PLAYWRIGHT_PATTERNS:
            yield from sorted(cache.glob(pattern), reverse=True)
    for folder in (Path("/Applications"), home(environ) / "Applications"):
        yield from (folder / app for app in MAC_APPS if (folder / app).exists())


def playwright_caches(environ: Mapping[str, str]) -> Iterator[Path]:
    """The folders in which Playwright may keep its browsers."""
    if named := environ.get("PLAYWRIGHT_BROWSERS_PATH"):
        yield Path(named)
    if sys.platform == "darwin":
        yield home(environ) / "Library/Caches/ms-playwright"
    else:
        cache = environ.get("XDG_CACHE_HOME") or str(home(environ) / ".cache")
        yield Path(cache, "ms-playwright")


def home(environ: Mapping[str, str]) -> Path:
    """The home folder that `environ` names."""
    return Path(environ.get("HOME") or Path.home())


def starts(executable: Path) -> bool:
    """Whether it tells its version: a stub that only advertises a package does not."""
    try:
        answer = subprocess.run(
            [str(executable), "--version"], capture_output=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and any(character in b"0123456789" for character in answer.stdout)


def in_ci(environ: Mapping[str, str]) -> bool:
    """Whether this is an automatic run, in which nothing may be skipped for want of a browser."""
    return environ.get("CI", "").lower() not in {"", "0", "false"}


def may_install(environ: Mapping[str, str]) -> bool:
    """Whether system packages may be installed: asked for or in CI, as root, with apt-get."""
    asked = environ.get("AGENT_WIDGET_INSTALL_BROWSER") == "1" or in_ci(environ)
    return asked and os.name == "posix" and os.geteuid() == 0 and bool(shutil.which("apt-get"))


def install() -> None:
    """Install Debian's Chromium and fonts; raise `ChromiumError` when apt-get fails."""
    apt = ["apt-get", "-q", "-y", "-o", "Acquire::Retries=5", "-o", "Dpkg::Use-Pty=0"]
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "--no-install-recommends", *SYSTEM_PACKAGES]):
        command = [*apt, *arguments]
        # stdout carries the path alone.
        done = subprocess.run(command, env=environ, stdout=sys.stderr, check=False)
        if done.returncode:
            message = f"`{' '.join(command)}` failed with exit status {done.returncode}."
            raise ChromiumError(message)


def missing_packages() -> list[str]:
    """The system packages that are not installed."""
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status}"]
    return [
        package
        for package in SYSTEM_PACKAGES
        if subprocess.run([*query, package], capture_output=True, check=False).stdout
        != b"installed"
    ]


def main(arguments: list[str]) -> int:
    """Print the path; exit status 1 when one that must be there is not."""
    try:
        if "--install" in arguments and may_install(os.environ) and missing_packages():
            install()
        found = obtained_chromium()
    except ChromiumError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(found or HOW_TO_GET_ONE, file=sys.stdout if found else sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
