"""``edit_file`` and ``write_file``: changes of files that a person can read before they happen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from ..core.errors import ToolFailure
from .base import CallText, TextBlock, ToolOutput
from .diff import unified_diff
from .function import FunctionTool, tool
from .revisions import Digest, Revisions, digest_of
from .textfile import UTF_8, Text, binary_type, text_of
from .workspace import Content, Place, Workspace, shown_path

FILE_BYTES: Final = 10_000_000
"""Larger files are neither edited nor written."""

_LINES_NAMED: Final = 20


class Change(Struct, frozen=True):
    """What a call makes of a file: ``after`` of ``before``, written as ``data``.

    ``content`` is what is there now, None for a new file.
    """

    place: Place
    content: Content | None
    before: Text
    after: str
    data: bytes

    def diff(self) -> str:
        """The change as lines; the head names an encoding and line ends that are kept."""
        old = None if self.content is None else self.before.text
        kept = [] if self.before.encoding == UTF_8 else [self.before.encoding.full_label]
        kept += [r"\r\n line ends"] if self.before.newline == "\r\n" else []
        note = f"\t({', '.join(kept)})" if kept else ""
        return unified_diff(old, self.after, shown_path(self.place), note)


Plan = Callable[[Content | None, Place, Mapping[str, Any]], Change]
"""Makes the change from what is there. Raises ToolFailure where there is none to make."""


def edit_tool(workspace: Workspace, revisions: Revisions) -> FunctionTool:
    """The ``edit_file`` tool for ``workspace``."""
    changer = _Changer(workspace, revisions, _edit, _edit_text)

    @tool(name="edit_file", kind="edit", describe=changer.described)
    def edit_file(path: str, old: str, new: str, replace_all: bool = False) -> ToolOutput:
        """Replace a piece of text in a file of the working directory; returns the diff.

        Args:
            path: The file, relative to the working directory.
            old: The text to replace, exactly as in the file, without line numbers. It must be
                there once: give enough lines around it.
            new: The text to put in its place.
            replace_all: Whether to replace it wherever it is.
        """
        args = {"path": path, "old": old, "new": new, "replace_all": replace_all}
        change = changer.made(args)
        return ToolOutput((TextBlock(change.diff()),))

    return edit_file


def write_tool(workspace: Workspace, revisions: Revisions) -> FunctionTool:
    """The ``write_file`` tool for ``workspace``."""
    changer = _Changer(workspace, revisions, _write, _write_text)

    @tool(name="write_file", kind="edit", describe=changer.described)
    def write_file(path: str, content: str) -> ToolOutput:
        """Create a file in the working directory, or replace all that is in it.

        Folders are made as needed. To change a part of a file, use edit_file.

        Args:
            path: The file, relative to the working directory.
            content: The whole new content.
        """
        change = changer.made({"path": path, "content": content})
        verb = "Created" if change.content is None else "Replaced"
        said = f"{verb} {shown_path(change.place)}: {len(change.data):,} bytes."
        return ToolOutput((TextBlock(said), TextBlock(change.diff(), "user")))

    return write_file


class _Changer:
    """Shows and makes changes of one kind. Calls that change files take turns."""

    def __init__(
        self,
        workspace: Workspace,
        revisions: Revisions,
        plan: Plan,
        unplanned_text: Callable[[Mapping[str, Any]], str],
    ) -> None:
        self._workspace = workspace
        self._revisions = revisions
        self._plan = plan
        self._unplanned_text = unplanned_text

    def described(self, args: Mapping[str, Any]) -> CallText:
        """The diff, whole. Where it cannot be told, why, and the arguments themselves."""
        content: Content | None = None
        try:
            place = self._workspace.place(args["path"])
            content = self._content(place)
            text = self._plan(content, place, args).diff()
        except ToolFailure as failure:
            text = f"{failure.message}\n{self._unplanned_text(args)}"
        self._revisions.shown(_complete(args), _digest(content))
        return CallText(text, "diff")

    def made(self, args: Mapping[str, Any]) -> Change:
        """The change, after it was made."""
        place = self._workspace.place(args["path"])
        with self._revisions.turn:
            content = self._content(place)
            now = _digest(content)
            self._revisions.require_as_shown(_complete(args), place, now)
            change = self._plan(content, place, args)
            before = None if content is None else content.stat
            self._workspace.replace(place, change.data, before)
            self._revisions.wrote(place, now, digest_of(change.data))
        return change

    def _content(self, place: Place) -> Content | None:
        if self._workspace.status(place) is None:
            return None
        return self._workspace.read(place, FILE_BYTES)


def _digest(content: Content | None) -> Digest:
    return None if content is None else digest_of(content.data)


def _complete(args: Mapping[str, Any]) -> dict[str, Any]:
    """``args`` with what was left out: the call is the same."""
    return {"replace_all": False, **args}


# Edits ----------------------------------------------------------------------------------------


def _edit(content: Content | None, place: Place, args: Mapping[str, Any]) -> Change:
    before = _text(content, place)
    old, new = str(args["old"]), str(args["new"])
    if before.newline == "\r\n":
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise ToolFailure("old is empty. Give the text to replace, or use write_file.")
    if old == new:
        raise ToolFailure("old and new are the same: there is nothing to change.")
    found = _positions(before.text, old, _LINES_NAMED + 1)
    if not found:
        raise ToolFailure(_missing(before.text, old, place))
    if len(found) > 1 and not args.get("replace_all"):
        raise ToolFailure(_ambiguous(before.text, old, found, place))
    size_chars = len(before.text) + before.text.count(old) * (len(new) - len(old))
    if size_chars > FILE_BYTES:
        raise _too_large(size_chars)
    return _changed(content, place, before, before.text.replace(old, new))


def _text(content: Content | None, place: Place) -> Text:
    if content is None:
        raise ToolFailure(f"There is no file {place.relative}. Use write_file to create it.")
    text = text_of(content.data)
    if text is None:
        raise ToolFailure(
            f"{place.relative} is not text: {binary_type(content.data)}, "
            f"{len(content.data):,} bytes."
        )
    return text


def _positions(text: str, piece: str, limit: int) -> list[int]:
    """The first places where ``piece`` begins, overlapping ones too: each is another edit."""
    found: list[int] = []
    at = text.find(piece)
    while at >= 0 and len(found) < limit:
        found.append(at)
        at = text.find(piece, at + 1)
    return found


def _ambiguous(text: str, old: str, found: list[int], place: Place) -> str:
    lines = [text.count("\n", 0, at) + 1 for at in found[:_LINES_NAMED]]
    named = ", ".join(map(str, lines)) + (", …" if len(found) > len(lines) else "")
    times = max(text.count(old), len(found))
    return (
        f"old is in {place.relative} {times:,} times, at lines {named}. "
        "Give more of the lines around it, or set replace_all."
    )


def _missing(text: str, old: str, place: Place) -> str:
    """Why ``old`` is not found, with the line that comes closest."""
    message = f"old is not in {place.relative}."
    first = next((line.strip() for line in old.split("\n") if line.strip()), "")
    lines = [at for at, line in enumerate(text.split("\n"), 1) if first and line.strip() == first]
    if "\r\n" in text and "\n" in old:
        return f"{message} Its line ends are mixed (\\n and \\r\\n): edit one line at a time."
    if lines:
        return (
            f"{message} Its first line is like line {lines[0]} there; what follows, or the blanks "
            "around it, differ. Read the file again."
        )
    return f"{message} Read the file and copy the text exactly, without line numbers."


def _changed(content: Content | None, place: Place, before: Text, after: str) -> Change:
    try:
        data = before.data(after)
    except UnicodeEncodeError as error:
        char = after[error.start : error.start + 1]
        raise ToolFailure(
            f"{place.relative} is {before.encoding.label}, which has no {char!r}. "
            "Leave it out, or write the whole file anew."
        ) from None
    if len(data) > FILE_BYTES:
        raise _too_large(len(data))
    return Change(place, content, before, after, data)


def _too_large(size: int) -> ToolFailure:
    return ToolFailure(f"The file would have {size:,} bytes; at most {FILE_BYTES:,} are written.")


def _edit_text(args: Mapping[str, Any]) -> str:
    where = "\n@@ everywhere @@" if args.get("replace_all") else ""
    body = [*(f"-{line}" for line in str(args["old"]).split("\n"))]
    body += [f"+{line}" for line in str(args["new"]).split("\n")]
    return "\n".join([f"--- {args['path']}", f"+++ {args['path']}{where}", *body])


# Whole files ----------------------------------------------------------------------------------


def _write(content: Content | None, place: Place, args: Mapping[str, Any]) -> Change:
    after = str(args["content"])
    if content is None:
        return _changed(None, place, Text(""), after)
    before = text_of(content.data)
    if before is None:
        raise ToolFailure(
            f"{place.relative} is not text ({binary_type(content.data)}, "
            f"{len(content.data):,} bytes) and is not overwritten."
        )
    if before.encoding.codec == "latin-1":
        before = Text(before.text, UTF_8, before.newline)
    if before.newline == "\r\n":
        after = after.replace("\r\n", "\n")
    change = _changed(content, place, before, after)
    if change.data == content.data:
        raise ToolFailure(f"{place.relative} has this content already: there is nothing to write.")
    return change


def _write_text(args: Mapping[str, Any]) -> str:
    return unified_diff(None, str(args["content"]), str(args["path"]))
