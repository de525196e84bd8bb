"""The tables of today: ``MIGRATIONS`` of ``store.migrations`` make them."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

from ..core.records import FORMAT_VERSION

_METADATA: Final = MetaData()

schema: Final = Table("agent_widget_schema", _METADATA, Column("version", Integer, nullable=False))
"""One row: the version of the tables."""

fences: Final = Table("agent_widget_fences", _METADATA, Column("last", BigInteger, nullable=False))
"""One row: the last fence given out, of all sessions, so that none is ever given out again."""

sessions: Final = Table(
    "agent_widget_sessions",
    _METADATA,
    Column("session_id", Text, primary_key=True),
    Column("version", Integer, nullable=False, default=FORMAT_VERSION),
    Column("record_count", BigInteger, nullable=False, default=0),
    Column("created", BigInteger),
    Column("updated", BigInteger),
    Column("title", Text),
    Column("fence", BigInteger, nullable=False, default=0),
    # The owner, and when it was last heard of in s since the epoch; null when nobody holds it.
    Column("renewed", Double),
    Column("pid", BigInteger),
    Column("host", Text),
    Column("token", Text),
    Column("started", Double),
)
"""Sessions that are held or have records or artifacts."""

records: Final = Table(
    "agent_widget_records",
    _METADATA,
    Column("session_id", ForeignKey(sessions.c.session_id), primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("record", Text, nullable=False),
    Column("crc", BigInteger, nullable=False),
)
"""One record a row: ``record`` is the whole of it as JSON, ``crc`` of its text and its place."""

artifacts: Final = Table(
    "agent_widget_artifacts",
    _METADATA,
    Column("session_id", ForeignKey(sessions.c.session_id), primary_key=True),
    Column("sha256", Text, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)
