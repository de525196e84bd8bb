from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from agent_widget.core.errors import InvalidOptions, ToolFailure
from agent_widget.tools import workspace as workspace_module
from agent_widget.tools.workspace import Entry, Place, Workspace, name_on_disk


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "a").mkdir()
    (folder / "a/b.txt").write_text("inside")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/secret.txt").write_text("outside")
    return folder


@pytest.fixture(params=["relative to a folder", "by path"])
def workspace(
    root: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Workspace:
    """Both ways of opening: the second is that of systems that cannot open below a folder."""
    if request.param == "by path":
        monkeypatch.setattr(workspace_module, "_HAS_DIR_FD", False)
    return Workspace(root)


def test_a_path_inside_the_root_leads_to_one_place_however_it_is_written(
    workspace: Workspace, root: Path
) -> None:
    (root / "link").symlink_to("a")
    (root.parent / "root link").symlink_to(root)
    spellings = [
        "a/b.txt",
        "./a//b.txt",
        "a/../a/b.txt",
        "link/b.txt",
        str(root / "a/b.txt"),
        f"{root.parent}/root link/a/b.txt",
        f"../{root.name}/a/b.txt",
    ]
    assert {workspace.place(path) for path in spellings} == {Place(("a", "b.txt"))}
    assert workspace.place(".").relative == "."
    assert workspace.read(workspace.place("link/b.txt"), 100).data == b"inside"


@pytest.mark.parametrize(
    "path",
    [
        "../out/secret.txt",
        "a/../../out/secret.txt",
        "link/secret.txt",
        "link/../out/secret.txt",
        "file link",
        "dangling",
        "/etc/hosts",
        "/",
        "..",
        "~/x",
        "~",
    ],
)
def test_a_path_that_leads_outside_is_refused_by_name(
    workspace: Workspace, root: Path, path: str
) -> None:
    (root / "link").symlink_to("../out")
    (root / "file link").symlink_to(root.parent / "out/secret.txt")
    (root / "dangling").symlink_to("../out/new.txt")
    with pytest.raises(ToolFailure, match="outside of the working directory") as refusal:
        workspace.place(path)
    assert str(root) in refusal.value.message
    assert repr(path) in refusal.value.message


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("a\0b", "NUL"),
        ("a/b.txt.", "ends in a dot or a blank"),
        ("a./b.txt", "ends in a dot or a blank"),
        ("a/b.txt ", "ends in a dot or a blank"),
        ("C:\\x", "begins with a drive"),
        ("C:/../a/b.txt", "begins with a drive"),
    ],
)
def test_a_path_that_systems_read_differently_is_refused(
    workspace: Workspace, path: str, problem: str
) -> None:
    with pytest.raises(ToolFailure, match=problem):
        workspace.place(path)


def test_a_folder_swapped_for_a_link_after_the_check_leads_nowhere(
    workspace: Workspace, root: Path
) -> None:
    place = workspace.place("a/secret.txt")
    (root / "a").rename(root / "was a")
    (root / "a").symlink_to("../out")
    with pytest.raises(ToolFailure, match=r"a/secret\.txt"):
        workspace.read(place, 100)
    with pytest.raises(ToolFailure, match=r"a/new\.txt"):
        workspace.replace(Place(("a", "new.txt")), b"x", None)
    with pytest.raises(ToolFailure, match="'a'"):
        workspace.entries(Place(("a",)), 10)
    assert names_in(root.parent / "out") == ["secret.txt"]


def test_a_file_swapped_for_a_link_after_the_check_is_neither_read_nor_written_through(
    workspace: Workspace, root: Path
) -> None:
    place = workspace.place("a/b.txt")
    before = workspace.read(place, 100).stat
    (root / "a/b.txt").unlink()
    (root / "a/b.txt").symlink_to(root.parent / "out/secret.txt")
    with pytest.raises(ToolFailure, match=r"a/b\.txt"):
        workspace.read(place, 100)
    with pytest.raises(ToolFailure, match="changed while it was being written"):
        workspace.replace(place, b"x", before)
    assert (root.parent / "out/secret.txt").read_text() == "outside"
    assert names_in(root / "a") == ["b.txt"]


