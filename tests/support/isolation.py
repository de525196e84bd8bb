"""An environment in which nothing of the person who runs the tests decides what they find."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

# A key or a server address would make the tests talk to a real model.
SETTINGS_OF_MODELS = re.compile(r".*(_API_KEY|_API_BASE|_AUTH_TOKEN|_BASE_URL)")
# Further folders with settings and kernels, and what changes how hosts start.
SETTINGS_OF_HOSTS = (
    "IPYTHONSTARTUP",
    "JUPYTER_CONFIG_PATH",
    "JUPYTER_NO_CONFIG",
    "JUPYTER_PATH",
    "JUPYTER_TOKEN",
    "MPLBACKEND",
    "PYTHONSTARTUP",
)
OURS = {
    "AGENT_WIDGET_CHROMIUM",
    "AGENT_WIDGET_INSTALL_BROWSER",
    "AGENT_WIDGET_POSTGRESQL",
    "AGENT_WIDGET_THOROUGH",
}


def isolated(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """`environ` with every user folder inside `folder`, no keys, and no way around loopback.

    The kernel `python3` is still found: it is in `sys.prefix`, which stays as it is.
    """
    kept = {name: value for name, value in environ.items() if not is_personal(name)}
    folders = {
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "jupyter/config",
        "JUPYTER_DATA_DIR": "jupyter/data",
        "JUPYTER_RUNTIME_DIR": "jupyter/runtime",
        "MPLCONFIGDIR": "matplotlib",
        "XDG_CACHE_HOME": "xdg/cache",
        "XDG_CONFIG_HOME": "xdg/config",
        "XDG_DATA_HOME": "xdg/data",
        "XDG_STATE_HOME": "xdg/state",
    }
    return {
        **kept,
        **{name: str(folder / path) for name, path in folders.items()},
        # Without it jupyter_core warns of a change of its default folders, which are not used.
        "JUPYTER_PLATFORM_DIRS": "1",
        "JUPYTER_PREFER_ENV_PATH": "1",
        "NO_PROXY": "127.0.0.1,localhost,::1",
        "no_proxy": "127.0.0.1,localhost,::1",
        # The debugger of the kernel would write a warning about frozen modules into a cell.
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


def is_personal(name: str) -> bool:
    """Whether the variable is a setting of the person's, which a test must not see."""
    if name.startswith("AGENT_WIDGET_"):
        return name not in OURS
    return name in SETTINGS_OF_HOSTS or SETTINGS_OF_MODELS.fullmatch(name) is not None
