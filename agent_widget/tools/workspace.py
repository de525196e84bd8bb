"""The working directory: the one place where paths of file tools are resolved and opened.

A path is resolved (links, ``..``, the letter case of the disk) and must lie inside the root. It
is then opened name by name below the root, no link followed: what somebody swaps between the two
cannot lead outside. Where the system cannot open relative to a folder (Windows), the path of what
was opened is resolved once more instead.

A hard link inside the root to a file outside of it cannot be told from a file. Reading follows
it; writing replaces the name and leaves the other file as it was.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from ..core.errors import InvalidOptions, ToolFailure

EntryKind: TypeAlias = Literal["file", "folder", "link", "other"]

_HAS_DIR_FD: Final = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
_NO_FOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
# A FIFO is opened without waiting for its other end, a terminal without becoming ours.
_READ: Final[int] = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_CREATE: Final[int] = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_FOLDER: Final[int] = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_READ_BYTES: Final = 1 << 20


class Place(Struct, frozen=True):
    """A path inside the root with every link followed; ``parts`` are its names below the root."""

    parts: tuple[str, ...]

    @property
    def relative(self) -> str:
        """The path below the root with ``/``; ``.`` is the root itself."""
        return "/".join(self.parts) or "."

    def below(self, name: str) -> Place:
        return Place((*self.parts, name))


class Entry(Struct, frozen=True):
    """A name in a folder; links are not followed."""

    name: str
    kind: EntryKind


class Content(Struct, frozen=True):
    """The bytes of a file, and the stat of the file they were read from."""

    data: bytes
    stat: os.stat_result


class Workspace:
    """A root folder and what is inside it. All methods raise ToolFailure and work on any thread."""

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        given = Path.cwd() if root is None else Path(root)
        self._root = os.path.realpath(given)
        if not Path(self._root).is_dir():
            raise InvalidOptions(
                f"root={str(given)!r} is not a folder.", advice="Give an existing folder."
            )

    @property
    def root(self) -> Path:
        """The working directory, resolved."""
        return Path(self._root)

    def place(self, path: str) -> Place:
        """Where ``path`` (relative to the root, absolute, or from ``~/``) leads inside the root."""
        self._require_clear(path)
        try:
            typed = f"{Path.home()}{path[1:]}" if path == "~" or path.startswith("~/") else path
            real = os.path.realpath(os.path.join(self._root, typed))  # noqa: PTH118
        except (OSError, RuntimeError, ValueError) as error:
            raise self.failure(path, error) from None
        below = os.path.relpath(real, self._root) if self._is_inside(real) else None
        if below is None:
            leads = "" if os.path.normpath(typed) == real else f" (it leads to {real!r})"
            raise ToolFailure(
                f"{path!r} is outside of the working directory {self._root}{leads}. "
                "Only paths inside it can be used."
            )
        names = () if below == "." else Path(below).parts
        return Place(self._as_on_disk(names))

    def path(self, place: Place) -> Path:
        """The absolute path of ``place``."""
        return Path(self._root, *place.parts)

    def read(self, place: Place, max_bytes: int) -> Content:
        """The file at ``place``, whole. Raises ToolFailure when it is larger than ``max_bytes``."""
        with self.opened(place) as (descriptor, status):
            data = _read_up_to(descriptor, max_bytes + 1)
        if len(data) > max_bytes:
            raise ToolFailure(
                f"{place.relative} has {max(status.st_size, len(data)):,} bytes; "
                f"at most {max_bytes:,} can be handled at once."
            )
        return Content(data, status)

    @contextlib.contextmanager
    def opened(self, place: Place) -> Iterator[tuple[int, os.stat_result]]:
        """The file at ``place`` as an open descriptor, and its stat. Only regular files open."""
        with self._failures(place):
            if not place.parts:
                raise IsADirectoryError
            with self._folder(place.parts[:-1]) as folder:
                name = place.parts[-1]
                _require_regular(folder.status(name), place)  # opening a device may act on it
                descriptor = folder.open(name, _READ)
            try:
                status = os.fstat(descriptor)
                _require_regular(status, place)
                yield descriptor, status
            finally:
                os.close(descriptor)

    def status(self, place: Place) -> os.stat_result | None:
        """The stat of what is at ``place``, no link followed; None when there is nothing."""
        try:
            with self._failures(place):
                if not place.parts:
                    return Path(self._root).stat()
                with self._folder(place.parts[:-1]) as folder:
                    return folder.status(place.parts[-1])
        except _NothingThereError:
            return None

    def entries(self, place: Place, limit: int) -> list[Entry]:
        """What is in the folder at ``place``, sorted by name; ``limit`` names at most are read."""
        with self._failures(place), self._folder(place.parts) as folder:
            found: list[Entry] = []
            with folder.scan() as entries:
                for entry in entries:
                    if len(found) >= limit:
                        break
                    found.append(Entry(entry.name, _kind(entry)))
        return sorted(found, key=lambda entry: entry.name)

    def replace(self, place: Place, data: bytes, before: os.stat_result | None) -> None:
        """Make ``data`` the file at ``place``: whole or not at all, with the mode it had.

        ``before`` is the stat of the file that is replaced, None for a new file, whose folders
        are made as needed. Raises ToolFailure when something else is there by now.
        """
        with self._failures(place):
            if not place.parts:
                raise IsADirectoryError
            with self._folder(place.parts[:-1], create=before is None) as folder:
                _replace(folder, place, data, before)

    def failure(self, path: str, error: BaseException) -> ToolFailure:
        """``error`` of the system as a failure that names ``path`` and the root."""
        where = f"{path!r} in {self._root}"
        match error:
            case FileNotFoundError():
                return _NothingThereError(f"There is no {where}.")
            case IsADirectoryError():
                return ToolFailure(f"{where} is a folder, not a file.")
            case NotADirectoryError():
                return ToolFailure(f"{where}: a part of this path is a file or a link by now.")
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return ToolFailure(f"{where} cannot be used: {reason}.")

    def _require_clear(self, path: str) -> None:
        """Refuse what other systems, or the rules, would read as another path."""
        names = path.replace("\\", "/").split("/") if os.name == "nt" else path.split("/")
        problem: str | None = None
        if not path.strip():
            problem = "is empty"
        elif "\0" in path:
            problem = "holds a NUL character"
        elif any(name[-1:] in (".", " ") and name not in (".", "..") for name in names):
            problem = "has a name that ends in a dot or a blank, which some systems drop"
        elif os.name != "nt" and _DRIVE.match(path):
            problem = "begins with a drive, and this system has none"
        elif os.name == "nt" and _is_special(path, names):
            problem = "names a device or a stream"
        if problem:
            raise ToolFailure(f"The path {path!r} {problem}. Give a path inside {self._root}.")

    def _is_inside(self, real: str) -> bool:
        root, path = os.path.normcase(self._root), os.path.normcase(real)
        return path == root or path.startswith(root.rstrip(os.sep) + os.sep)

    def _as_on_disk(self, names: tuple[str, ...]) -> tuple[str, ...]:
        folder, found = Path(self._root), []
        for name in names:
            found.append(name_on_disk(folder, name))
            folder /= found[-1]
        return tuple(found)

    @contextlib.contextmanager
    def _failures(self, place: Place) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.failure(place.relative, error) from None

    @contextlib.contextmanager
    def _folder(self, parts: tuple[str, ...], *, create: bool = False) -> Iterator[_Folder]:
        folder = _Folder(self._root, os.open(self._root, _FOLDER) if _HAS_DIR_FD else None)
        try:
            for part in parts:
                inner = folder.below(part, create=create)
                folder.close()
                folder = inner
            yield folder
        finally:
            folder.close()


class _NothingThereError(ToolFailure):
    """The file or a folder on the way to it does not exist."""


class _Folder:
    """An open folder whose names are used without following links."""

    def __init__(self, path: str, descriptor: int | None) -> None:
        self._path = path
        self._descriptor = descriptor

    def below(self, name: str, *, create: bool) -> _Folder:
        if create:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self._at(name), dir_fd=self._descriptor)
        inner = os.path.join(self._path, name)  # noqa: PTH118
        if self._descriptor is None:
            _require_no_link(inner)
            return _Folder(inner, None)
        return _Folder(inner, os.open(name, _FOLDER | _NO_FOLLOW, dir_fd=self._descriptor))

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        descriptor = os.open(self._at(name), flags | _NO_FOLLOW, mode, dir_fd=self._descriptor)
        if self._descriptor is None:
            try:
                _require_no_link(self._at(name))
            except BaseException:
                os.close(descriptor)
                raise
        return descriptor

    def status(self, name: str) -> os.stat_result:
        return os.stat(self._at(name), dir_fd=self._descriptor, follow_symlinks=False)

    def scan(self) -> Any:
        return os.scandir(self._path if self._descriptor is None else self._descriptor)

    def rename(self, old: str, new: str) -> None:
        os.replace(
            self._at(old),
            self._at(new),
            src_dir_fd=self._descriptor,
            dst_dir_fd=self._descriptor,
        )

    def remove(self, name: str) -> None:
        os.unlink(self._at(name), dir_fd=self._descriptor)

    def sync(self) -> None:
        """Make renames last; some file systems cannot."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.fsync(self._descriptor)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def _at(self, name: str) -> str:
        return name if self._descriptor is not None else os.path.join(self._path, name)  # noqa: PTH118


