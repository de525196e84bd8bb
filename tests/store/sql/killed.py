"""Work on a database that is killed at its n-th statement or commit, for n = 1, 2, …

    python -m tests.store.sql.killed write|migrate WHERE

Ends when the work was done without being killed. Prints a line of JSON for each n.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial

from sqlalchemy import Engine, event, text

from agent_widget.core.records import Record
from agent_widget.store.migrations import MIGRATIONS, Migration, migrate
from agent_widget.store.owner import this_process
from agent_widget.store.sql import SqlStore, database_of

NEXT = Migration(
    MIGRATIONS[-1].version + 1,
    (
        text("ALTER TABLE agent_widget_sessions ADD COLUMN colour TEXT"),
        text("UPDATE agent_widget_sessions SET colour = 'blue'"),
        text("CREATE TABLE agent_widget_colours (colour TEXT NOT NULL)"),
        text("INSERT INTO agent_widget_colours SELECT DISTINCT colour FROM agent_widget_sessions"),
    ),
)
"""What a later version may do to the tables."""


def kill_at(count: int) -> None:
    """Kill this process just before its statement or commit of that number."""
    numbers = itertools.count(1)

    def reached(*_: object) -> None:
        if next(numbers) == count:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", reached)
    event.listen(Engine, "commit", reached)


def is_done(work: Callable[[int], None], count: int) -> bool:
    """Whether `work`, in a process of its own, came to its end before it was killed."""
    child = os.fork()
    if child == 0:
        work(count)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) not in {0, -signal.SIGKILL}:
        message = f"The work failed at {count}."
        raise RuntimeError(message)
    return os.waitstatus_to_exitcode(status) == 0


def is_server(where: str) -> bool:
    return "://" in where


def entry(number: int) -> Record:
    return Record(f"e-{number}", None, number, "notice", {"number": number})


def write(where: str, acknowledged: int, count: int) -> None:
    """Write a session, and say of each append that it is acknowledged."""

    async def written() -> None:
        store = SqlStore(where)
        if is_server(where):  # its tables are there, and it takes time to reach
            await store.list()
        kill_at(count)
        lease = await store.acquire(f"s-{count}", this_process())
        for numbers in ([0], [1, 2]):
            await store.append(lease, numbers[0], [entry(number) for number in numbers])
            os.write(acknowledged, b"%d" % numbers[-1])
        await store.renew(lease)
        os.write(acknowledged, f" {await store.put_artifact(lease, b'picture')}".encode())
        await store.release(lease)
        await store.aclose()

    asyncio.run(written())


def say(**values: object) -> None:
    sys.stdout.write(f"{json.dumps(values)}\n")
    sys.stdout.flush()


def write_until_done(where: str) -> None:
    for count in itertools.count(1):
        # Each SQLite file is a new one, so that it is made, too.
        place = where if is_server(where) else f"{where}-{count}.db"
        reading, acknowledged = os.pipe()
        done = is_done(partial(write, place, acknowledged), count)
        os.close(acknowledged)
        numbers, _, artifact = os.read(reading, 1000).decode().partition(" ")
        os.close(reading)
        said = {"where": place, "session_id": f"s-{count}", "done": done}
        kept = int(numbers[-1]) + 1 if numbers else 0
        say(**said, acknowledged=kept, artifact=artifact)
        if done:
            return


def migrate_to_next(where: str, count: int) -> None:
    database = database_of(where)
    engines = database.opened()
    kill_at(count)
    migrate(engines.reads, engines.facts, database.label, (*MIGRATIONS, NEXT))
    engines.dispose()


def migrate_until_done(where: str) -> None:
    """Each process goes on with what the one before it left."""
    for count in itertools.count(1):
        done = is_done(partial(migrate_to_next, where), count)
        say(done=done)
        # The one who reads looks at what was left, and says when it has.
        sys.stdin.readline()
        if done:
            return


if __name__ == "__main__":
    # What is loaded now is not loaded by each child.
    database_of(sys.argv[2]).opened().dispose()
    {"write": write_until_done, "migrate": migrate_until_done}[sys.argv[1]](sys.argv[2])
