from __future__ import annotations

import base64
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from agent_widget.core.errors import ToolFailure
from agent_widget.tools import ImageBlock, TextBlock, file_tools
from agent_widget.tools.files import LISTED
from agent_widget.tools.truncate import MODEL_TEXT_CHARS
from tests.tools.support.calls import Call, output_of

pytestmark = pytest.mark.anyio


async def read(root: Path, path: str, **args: Any) -> str:
    return (await output_of(file_tools(root)[0], path=path, **args)).text_for_model()


async def listed(root: Path, **args: Any) -> list[str]:
    output = await output_of(file_tools(root)[1], **args)
    return output.text_for_model().split("\n")


def test_the_file_tools_say_what_they_do_to_the_world(tmp_path: Path) -> None:
    assert [(made.name, made.kind, made.read_only) for made in file_tools(tmp_path)] == [
        ("read_file", "read", True),
        ("list_files", "read", True),
        ("search_files", "read", True),
        ("edit_file", "edit", False),
        ("write_file", "edit", False),
    ]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\nb\n", "1\ta\n2\tb"),
        (b"a\n\nb", "1\ta\n2\t\n3\tb"),
        (b"a\r\nb\r\n", "1\ta\n2\tb"),
        (b"\xef\xbb\xbfa\xc3\xa9", "1\taé"),
        ("aé\n".encode("utf-16"), "1\taé\n[The file is UTF-16-LE.]"),
        ("aé\n".encode("utf-32"), "1\taé\n[The file is UTF-32-LE.]"),
        (b"\xfe\xff\x00a", "1\ta\n[The file is UTF-16-BE.]"),
        (
            b"caf\xe9\n",
            "1\tcafé\n[The file is not UTF-8; it was read as Latin-1, which may be wrong.]",
        ),
        ("a\u2028b\x0cc\n".encode(), "1\ta\u2028bc"),
        (b"", "[f is empty.]"),
        (b"\n", "1\t"),
    ],
)
async def test_text_is_read_in_its_encoding_with_the_numbers_of_its_lines(
    tmp_path: Path, data: bytes, text: str
) -> None:
    (tmp_path / "f").write_bytes(data)
    assert await read(tmp_path, "f") == text


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"a\0b", "binary file, 3 bytes"),
        (b"%PDF-1.7\n\0\xff", "PDF document, 11 bytes"),
        (b"PK\x03\x04\0\0", "zip archive"),
        (bytes(range(1, 256)), "binary file, 255 bytes"),
        (b"\xff\xfea\0b", "not text"),
    ],
)
async def test_binary_data_is_refused_with_its_type_and_size(
    tmp_path: Path, data: bytes, what: str
) -> None:
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(ToolFailure, match=what):
        await read(tmp_path, "f")


async def test_a_part_of_a_file_says_where_it_goes_on(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    assert await read(tmp_path, "f", offset=4, limit=2) == (
        "4\tline 4\n5\tline 5\n[Lines 4 to 5 of 10; go on at offset=6.]"
    )
    assert await read(tmp_path, "f", offset=10) == "10\tline 10"
    assert "ends before line 11: 10 lines" in await read(tmp_path, "f", offset=11)
    with pytest.raises(ToolFailure, match="1 or more"):
        await read(tmp_path, "f", offset=0)


async def test_a_long_file_is_read_in_whole_lines_within_what_a_model_gets(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f"{n} {'x' * 90}\n" for n in range(1, 1_001)))
    first = await read(tmp_path, "f")
    *lines, note = first.split("\n")
    assert len(first) <= MODEL_TEXT_CHARS
    assert [line.partition("\t")[0] for line in lines] == [str(n) for n in range(1, len(lines) + 1)]
    assert note == f"[Lines 1 to {len(lines)} of 1,000; go on at offset={len(lines) + 1}.]"
    second = await read(tmp_path, "f", offset=len(lines) + 1)
    assert second.startswith(f"{len(lines) + 1}\t{len(lines) + 1} x")


