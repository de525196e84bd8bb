"""What is given as a store means one kind of store, or is refused with the forms that work."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.store.base import StoreError
from agent_widget.store.jsonl import JsonlStore
from agent_widget.store.memory import MemoryStore
from agent_widget.store.sql import SqlStore
from agent_widget.store.urls import open_store

FOLDER_FORMS = ["chats", "chats/", "jsonl:chats", "there", "there.db", Path("chats"), Path("there")]
FILE_FORMS = [
    "chats.db",
    "chats.SQLite",
    "chats.sqlite3",
    "sub folder/chats.db",
    "sqlite:///chats.db",
    "sqlite+pysqlite:///chats.db",
    Path("chats.db"),
    # A path of Windows, not a URL: a scheme has two letters or more.
    "c:chats.db",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("there", "there.db"):
        (tmp_path / name).mkdir()
    for name in ("file", "notes.txt"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize("where", [None, "memory:"])
def test_nothing_and_memory_mean_memory(where: str | None) -> None:
    assert isinstance(open_store(where), MemoryStore)


@pytest.mark.parametrize("where", FOLDER_FORMS, ids=str)
def test_a_folder_means_jsonl_files_in_it(where: str | Path) -> None:
    assert isinstance(open_store(where), JsonlStore)


@pytest.mark.parametrize("where", FILE_FORMS, ids=str)
def test_a_name_of_a_database_means_a_sqlite_file(where: str | Path, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    store = open_store(where)
    assert isinstance(store, SqlStore)
    # Said whole, so that it is known where the file is when the working folder is another one.
    assert store.label == f"SQLite file {folder / str(where).rpartition('sqlite:///')[2]}"
    assert sorted(folder.rglob("*")) == before, "something was made before it was used"


def test_a_path_may_begin_at_home(folder: Path) -> None:
    assert str(folder / "home/chats.db") in open_store("~/chats.db").label
    assert str(folder / "home/chats") in open_store("~/chats").label
    assert str(folder / "home/chats") in open_store("jsonl:~/chats").label


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_a_postgresql_url_means_its_database(scheme: str) -> None:
    store = open_store(f"{scheme}://user:s3cret@db.example:5433/chats")
    assert isinstance(store, SqlStore)
    assert store.label == "PostgreSQL database chats on db.example:5433"


@pytest.mark.anyio
async def test_a_server_that_is_not_there_is_told_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    store = open_store(f"postgresql://user:s3cret@127.0.0.1:{port}/chats")
    with pytest.raises(StoreError) as caught:
        await store.list()
    await store.aclose()
    assert "refused" in caught.value.message
    assert caught.value.advice == "Start the server, or check host and port of the URL."
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "where",
    [
        "",
        " ",
        "chats.txt",
        "file",
        "notes.txt",
        "jsonl:",
        "redis://host",
        "mongo:x",
        5,
        b"chats.db",
    ],
    ids=str,
)
def test_anything_else_is_refused_with_the_forms_that_work(where: object) -> None:
    with pytest.raises(InvalidOptions) as caught:
        open_store(where)  # type: ignore[arg-type]
    message = str(caught.value)
    for form in ("chats.db", "sqlite:///", "postgresql://", "jsonl:", "memory:"):
        assert form in message
    value = str(where).partition(":")[0] if isinstance(where, str) else repr(where)
    assert value in caught.value.message


@pytest.mark.parametrize("scheme", ["mysql", "postgresql+asyncpg"])
def test_a_password_is_in_no_refusal(scheme: str) -> None:
    with pytest.raises(InvalidOptions) as caught:
        open_store(f"{scheme}://user:s3cret@host/chats")
    assert scheme in caught.value.message
    assert "s3cret" not in str(caught.value)


def test_a_missing_package_is_named_with_what_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "agent_widget.store.sql")
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(InvalidOptions, match=r"sqlalchemy.* Install it: pip install sqlalchemy"):
        open_store("chats.db")


def test_sqlalchemy_is_loaded_by_who_uses_it_alone() -> None:
    code = (
        "import sys\n"
        "from agent_widget.store.urls import open_store\n"
        "open_store(None), open_store('chats')\n"
        "assert 'sqlalchemy' not in sys.modules\n"
        "open_store('chats.db')\n"
        "assert 'sqlalchemy' in sys.modules\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True)
