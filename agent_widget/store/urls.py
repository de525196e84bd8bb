"""Which store a URL or a path means."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from ..core.errors import InvalidOptions
from .base import SessionStore
from .memory import MemoryStore

MEMORY: Final = "memory:"
JSONL: Final = "jsonl:"
SQLITE_SUFFIXES: Final = (".db", ".sqlite", ".sqlite3")
FORMS: Final = (
    "Forms that work: 'chats.db' (or .sqlite, .sqlite3; SQLite), 'sqlite:///chats.db', "
    "'postgresql://user@host/database', 'chats/' or 'jsonl:chats' (a folder of JSONL files), "
    "'memory:'."
)
# Two letters at least: C:\chats is a path.
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def open_store(where: str | os.PathLike[str] | None) -> SessionStore:
    """The store at ``where``; nothing is opened or made before it is used.

    None and ``memory:`` keep sessions in memory; a path that ends in ``.db``, ``.sqlite`` or
    ``.sqlite3`` and a ``sqlite:///`` URL are a SQLite file; a ``postgresql://`` URL is a database;
    ``jsonl:`` with a path, and any other path that is a folder or has no suffix, is a folder of
    JSONL files. A path may begin with ``~``. Raises InvalidOptions for anything else, and when a
    package is missing.
    """
    if where is None or where == MEMORY:
        return MemoryStore()
    text = _text_of(where)
    if not text:
        raise InvalidOptions(f"store={where!r} names no place for sessions.", advice=FORMS)
    if text.startswith(JSONL) and text != JSONL:
        return _folder(Path(text.removeprefix(JSONL)))
    if (scheme := _SCHEME.match(text)) is not None and isinstance(where, str):
        return _database(text, scheme[1])
    path = Path(text).expanduser()
    if path.suffix.lower() in SQLITE_SUFFIXES and not path.is_dir():
        return _database(str(path), "sqlite")
    if path.is_dir() or (not path.exists() and not path.suffix):
        return _folder(path)
    raise InvalidOptions(f"store={text!r} is no kind of store.", advice=FORMS)


def _text_of(where: object) -> str:
    """The path or URL, or nothing when it is neither."""
    text = os.fspath(where) if isinstance(where, str | os.PathLike) else None
    return text if isinstance(text, str) and text.strip() else ""


def _folder(path: Path) -> SessionStore:
    from .jsonl import JsonlStore

    return JsonlStore(path.expanduser())


def _database(text: str, scheme: str) -> SessionStore:
    if scheme.partition("+")[0] not in ("sqlite", "postgresql", "postgres"):
        # No more of it than its scheme: it may hold a password.
        raise InvalidOptions(f"store='{scheme}:…' is no kind of store.", advice=FORMS)
    try:
        from .sql import SqlStore
    except ImportError as error:
        message = f"store='{scheme}:…' needs the package sqlalchemy: {error}."
        raise InvalidOptions(message, advice="Install it: pip install sqlalchemy") from error
    return SqlStore(text)
