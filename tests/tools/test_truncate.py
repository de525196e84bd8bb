from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agent_widget.tools.base import Block, HtmlBlock, ImageBlock, SvgBlock, TextBlock, ToolOutput
from agent_widget.tools.truncate import (
    LIVE_CHARS,
    MODEL_TEXT_CHARS,
    OUTPUT_BYTES,
    USER_TEXT_BYTES,
    BoundedText,
    LiveOutput,
    fitted,
    head_and_tail,
    head_and_tail_bytes,
    shares,
)

LONG = st.builds(
    lambda piece, times: piece * times,
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
    st.integers(1, 30_000),
)
AUDIENCE = st.sampled_from(["all", "user", "model"])
BLOCK = (
    st.builds(TextBlock, LONG | st.text(), AUDIENCE)
    | st.builds(lambda n: ImageBlock("image/png", "A" * n), st.integers(0, 900_000))
    | st.builds(SvgBlock, LONG)
    | st.builds(HtmlBlock, LONG)
)


@given(LONG, st.integers(200, 5_000))
def test_cut_text_is_bounded_and_keeps_head_and_tail(text: str, limit: int) -> None:
    cut = head_and_tail(text, limit)
    assert len(cut) <= limit
    assert cut == text or (cut[:40] == text[:40] and cut[-40:] == text[-40:])


@given(LONG, st.integers(400, 5_000))
def test_cut_bytes_are_bounded_and_keep_head_and_tail(text: str, limit: int) -> None:
    cut = head_and_tail_bytes(text, limit)
    assert len(cut.encode()) <= limit
    assert cut == text or (cut[:20] == text[:20] and cut[-20:] == text[-20:])


def test_cut_text_says_how_much_is_missing() -> None:
    cut = head_and_tail("x" * 1_000, 300)
    kept = cut.count("x")
    assert f"[{1_000 - kept:,} of 1,000 characters left out" in cut


@given(st.lists(st.integers(0, 1_000)), st.integers(0, 5_000))
def test_shares_fit_the_budget_and_waste_none_of_it(sizes: list[int], budget: int) -> None:
    given_ = shares(sizes, budget)
    assert all(0 <= share <= size for share, size in zip(given_, sizes, strict=True))
    assert sum(given_) == min(sum(sizes), budget)


@given(st.lists(LONG | st.text(), max_size=20))
def test_bounded_text_keeps_what_a_plain_text_begins_and_ends_with(pieces: list[str]) -> None:
    bounded, whole = BoundedText(1_000), "".join(pieces)
    for piece in pieces:
        bounded.append(piece)
    text = bounded.text()
    assert bounded.size_chars == len(whole)
    if len(whole) <= 1_000:
        assert text == whole
    else:
        assert (text[:500], text[-500:]) == (whole[:500], whole[-500:])
        assert len(text) < 1_200


@given(st.lists(BLOCK, max_size=130), st.booleans())
def test_whatever_a_call_produces_fits(blocks: list[Block], is_error: bool) -> None:
    output = fitted(ToolOutput(tuple(blocks), is_error))
    texts = [block for block in output.content if isinstance(block, TextBlock)]
    for_user = sum(len(b.text.encode()) for b in texts if b.audience != "model")
    marks = 100 * len(texts)
    assert output.is_error is is_error
    assert len(output.text_for_model()) <= MODEL_TEXT_CHARS + marks
    assert for_user <= USER_TEXT_BYTES + marks
    assert len(msgspec.json.encode(output)) < OUTPUT_BYTES


@given(st.lists(BLOCK, max_size=20))
def test_fitting_twice_changes_nothing_more(blocks: list[Block]) -> None:
    once = fitted(ToolOutput(tuple(blocks)))
    assert fitted(once).text_for_model() == once.text_for_model()


def test_an_image_that_is_too_large_becomes_a_note() -> None:
    output = fitted(ToolOutput((ImageBlock("image/png", "A" * 2_000_000),)))
    assert output.content == (
        TextBlock("[image of 2,000 kB left out: more than a card can hold]", "user"),
    )


def test_live_output_passes_on_a_bounded_start_and_says_so_once() -> None:
    passed: list[str] = []
    live = LiveOutput(passed.append)
    for _ in range(100):
        live.write("x" * 10_000)
    assert "".join(passed).count("x") == LIVE_CHARS
    assert "".join(passed).count("More output follows") == 1
