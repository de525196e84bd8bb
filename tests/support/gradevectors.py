"""The vectors that ship with the package: those of the reducer, without where they come from.

python -m tests.support.gradevectors    writes agent_widget/teaching/reducer.json anew
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
SHIPPED: Final = ROOT / "agent_widget" / "teaching" / "reducer.json"
SOURCE: Final = re.compile(r" \(seed [^)]*\)")
KEPT: Final = ("id", "why", "given", "when", "then")


def shipped_text() -> str:
    """What the file has to hold: one vector a line."""
    whole = json.loads((ROOT / "tests" / "vectors" / "vectors.json").read_text("utf-8"))
    own = [vector for vector in whole["vectors"] if vector["suite"] == "reducer"]
    lines = [
        SOURCE.sub("", json.dumps(_kept(vector), ensure_ascii=False, separators=(",", ":")))
        for vector in own
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _kept(vector: dict[str, Any]) -> dict[str, Any]:
    return {key: vector[key] for key in KEPT}


if __name__ == "__main__":
    SHIPPED.write_text(shipped_text(), encoding="utf-8")
