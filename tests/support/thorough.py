"""Whether tests do all that there is time for: `make thorough`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

THOROUGH: Final = "AGENT_WIDGET_THOROUGH"


def is_thorough(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the variable asks for it."""
    return environ.get(THOROUGH, "") not in ("", "0")
