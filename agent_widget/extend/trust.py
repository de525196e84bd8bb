"""What a project brings that could act, and whether this very content of it is trusted.

All that stands in ``.agent_widget/settings.json`` and ``settings.local.json`` is listed, with the
MCP servers of ``.mcp.json``, and only
deny and ask rules hold by themselves. With trust hold: hooks, MCP servers, allow rules, tool
modules and system texts. Whatever else there is (addresses, proxies, modes, flags) is never taken
from a project.

Trust is given by the host, for a fingerprint: the SHA-256 over the folder, every value that waits
and the files of the project that commands and modules name. A changed byte makes another one.
Nothing of it is ever stored here, and a file that asks for trust is not asked back. What a named
script calls in turn is not followed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct

from ..core.errors import InvalidOptions
from ..engine.hookrun import digest_of_file
from ..policy.hooks import shown
from ..policy.rules import Problem, settings_object
from .settings import PROJECT_FILE

Kind = Literal["hook", "MCP server", "allow rule", "tool module", "system text", "setting"]
Source = Literal["projectShared", "projectLocal", "projectServers"]

FILES: Final[Mapping[Source, Path]] = {
    "projectShared": PROJECT_FILE,
    "projectLocal": PROJECT_FILE.with_name("settings.local.json"),
    "projectServers": Path(".mcp.json"),
}
UNTRUSTED: Final = "project_hooks_untrusted"
MAX_SETTINGS_BYTES: Final = 256 * 1024
MAX_FILES: Final = 500
"""How many files one thing may name."""
MAX_NAMING_CHARS: Final = 20_000
"""Length of a thing that may name files: each word of it is looked for."""

SERVER_KEYS: Final = ("mcp_servers", "mcpServers")
_TEXTS: Final = ("system", "system_append")
_SHOWN_CHARS: Final = 2_000
_WORD: Final = re.compile(r"[\w./~+@%-]+")
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{64}")


class Thing(Struct, frozen=True):
    """One thing of a project: ``place`` is its key in the file, ``text`` what a person reads.

    ``waits`` says that it holds with trust; else it never does. ``content`` is its whole value as
    JSON, ``files`` are those of the project that it names, each with its SHA-256.
    """

    kind: Kind
    source: Source
    place: str
    text: str
    content: str
    waits: bool = True
    files: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        name = "" if self.kind == "allow rule" else f" {self.place}"
        return f"{self.kind}{name} in {FILES[self.source].as_posix()}: {self.text}"


class Contents(Struct, frozen=True):
    """What the settings of a project hold; ``settings`` are its files as they were read.

    ``lesser`` problems are of files that guard nothing.
    """

    folder: Path
    things: tuple[Thing, ...]
    settings: Mapping[Source, bytes]
    problems: tuple[Problem, ...]
    lesser: tuple[Problem, ...] = ()

    @property
    def waiting(self) -> tuple[Thing, ...]:
        return tuple(thing for thing in self.things if thing.waits)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of all that waits, in this folder."""
        listed = [[t.kind, t.source, t.place, t.content, t.files] for t in self.waiting]
        return hashlib.sha256(json.dumps([str(self.folder), listed]).encode()).hexdigest()


class TrustWarning(Struct, frozen=True):
    """What waits in a project that is not trusted, once for this content.

    ``detail``: ``cwd``, ``registered`` (per source the things that wait), ``ignored`` (what no
    trust brings in), ``fingerprint`` (what a host passes on to trust exactly this).
    """

    message: str
    detail: Mapping[str, Any]
    code: str = UNTRUSTED