def shown_path(place: Place) -> str:
    """The path of ``place`` on one line, whatever its names hold."""
    path = place.relative
    return path if path.isprintable() else repr(path)


def name_on_disk(folder: Path, name: str) -> str:
    """``name`` as the disk spells it, where the disk ignores letter case."""
    other = name.swapcase()
    try:
        if other == name or not os.path.samestat((folder / name).lstat(), (folder / other).lstat()):
            return name
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:  # nothing there, or no right to look: opening will tell
        return name
    if name in names:
        return name
    return next((found for found in names if found.casefold() == name.casefold()), name)


def _is_special(path: str, names: list[str]) -> bool:
    rest = path[2:] if _DRIVE.match(path) else path
    return ":" in rest or any(_DEVICE.fullmatch(name) for name in names)


def _require_no_link(path: str) -> None:
    if os.path.normcase(os.path.realpath(path)) != os.path.normcase(path):
        raise NotADirectoryError


def _require_regular(status: os.stat_result, place: Place) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError
    if stat.S_ISLNK(status.st_mode):
        raise NotADirectoryError
    if not stat.S_ISREG(status.st_mode):
        raise ToolFailure(f"{place.relative!r} is a {_special_name(status.st_mode)}, not a file.")


def _special_name(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "named pipe (FIFO)"
    return "socket" if stat.S_ISSOCK(mode) else "device"


def _kind(entry: os.DirEntry[str]) -> EntryKind:
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if entry.is_file(follow_symlinks=False) else "other"
    except OSError:
        return "other"


def _read_up_to(descriptor: int, size_bytes: int) -> bytes:
    chunks: list[bytes] = []
    while size_bytes > 0 and (chunk := os.read(descriptor, min(size_bytes, _READ_BYTES))):
        chunks.append(chunk)
        size_bytes -= len(chunk)
    return b"".join(chunks)


def _replace(folder: _Folder, place: Place, data: bytes, before: os.stat_result | None) -> None:
    name = place.parts[-1]
    temporary = f".{name[:100]}.{secrets.token_hex(6)}.tmp"
    descriptor = folder.open(temporary, _CREATE, 0o666 if before is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if before is not None:
                _take_over(descriptor, before)
            os.fsync(descriptor)
        _require_unchanged(folder, place, before)
        folder.rename(temporary, name)
    except BaseException:
        with contextlib.suppress(OSError):
            folder.remove(temporary)
        raise
    folder.sync()


def _take_over(descriptor: int, before: os.stat_result) -> None:
    """Owner and mode of the file that is replaced, as far as this user may set them."""
    if hasattr(os, "fchown"):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _require_unchanged(folder: _Folder, place: Place, before: os.stat_result | None) -> None:
    try:
        now = folder.status(place.parts[-1])
    except FileNotFoundError:
        now = None
    if _identity(now) != _identity(before):
        raise ToolFailure(
            f"{place.relative} changed while it was being written; nothing was written. "
            "Read it again."
        )


def _identity(status: os.stat_result | None) -> tuple[int, ...] | None:
    if status is None:
        return None
    return (status.st_ino, status.st_dev, status.st_size, status.st_mtime_ns)
