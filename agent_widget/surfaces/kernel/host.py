"""Where this process runs."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

HostKind = Literal["ipykernel", "ipython", "marimo", "voila", "colab", "script"]

_VOILA_VARIABLES = ("VOILA_BASE_URL", "VOILA_PREHEAT", "VOILA_REQUEST_URL")


@dataclass(frozen=True, slots=True)
class Host:
    """What runs this Python, as far as waiting, asking and drawing depend on it.

    ``ipykernel`` is its version, or None where the kernel is another one or absent;
    ``kernel`` is the kernel object of this process (untyped by nature: read it with getattr).
    """

    kind: HostKind
    ipykernel: str | None = None
    kernel: object | None = None

    @property
    def release(self) -> tuple[int, int] | None:
        """Major and minor number of ipykernel, None when unknown."""
        numbers = (self.ipykernel or "").split(".")[:2]
        if len(numbers) == 2 and all(number.isdecimal() for number in numbers):
            return int(numbers[0]), int(numbers[1])
        return None

    def allow_stdin(self) -> bool:
        """True when ``input()`` can reach a person now.

        A kernel knows it from the cell's request: nbclient and papermill say no.
        """
        if self.kernel is not None:
            return getattr(self.kernel, "_allow_stdin", False) is True
        if self.kind not in {"ipython", "script"}:
            return False
        try:
            return sys.stdin.isatty()
        except (AttributeError, ValueError):  # no stdin at all, or closed
            return False


def detect_host(environ: Mapping[str, str] | None = None) -> Host:
    """The host of this process; never raises, imports nothing.

    Call it where the person's code runs (marimo knows its thread only). Warns once about an
    ipykernel 7.0 release. ``environ`` defaults to the process's environment.
    """
    environ = os.environ if environ is None else environ
    if _in_marimo():
        return Host("marimo")
    shell = _shell()
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return Host("script" if shell is None else "ipython")
    host = Host(_kernel_kind(environ), _ipykernel_version(), kernel)
    if host.release == (7, 0):
        _warn_about(host.ipykernel)
    return host


def in_main_thread() -> bool:
    """True on the thread that runs cells (or the script), the only one that gets signals."""
    return threading.current_thread() is threading.main_thread()


def _in_marimo() -> bool:
    asked = getattr(sys.modules.get("marimo"), "running_in_notebook", None)
    try:
        return asked is not None and bool(asked())
    except Exception:  # noqa: BLE001 - a host that cannot say is not a host we know
        return False


def _shell() -> object | None:
    asked = getattr(sys.modules.get("IPython"), "get_ipython", None)
    try:
        shell: object | None = asked() if asked is not None else None
    except Exception:  # noqa: BLE001 - half-imported IPython
        return None
    return shell


def _kernel_kind(environ: Mapping[str, str]) -> HostKind:
    if "google.colab" in sys.modules:
        return "colab"
    by_voila = environ.get("SERVER_SOFTWARE", "").startswith("voila/")
    if by_voila or any(name in environ for name in _VOILA_VARIABLES):
        return "voila"
    return "ipykernel"


def _ipykernel_version() -> str | None:
    version = getattr(sys.modules.get("ipykernel"), "__version__", None)
    return version if isinstance(version, str) else None


@functools.cache
def _warn_about(version: str | None) -> None:
    with contextlib.suppress(UserWarning):  # where warnings are errors
        warnings.warn(
            f"ipykernel {version} loses what a widget sends while a cell runs (LookupError); "
            "install ipykernel 7.1 or later, or 6.31.",
            UserWarning,
            stacklevel=3,
        )