def contents_of(folder: Path, approved: frozenset[str] = frozenset()) -> Contents:
    """What the project in ``folder`` brings. Never raises, runs nothing.

    ``approved`` are the allow rules that this user made here: they do not wait.
    """
    folder = folder.resolve()
    things: list[Thing] = []
    settings: dict[Source, bytes] = {}
    problems: list[Problem] = []
    lesser: list[Problem] = []
    for source, name in FILES.items():
        try:
            content = settings_bytes(folder / name)
            if content is None:
                continue
            read = settings_object(content)
            if source == "projectServers":  # of no other key of it anything is known here
                read = {key: value for key, value in read.items() if key in SERVER_KEYS}
            found = tuple(_things(read, source, folder, approved))
        except (OSError, ValueError, RecursionError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            text = f"cannot be read: {why}."
            if source == "projectServers":
                lesser.append(Problem(name.as_posix(), text, "No server of it is started."))
                continue
            effect = "Nothing of it holds, trusted or not, and everything asks."
            problems.append(Problem(name.as_posix(), text, effect))
            continue
        if source != "projectServers":
            settings[source] = content
        things.extend(found)
    return Contents(folder, tuple(things), settings, tuple(problems), tuple(lesser))


def warning_of(contents: Contents) -> TrustWarning:
    """The question about a project: the same text wherever the folder is met. No is the default."""
    waiting = "; ".join(map(str, contents.waiting))
    ignored = [thing for thing in contents.things if not thing.waits]
    never = f" Never taken from a project: {'; '.join(map(str, ignored))}." if ignored else ""
    message = (
        f"The project in {shown(str(contents.folder), 500)} is not trusted, so this of it waits and"
        f" does nothing: {waiting}.{never} If you have read all of it and want it to act, create"
        " the session again with trust_project_hooks=True, or, for exactly this content, with"
        f" trust_project_hooks={contents.fingerprint!r}."
    )
    registered: dict[str, list[str]] = {}
    for thing in contents.waiting:
        registered.setdefault(thing.source, []).append(str(thing))
    detail = {
        "cwd": str(contents.folder),
        "registered": registered,
        "ignored": [str(thing) for thing in ignored],
        "fingerprint": contents.fingerprint,
    }
    return TrustWarning(message, detail)


class ProjectTrust:
    """What the host of one session vouches for; it lives in memory and dies with the session.

    ``trusted`` is True (what is in ``folder`` when it is first looked at, and no other folder),
    or the fingerprint that a person confirmed. Raises InvalidOptions for anything else.
    """

    def __init__(self, folder: Path, trusted: bool | str = False) -> None:
        if not isinstance(trusted, bool | str):
            raise InvalidOptions(
                f"trust_project_hooks={trusted!r}.",
                advice="Pass True, False, or the fingerprint that was confirmed.",
            )
        self._vouched = folder.resolve() if trusted is True else None
        self._confirmed: set[str] = set()
        self._told: set[str] = set()
        if isinstance(trusted, str):
            self.confirm(trusted)

    def confirm(self, fingerprint: str) -> None:
        """A person has read what waits and said yes. Raises InvalidOptions for another text."""
        if not _FINGERPRINT.fullmatch(fingerprint):
            raise InvalidOptions(
                f"{fingerprint[:80]!r} is no fingerprint of a project.",
                advice="Pass on the one of the warning, which has 64 hexadecimal digits.",
            )
        self._confirmed.add(fingerprint)

    def covers(self, contents: Contents) -> bool:
        """Whether exactly this content is trusted."""
        if self._vouched == contents.folder:
            self._vouched = None  # what it becomes later is another matter
            self._confirmed.add(contents.fingerprint)
        return contents.fingerprint in self._confirmed

    def warning(self, contents: Contents) -> TrustWarning | None:
        """The question about this content, the first time that it waits here."""
        if not contents.waiting or contents.fingerprint in self._told or self.covers(contents):
            return None
        self._told.add(contents.fingerprint)
        return warning_of(contents)


# --- reading -----------------------------------------------------------------------------------


def settings_bytes(path: Path) -> bytes | None:
    """The bytes of a settings file, None without one. Raises OSError, ValueError."""
    try:
        about = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(about.st_mode):  # reading a pipe could wait for ever
        raise ValueError("it is no regular file")
    with path.open("rb") as stream:
        content = stream.read(MAX_SETTINGS_BYTES + 1)
    if len(content) > MAX_SETTINGS_BYTES:
        raise ValueError(f"it has more than {MAX_SETTINGS_BYTES:,} bytes")
    return content


def _things(
    settings: Mapping[str, object], source: Source, folder: Path, approved: frozenset[str]
) -> Iterator[Thing]:
    for key, value in settings.items():
        if key == "hooks":
            lists = value.items() if isinstance(value, dict) else [("", value)]
            for event, entries in lists:
                yield from _listed("hook", source, f"hooks.{event}".strip("."), entries, folder)
        elif key in SERVER_KEYS and isinstance(value, dict):
            for name, server in value.items():
                yield _thing("MCP server", source, name, server, folder)
        elif key == "tools":
            yield from _listed("tool module", source, "tools", value, folder)
        elif key in _TEXTS:
            yield _thing("system text", source, key, value, folder)
        elif key == "permission" and isinstance(value, dict):
            yield from _permission_things(value, source, folder, approved)
        else:
            yield _thing("setting", source, key, value, folder)


def _permission_things(
    section: Mapping[str, object], source: Source, folder: Path, approved: frozenset[str]
) -> Iterator[Thing]:
    mine = {json.dumps(rule) for rule in approved}
    for key, value in section.items():
        if key != "rules" or not isinstance(value, dict):
            yield _thing("setting", source, f"permission.{key}", value, folder)
            continue
        for effect, rules in value.items():
            if effect in ("deny", "ask"):  # they only make it stricter
                continue
            place = f"permission.rules.{effect}"
            if effect != "allow":
                yield _thing("setting", source, place, rules, folder)
                continue
            for thing in _listed("allow rule", source, place, rules, folder):
                if thing.content not in mine:
                    yield thing


def _listed(kind: Kind, source: Source, place: str, value: object, folder: Path) -> Iterator[Thing]:
    if not isinstance(value, list):
        yield _thing(kind, source, place, value, folder)
        return
    for number, each in enumerate(value):
        yield _thing(kind, source, f"{place}[{number}]", each, folder)


def _thing(kind: Kind, source: Source, place: str, value: object, folder: Path) -> Thing:
    files: tuple[tuple[str, str], ...] = ()
    refusal = ""
    if kind in ("hook", "MCP server", "tool module"):
        try:
            files = tuple(_named_files(value, folder))
        except _CannotBePinned as why:
            refusal = f" (never: {why})"
    return Thing(
        kind=kind,
        source=source,
        place=shown(place, 200),
        text=f"{_shown_text(value)}{refusal}",
        content=json.dumps(value),
        waits=kind != "setting" and not refusal,
        files=files,
    )


def _shown_text(value: object) -> str:
    """What would act, as it is; the whole entry where there is more to it."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    cut = len(text) - _SHOWN_CHARS
    more = f" (and {cut:,} characters more)" if cut > 0 else ""
    return f"{shown(text[:_SHOWN_CHARS], 2 * _SHOWN_CHARS)}{more}"


# --- files -------------------------------------------------------------------------------------


class _CannotBePinned(Exception):  # not an error: what may change unseen never acts
    pass


def _named_files(value: object, folder: Path) -> Iterator[tuple[str, str]]:
    """The files of the project that any text of ``value`` names, each once, with its SHA-256."""
    texts = tuple(_texts(value))
    if sum(map(len, texts)) > MAX_NAMING_CHARS:
        raise _CannotBePinned(f"it has more than {MAX_NAMING_CHARS:,} characters")
    words = dict.fromkeys(word for text in texts for word in _WORD.findall(text))
    found = dict.fromkeys(path for word in words for path in _meant_files(word, folder))
    if len(found) > MAX_FILES:
        raise _CannotBePinned(f"it names more than {MAX_FILES} files")
    for path in found:
        digest = digest_of_file(path)
        if digest is None:
            raise _CannotBePinned(f"{path.name} cannot be read, or is too large")
        yield str(path), digest


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _meant_files(word: str, folder: Path) -> Iterator[Path]:
    """The files in ``folder`` that ``word`` may mean: a path, a module, or a whole package."""
    plain = word.removeprefix("PWD/").lstrip("/")
    dotted = plain.replace(".", "/")
    for path in (Path(word), folder / plain, folder / f"{dotted}.py", folder / dotted):
        place = folder / path
        try:
            real = place.resolve()
            if real == folder or not real.is_relative_to(folder):
                continue
            if place.is_file():
                yield place
            elif (place / "__init__.py").is_file():
                yield from sorted(itertools.islice(place.rglob("*.py"), MAX_FILES + 1))
        except (OSError, ValueError, RuntimeError):  # a name that is too long, a loop of links
            continue
