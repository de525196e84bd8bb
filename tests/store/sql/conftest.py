"""A PostgreSQL server of this run, and a part of it for each test or class."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import make_url

from tests.support.postgresql import (
    HOW_TO_GET_ONE,
    PostgresqlError,
    obtained_programs,
    started_server,
)

IS_MISSING = pytest.StashKey[bool]()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say loudly what was not tested for want of a server."""
    if config.stash.get(IS_MISSING, False):
        title = "SKIPPED TESTS OF THE STORE IN POSTGRESQL"
        terminalreporter.section(title, sep="!", yellow=True, bold=True)
        terminalreporter.line(HOW_TO_GET_ONE, yellow=True)


@pytest.fixture(scope="session")
def postgresql_server(pytestconfig: pytest.Config) -> Iterator[str]:
    """The URL of a server; without one the test is skipped, and fails in CI."""
    if named := os.environ.get("AGENT_WIDGET_POSTGRESQL"):
        yield named
        return
    try:
        programs = obtained_programs()
    except PostgresqlError as error:
        pytest.fail(f"A test of the SQL store has no server in CI. {error}", pytrace=False)
    if programs is None:
        pytestconfig.stash[IS_MISSING] = True
        pytest.skip("no PostgreSQL server")
    with started_server(programs) as url:
        yield url


@pytest.fixture(scope="class")
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    """The URL of an empty schema of that server, which is dropped after the test or class."""
    name = f"test_{uuid4().hex}"
    url = make_url(postgresql_server).set(drivername="postgresql")
    address = url.render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
        try:
            own = url.update_query_dict({"options": f"-csearch_path={name}"})
            yield own.render_as_string(hide_password=False)
        finally:
            connection.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, quick_folder: Path) -> str:
    """A new SQLite file and an empty schema of PostgreSQL, one after the other."""
    if request.param == "sqlite":
        return str(quick_folder / "chats.db")
    url: str = request.getfixturevalue("postgresql_url")
    return url