def test_what_is_no_file_is_named_and_never_waited_for(workspace: Workspace, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "sock"))
        for name, kind in [("pipe", "named pipe"), ("sock", "socket"), ("a", "folder")]:
            with pytest.raises(ToolFailure, match=kind):
                workspace.read(workspace.place(name), 100)
    with pytest.raises(ToolFailure, match="folder"):
        workspace.read(workspace.place("."), 100)
    with pytest.raises(ToolFailure, match=r"There is no 'a/c\.txt'"):
        workspace.read(workspace.place("a/c.txt"), 100)
    with pytest.raises(ToolFailure, match="a part of this path"):
        workspace.read(workspace.place("a/b.txt/c"), 100)


def test_a_device_is_refused() -> None:
    workspace = Workspace("/dev")
    with pytest.raises(ToolFailure, match="device"):
        workspace.read(workspace.place("null"), 100)


def test_a_file_above_the_limit_is_refused_with_its_size(workspace: Workspace, root: Path) -> None:
    (root / "big").write_bytes(b"x" * 1_001)
    with pytest.raises(ToolFailure, match="1,001 bytes"):
        workspace.read(workspace.place("big"), 1_000)
    assert len(workspace.read(workspace.place("big"), 1_001).data) == 1_001


def test_replacing_a_file_keeps_its_mode_and_leaves_nothing_beside_it(
    workspace: Workspace, root: Path
) -> None:
    (root / "a/b.txt").chmod(0o750)
    place = workspace.place("a/b.txt")
    workspace.replace(place, b"new", workspace.read(place, 100).stat)
    assert (root / "a/b.txt").read_text() == "new"
    assert stat.S_IMODE((root / "a/b.txt").stat().st_mode) == 0o750
    assert names_in(root / "a") == ["b.txt"]


def test_replacing_a_hard_link_leaves_the_other_file_as_it_was(
    workspace: Workspace, root: Path
) -> None:
    os.link(root.parent / "out/secret.txt", root / "hard")
    place = workspace.place("hard")
    workspace.replace(place, b"new", workspace.read(place, 100).stat)
    assert (root.parent / "out/secret.txt").read_text() == "outside"


def test_a_new_file_makes_its_folders(workspace: Workspace, root: Path) -> None:
    workspace.replace(workspace.place("x/y/z.txt"), b"new", None)
    assert (root / "x/y/z.txt").read_text() == "new"


def test_a_file_that_appeared_meanwhile_is_not_overwritten(
    workspace: Workspace, root: Path
) -> None:
    with pytest.raises(ToolFailure, match="changed while"):
        workspace.replace(workspace.place("a/b.txt"), b"new", None)
    assert (root / "a/b.txt").read_text() == "inside"
    assert names_in(root / "a") == ["b.txt"]


def test_entries_are_sorted_bounded_and_tell_links_apart(workspace: Workspace, root: Path) -> None:
    (root / "z").symlink_to("a")
    os.mkfifo(root / "p")
    assert workspace.entries(workspace.place("."), 10) == [
        Entry("a", "folder"),
        Entry("p", "other"),
        Entry("z", "link"),
    ]
    assert len(workspace.entries(workspace.place("."), 2)) == 2


def test_a_name_keeps_the_case_that_the_disk_has(tmp_path: Path) -> None:
    (tmp_path / "ReadMe").write_text("")
    assert name_on_disk(tmp_path, "ReadMe") == "ReadMe"
    assert name_on_disk(tmp_path, "other") == "other"
    # Two names of one file are what a disk that ignores case makes of one.
    os.link(tmp_path / "ReadMe", tmp_path / "rEADmE")
    assert name_on_disk(tmp_path, "ReadMe") == "ReadMe"


def test_the_root_is_the_working_directory_of_the_moment(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    workspace = Workspace()
    monkeypatch.chdir(root.parent)
    assert workspace.root == root.resolve()


@pytest.mark.parametrize("name", ["ws/a/b.txt", "nothing"])
def test_a_root_that_is_no_folder_is_refused_at_once(root: Path, name: str) -> None:
    with pytest.raises(InvalidOptions, match="is not a folder"):
        Workspace(root.parent / name)
