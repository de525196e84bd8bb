"""Every notebook runs in nbclient, as papermill and Jupyter Book do it, and gives what it shows."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import agent_widget.testing

NOTEBOOKS = sorted(Path(__file__).parents[2].joinpath("notebooks").glob("*.ipynb"))
assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_in_nbclient_what_it_gives_in_nbval(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    done = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    where = {"metadata": {"path": str(path.parent)}}
    NotebookClient(done, timeout=60, kernel_name="python3", resources=where).execute()
    for mine, its in zip(done.cells, stored.cells, strict=True):
        assert plain_texts(mine) == plain_texts(its), its.source


def plain_texts(cell: nbformat.NotebookNode) -> list[str]:
    """The outputs of a cell as plain text without what may differ, but those not compared."""
    if "nbval-ignore-output" in cell.metadata.get("tags", ()):
        return []
    outputs = cell.get("outputs", ())
    printed = "".join(each.get("text", "") for each in outputs)  # in pieces, as it came
    texts = [printed, *(each.get("data", {}).get("text/plain", "") for each in outputs)]
    texts = [text for text in texts if text]
    for pattern, stand_in in sanitizers():
        texts = [re.sub(pattern, stand_in, text) for text in texts]
    return texts


def sanitizers() -> list[tuple[str, str]]:
    """The patterns of the file that nbval has here."""
    file = configparser.RawConfigParser()
    assert file.read(Path(agent_widget.testing.__file__).with_name("nbval.cfg"), "utf-8")
    return [(file[name]["regex"], file[name]["replace"]) for name in file.sections()]