async def test_a_long_line_is_cut_and_says_how_much_is_missing(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x" * 1_000_000 + "\nend\n")
    line, end = (await read(tmp_path, "f")).split("\n")
    assert line == "1\t" + "x" * 2_000 + "… [998,000 more characters in this line]"
    assert end == "2\tend"


async def test_the_head_of_a_huge_file_is_read_without_the_rest(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        file.write(b"".join(b"row %d\n" % n for n in range(800_000)))
        file.truncate(1 << 40)  # sparse: reading it all would never end
    text = await read(tmp_path, "f", limit=3)
    assert text == "1\trow 0\n2\trow 1\n3\trow 2\n[Lines 1 to 3; more follow, from offset=4.]"


def png(width: int = 2, height: int = 2) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + bytes(3 * width) for _ in range(height)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


async def test_an_image_is_for_the_user_and_the_model_is_told(tmp_path: Path) -> None:
    (tmp_path / "i.png").write_bytes(png())
    output = await output_of(file_tools(tmp_path)[0], path="i.png")
    assert output.content == (
        ImageBlock("image/png", base64.b64encode(png()).decode()),
        TextBlock(f"i.png: image/png, {len(png())} bytes, shown to the user.", "model"),
    )


async def test_a_broken_or_huge_image_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(png()[:-12])
    (tmp_path / "huge.jpg").write_bytes(b"\xff\xd8\xff" + bytes(600_000))
    for name, problem in [("broken.png", "broken image/png"), ("huge.jpg", "more than a card")]:
        with pytest.raises(ToolFailure, match=problem):
            await read(tmp_path, name)


# Lists ----------------------------------------------------------------------------------------


def tree(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("")


async def test_a_folder_is_listed_sorted_without_hidden_and_ignored_names(tmp_path: Path) -> None:
    tree(tmp_path, "b.txt", "a/x.py", ".env", ".git/config", "build/out.o", "c.log", "d/keep.log")
    (tmp_path / ".gitignore").write_text("# made\nbuild/\n*.log\n!keep.log\n")
    (tmp_path / "link").symlink_to("/etc")
    assert await listed(tmp_path) == ["a/", "b.txt", "d/", "link (link)"]
    assert await listed(tmp_path, recursive=True) == [
        "a/",
        "a/x.py",
        "b.txt",
        "d/",
        "d/keep.log",
        "link (link)",
    ]
    assert ".env" in await listed(tmp_path, include_hidden=True)
    assert await listed(tmp_path, path="build") == ["build/out.o"]


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.py", ["a.py", "s/b.py", "s/t/c.py"]),
        ("s/*.py", ["s/b.py"]),
        ("s/**/*.py", ["s/b.py", "s/t/c.py"]),
        ("**/t/*", ["s/t/c.py"]),
        ("*.{py,md}", ["a.py", "r.md", "s/b.py", "s/t/c.py"]),
        ("[ar].*", ["a.py", "r.md"]),
        ("?.md", ["r.md"]),
        ("*.rs", ["[There is no file that fits '*.rs' in ., hidden and ignored files aside.]"]),
        ("*" + "a*" * 60 + "b", None),
        ("**/" * 60 + "x", None),
    ],
)
async def test_a_glob_chooses_files_at_the_depth_it_says(
    tmp_path: Path, pattern: str, paths: list[str] | None
) -> None:
    tree(tmp_path, "a.py", "r.md", "s/b.py", "s/t/c.py")
    if paths is None:  # a pattern to hang on
        (tmp_path / ("a" * 200)).write_text("")
        paths = [f"[There is no file that fits {pattern!r} in ., hidden and ignored files aside.]"]
    assert await listed(tmp_path, pattern=pattern) == paths


async def test_an_ignore_file_counts_below_its_folder_alone(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.log", "a/b/x.log", "a/b/only.txt", "x.log", "a/only.txt")
    (tmp_path / "a/.gitignore").write_text("*.log\n/only.txt\n")
    assert await listed(tmp_path, recursive=True) == ["a/", "a/b/", "a/b/only.txt", "x.log"]
    assert await listed(tmp_path, path="a/b", recursive=True) == ["a/b/only.txt"]


async def test_a_long_list_ends_and_says_so(tmp_path: Path) -> None:
    tree(tmp_path, *(f"f{n:04}" for n in range(LISTED + 1)))
    lines = await listed(tmp_path)
    assert len(lines) == LISTED + 1
    assert lines[-1] == "[There are more; give a pattern or a folder.]"


async def test_a_name_with_control_characters_stays_on_its_line(tmp_path: Path) -> None:
    tree(tmp_path, "a\nb", "c\u202etxt")
    assert await listed(tmp_path) == [r"'a\nb'", r"'c\u202etxt'"]


async def test_links_are_not_walked(tmp_path: Path) -> None:
    tree(tmp_path, "ws/a/x.py", "out/secret.py")
    (tmp_path / "ws/out").symlink_to("../out")
    (tmp_path / "ws/a/loop").symlink_to("..")
    assert await listed(tmp_path / "ws", pattern="*.py") == ["a/x.py"]


async def test_a_walk_ends_when_the_call_is_stopped(tmp_path: Path) -> None:
    tree(tmp_path, "a/b/c")
    call = Call(file_tools(tmp_path)[1])
    call.context.cancelled.set()
    text = (await call.run(recursive=True)).text_for_model()
    assert "ran out" in text


async def test_listing_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    tree(tmp_path, "f")
    os.mkfifo(tmp_path / "p")
    for name in ("f", "p", "nothing"):
        with pytest.raises(ToolFailure, match=name):
            await listed(tmp_path, path=name)
