"""``apply`` obeys the vectors that the browser's ``patch.ts`` obeys, too."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from agent_widget.view.patch import GapError, apply

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "patch.json").read_text("utf-8"))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vector_holds(vector: Any) -> None:
    before = copy.deepcopy(vector["before"])
    if vector.get("gap"):
        with pytest.raises(GapError):
            apply(before, vector["ops"])
    else:
        assert apply(before, vector["ops"]) == vector["after"]
    assert before == vector["before"]
