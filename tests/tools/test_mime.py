from __future__ import annotations

import base64
from typing import Any

import pytest

from agent_widget.tools.base import Block, HtmlBlock, ImageBlock, SvgBlock, TextBlock
from agent_widget.tools.mime import bundle_blocks

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20) + b"IEND\xaeB`\x82"
PNG_TEXT = base64.b64encode(PNG).decode()
CASES: list[tuple[dict[str, Any], tuple[Block, ...]]] = [
    ({"text/plain": "1"}, (TextBlock("1"),)),
    ({"text/markdown": "*1*"}, (TextBlock("*1*"),)),
    ({"text/latex": "$1$"}, (TextBlock("$1$"),)),
    (
        {"text/html": ["<b>", "1</b>"], "text/plain": "1"},
        (HtmlBlock("<b>1</b>"), TextBlock("1", "model")),
    ),
    ({"image/svg+xml": "<svg/>"}, (SvgBlock("<svg/>"),)),
    ({"image/png": PNG, "text/html": "<b>"}, (ImageBlock("image/png", PNG_TEXT),)),
    ({"image/png": PNG_TEXT + "\n"}, (ImageBlock("image/png", PNG_TEXT),)),
    ({"image/png": PNG[:-12]}, (TextBlock("[broken image/png of 24 bytes left out]"),)),
    ({"image/jpeg": "no base64!"}, (TextBlock("[broken image/jpeg of 6 bytes left out]"),)),
    ({"application/x": {}}, (TextBlock("[output of type application/x]"),)),
]


@pytest.mark.parametrize(("data", "blocks"), CASES, ids=lambda v: str(v)[:40])
def test_a_bundle_is_its_richest_form_for_the_person_and_its_text_for_the_model(
    data: dict[str, Any], blocks: tuple[Block, ...]
) -> None:
    assert bundle_blocks(data) == blocks
