"""The contracts of ``agent_widget.store.base`` as tests that any session store can be put to.

    @pytest.mark.anyio
    class TestMyStore(StoreConformance):
        @pytest.fixture(autouse=True)
        def storage(self, tmp_path):
            self.path = tmp_path / "sessions.db"

        def open_store(self, clock):
            return MyStore(self.path, clock=clock)

Without pytest, ``class TestMyStore(StoreConformance, unittest.IsolatedAsyncioTestCase)`` does. A
law that needs to reach behind the store (``tear_end``, ``damage``, ``make_newer``) is skipped until
the subclass says how. Time is a ``FakeClock``, so nothing waits.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Final, get_args
from unittest import SkipTest

from msgspec.structs import replace

from ..core.records import RecordKind
from ..store.base import (
    Lease,
    LeaseLost,
    SessionInUse,
    SessionStore,
    StoreConflict,
    StoreCorrupted,
    StoreTooNew,
)
from ..store.owner import this_process
from ..store.summary import TITLE_LIMIT
from .clock import FakeClock
from .store_bench import Laws, gone_owner, listed, new_id, record, refused, refused_all

__all__ = ["FakeClock", "StoreConformance"]
_TEXTS: Final = ("é", "漢字 😀", "\u2028\u2029\x85", "\x00\x1b\x7f", "\r\n\\\"'", "\ud800 half", "")


class RecordLaws(Laws):
    """S1 to S5: what is appended is kept, in order, once."""

    async def test_every_kind_of_record_is_loaded_as_it_was_appended(self) -> None:
        """S1: all fields of all kinds, one by one and several at a time."""
        records = [record(kind) for kind in get_args(RecordKind)]
        async with self.bench() as bench:
            store, lease = await bench.started(*records[:1])
            await store.append(lease, 1, records[1:5])
            for position in range(5, len(records)):
                await store.append(lease, position, [records[position]])
            assert list(await store.load(lease.session_id)) == records
            assert list(await (await bench.open()).load(lease.session_id)) == records

    async def test_any_text_and_any_json_come_back_equal(self) -> None:
        """S1: line breaks, control characters, half a surrogate pair, numbers, nesting."""
        values: list[object] = [
            None,
            True,
            False,
            0,
            -1,
            2**53 + 1,
            2**80,
            0.1,
            1e300,
            [],
            {},
            [[{"": [1.5]}]],
        ]
        records = [record(data={"text": text, text: [text]}) for text in _TEXTS]
        records.append(record(data={"values": values}))
        records.append(replace(record(), parent_id="é\n", ts=-1))
        async with self.bench() as bench:
            _, lease = await bench.started(*records)
            loaded = await (await bench.open()).load(lease.session_id)
            assert list(loaded) == records
            assert repr([one.data for one in loaded]) == repr([one.data for one in records])

    async def test_a_record_may_be_large(self) -> None:
        """S1: 1 MB of text that takes three bytes a character."""
        large = record(data={"text": "漢" * 350_000})
        async with self.bench() as bench:
            _, lease = await bench.started(record(), large, record())
            assert (await (await bench.open()).load(lease.session_id))[1] == large

    async def test_a_thousand_records_keep_their_order(self) -> None:
        """S1: in ten appends."""
        records = [record(data={"n": n}) for n in range(1000)]
        async with self.bench() as bench:
            store, lease = await bench.started()
            for start in range(0, 1000, 100):
                await store.append(lease, start, records[start : start + 100])
            assert list(await (await bench.open()).load(lease.session_id)) == records

    async def test_order_is_that_of_appending_whatever_the_time_and_the_id(self) -> None:
        """S1, PERS-08: a clock that stands still or goes back reorders nothing."""
        times = [5_000, 5_000, 5_000, 1_000, 9_000, 2_000]
        records = [replace(record(), id=f"e-{9 - n}", ts=ts) for n, ts in enumerate(times)]
        async with self.bench() as bench:
            _, lease = await bench.started(*records)
            assert list(await (await bench.open()).load(lease.session_id)) == records

    async def test_what_was_appended_is_there_for_another_process_at_once(self) -> None:
        """S2: no close is needed."""
        first, second = record(), record()
        async with self.bench() as bench:
            store, lease = await bench.started(first)
            other = await bench.open()
            assert list(await other.load(lease.session_id)) == [first]
            await store.append(lease, 1, [second])
            assert list(await other.load(lease.session_id)) == [first, second]

    async def test_a_reader_beside_a_writer_sees_a_beginning_of_what_is_written(self) -> None:
        """S3: never a part of a record, never a gap."""
        records = [record(data={"text": "x" * 5_000}) for _ in range(20)]

        async def write(store: SessionStore, lease: Lease) -> None:
            for position in range(0, 20, 2):
                await store.append(lease, position, records[position : position + 2])

        async with self.bench() as bench:
            store, lease = await bench.started()
            reader = await bench.open()
            writing = asyncio.ensure_future(write(store, lease))
            try:
                while not writing.done():
                    seen = list(await reader.load(lease.session_id))
                    assert seen == records[: len(seen)]
                    await asyncio.sleep(0)
            finally:
                await writing
            assert list(await reader.load(lease.session_id)) == records

    async def test_the_same_append_again_changes_nothing(self) -> None:
        """S4: at the end and before it, through the same store and another one, by turns."""
        kept = [record(), record(), record()]
        async with self.bench() as bench:
            store, lease = await bench.started(kept[0])
            await store.append(lease, 1, kept[1:])
            for again in (store, await bench.open(), store):
                await again.append(lease, 1, kept[1:])
                await again.append(lease, 0, kept[:2])
                assert list(await again.load(lease.session_id)) == kept
                kept.append(record())
                await again.append(lease, len(kept) - 1, kept[-1:])
            assert list(await store.load(lease.session_id)) == kept

    async def test_an_append_elsewhere_than_at_the_end_is_a_conflict(self) -> None:
        """S5: before the end with other records, behind the end; nothing is changed."""
        one, two = record(), record()
        async with self.bench() as bench:
            store, lease = await bench.started(one, two)
            for position in (0, 1, 3, 100):
                await refused(StoreConflict, store.append(lease, position, [record()]))
            await refused(StoreConflict, store.append(lease, 0, [two, one]))
            assert list(await store.load(lease.session_id)) == [one, two]
            await store.append(lease, 2, [record()])


class LeaseLaws(Laws):
    """S6 and S7: one writer, and who it is."""

    async def test_only_the_latest_lease_writes(self) -> None:
        """S6: the owner that was replaced can append, renew, put and delete no more."""
        kept = record()
        async with self.bench() as bench:
            store, lost = await bench.started(kept)
            bench.clock.advance(self.lease_s)
            other = await bench.open()
            lease = await other.acquire(lost.session_id, this_process())
            await refused_all(store, lost)
            assert list(await other.load(lost.session_id)) == [kept]
            await other.append(lease, 1, [record()])
            await refused_all(store, lost)

    async def test_giving_back_a_lost_lease_leaves_the_new_owner_its_own(self) -> None:
        """S6: ``release`` of a lost lease is harmless, twice too."""
        async with self.bench() as bench:
            store, lost = await bench.started(record())
            bench.clock.advance(self.lease_s)
            other = await bench.open()
            lease = await other.acquire(lost.session_id, this_process())
            await store.release(lost)
            await store.release(lost)
            await other.renew(lease)
            await refused(SessionInUse, store.acquire(lost.session_id, this_process()))

    async def test_a_lease_given_back_writes_no_more(self) -> None:
        """S6: and the next owner need not wait."""
        async with self.bench() as bench:
            store, lease = await bench.started(record())
            await store.release(lease)
            await refused_all(store, lease)
            other = await bench.open()
            await other.append(await other.acquire(lease.session_id, this_process()), 1, [record()])

    async def test_an_invented_lease_writes_nothing(self) -> None:
        """S6: neither with a later fence, nor of another owner, nor before any was given out."""
        async with self.bench() as bench:
            store, lease = await bench.started(record())
            await refused_all(store, replace(lease, fence=lease.fence + 1))
            await refused_all(store, replace(lease, owner=this_process()))
            await refused_all(store, replace(lease, session_id=new_id()))

    async def test_a_session_in_use_is_refused_and_its_owner_named(self) -> None:
        """S7: to another process and to another owner in the same store."""
        async with self.bench() as bench:
            store, lease = await bench.started(record())
            bench.clock.advance(0.9 * self.lease_s)
            for opened in (store, await bench.open()):
                taking = opened.acquire(lease.session_id, this_process())
                error = await refused(SessionInUse, taking)
                assert error.owner == lease.owner
                assert error.code == "session_in_use"
                assert str(lease.owner.pid) in str(error)
            await store.append(lease, 1, [record()])

    async def test_an_owner_that_renews_keeps_the_session_and_a_silent_one_loses_it(self) -> None:
        """S7: the bound is ``LEASE_S`` after the last sign of life."""
        async with self.bench() as bench:
            store, lease = await bench.started()
            other = await bench.open()
            for _ in range(4):
                bench.clock.advance(0.9 * self.lease_s)
                await store.renew(lease)
            bench.clock.advance(0.9 * self.lease_s)
            await refused(SessionInUse, other.acquire(lease.session_id, this_process()))
            bench.clock.advance(0.1 * self.lease_s + 0.001)
            await other.acquire(lease.session_id, this_process())
            await refused(LeaseLost, store.renew(lease))

    async def test_an_owner_whose_process_is_gone_is_replaced_at_once(self) -> None:
        """S7: no waiting for a process of this host that certainly runs no more."""
        async with self.bench() as bench:
            store = await bench.open()
            if not store.is_durable:
                raise SkipTest("all owners share this process")
            gone, session_id = await gone_owner(), new_id()
            lost = await store.acquire(session_id, gone)
            await store.append(lost, 0, [record()])
            lease = await (await bench.open()).acquire(session_id, this_process())
            assert lease.fence > lost.fence
            await refused_all(store, lost)

    async def test_the_fence_grows_with_every_lease(self) -> None:
        """S7: after release, after silence, for the same owner, after delete."""
        session_id, owner = new_id(), this_process()
        async with self.bench() as bench:
            store = await bench.open()
            leases = [await store.acquire(session_id, owner)]
            await store.release(leases[-1])
            store = await bench.open()
            leases.append(await store.acquire(session_id, this_process()))
            bench.clock.advance(self.lease_s)
            leases.append(await store.acquire(session_id, owner))
            leases.append(await store.acquire(session_id, owner))
            await refused_all(store, leases[-2])
            await store.append(leases[-1], 0, [record()])
            await store.delete(leases[-1])
            leases.append(await (await bench.open()).acquire(session_id, owner))
            fences = [lease.fence for lease in leases]
            assert fences == sorted(set(fences))
            assert {lease.session_id for lease in leases} == {session_id}
            assert [lease.owner == owner for lease in leases] == [True, False, True, True, True]

    async def test_only_one_of_many_who_ask_at_once_gets_the_session(self) -> None:
        """S6, S7: the others are told who."""
        session_id = new_id()
        async with self.bench() as bench:
            stores = [await bench.open() for _ in range(4)]
            taking = [store.acquire(session_id, this_process()) for store in stores]
            answers = await asyncio.gather(*taking, return_exceptions=True)
            (lease,) = (answer for answer in answers if isinstance(answer, Lease))
            refusals = [answer for answer in answers if isinstance(answer, SessionInUse)]
            assert [error.owner for error in refusals] == [lease.owner] * 3


class SessionLaws(Laws):
    """S8, S9, S10, S12 and ``list``: which sessions there are, and in what state."""

    async def test_a_session_without_records_is_unknown(self) -> None:
        """S8: never heard of, acquired only, with an artifact only."""
        async with self.bench() as bench:
            store, lease = await bench.started()
            await store.append(lease, 0, [])
            await store.put_artifact(lease, b"early")
            for opened in (store, await bench.open()):
                assert list(await opened.load(lease.session_id)) == []
                assert list(await opened.load(new_id())) == []
                assert await listed(opened, lease.session_id) == []

    async def test_any_text_may_be_an_id_of_a_session(self) -> None:
        """S8: sessions with similar ids are different ones, and none leads out of the store."""
        stem = new_id("S")
        ids = [
            stem,
            stem.lower(),
            f"{stem} ",
            f"../{stem}",
            f"/{stem}/..",
            f"{stem}%2e",
            f"é{stem}",
        ]
        ids += [
            stem * 40,
            f"{stem * 40}x",
            f"{stem}.lock",
            f"{stem}\\",
            f"漢\n{stem}",
            f"CON.{stem}",
        ]
        records = {session_id: [record()] for session_id in ids}
        async with self.bench() as bench:
            store = await bench.open()
            for session_id in ids:
                lease = await store.acquire(session_id, this_process())
                await store.append(lease, 0, records[session_id])
            other = await bench.open()
            for session_id in ids:
                assert list(await other.load(session_id)) == records[session_id]
            assert sorted(await listed(other, *ids)) == sorted(ids)

    async def test_half_a_record_at_the_end_is_dropped_and_not_in_the_way(self) -> None:
        """S9: of a torn write nothing is loaded, and the next append is not glued to it."""
        one, two, three = record(), record(), record()
        async with self.bench() as bench:
            store, lease = await bench.started(one, two)
            await self.tear_end(lease.session_id)
            other = await bench.open()
            for opened in (store, other):
                assert list(await opened.load(lease.session_id)) == [one, two]
            await other.append(lease, 2, [three])
            assert list(await (await bench.open()).load(lease.session_id)) == [one, two, three]

    async def test_a_damaged_session_is_refused_and_left_as_it_is(self) -> None:
        """S9: by load and by append; a session beside it is not concerned."""
        async with self.bench() as bench:
            _, lease = await bench.started(record(), record(), record())
            _, sound = await bench.started(record())
            await self.damage(lease.session_id)
            before = await self.stored()
            other = await bench.open()
            error = await refused(StoreCorrupted, other.load(lease.session_id))
            assert error.code == "session_store_corrupted"
            await refused(StoreCorrupted, other.append(lease, 3, [record()]))
            assert await self.stored() == before
            assert len(await other.load(sound.session_id)) == 1
            assert await listed(other, sound.session_id) == [sound.session_id]

    async def test_what_a_newer_version_wrote_is_refused_and_left_as_it_is(self) -> None:
        """S10: nothing is opened, read or written, not even a lease."""
        async with self.bench() as bench:
            store, lease = await bench.started(record())
            await store.release(lease)
            await self.make_newer(lease.session_id)
            before = await self.stored()

            async def use(call: str, *arguments: object) -> None:
                await getattr(await bench.open(), call)(*arguments)

            await refused(StoreTooNew, use("acquire", lease.session_id, this_process()))
            await refused(StoreTooNew, use("load", lease.session_id))
            assert await self.stored() == before

    async def test_delete_removes_one_session_and_ends_its_lease(self) -> None:
        """S12: records and artifacts; a new session of that id starts empty."""
        async with self.bench() as bench:
            store, lease = await bench.started(record(), record())
            _, other = await bench.started(record())
            sha256 = await store.put_artifact(lease, b"picture")
            await store.put_artifact(other, b"picture")
            await store.delete(lease)
            await refused_all(store, lease)
            assert list(await store.load(lease.session_id)) == []
            assert await store.artifact(lease.session_id, sha256) is None
            assert await listed(store, lease.session_id, other.session_id) == [other.session_id]
            assert await store.artifact(other.session_id, sha256) == b"picture"
            again = await store.acquire(lease.session_id, this_process())
            await store.append(again, 0, [record()])
            assert len(await (await bench.open()).load(lease.session_id)) == 1

    async def test_sessions_are_listed_with_what_is_in_them_the_last_written_first(self) -> None:
        """``list``: times of the first and the last record, their number, a title."""
        async with self.bench() as bench:
            store = await bench.open()
            ids = [new_id() for _ in range(3)]
            leases = [await store.acquire(session_id, this_process()) for session_id in ids]
            for n, lease in enumerate(leases):
                asked = record("run_admitted", {"message": {"text": f"question {n}"}})
                await store.append(lease, 0, [replace(asked, ts=1_000 + n)])
            await store.append(leases[0], 1, [replace(record(), ts=5_000)])
            rows = [row for row in await (await bench.open()).list() if row.session_id in ids]
            assert [(row.session_id, row.created, row.updated) for row in rows] == [
                (ids[0], 1_000, 5_000),
                (ids[2], 1_002, 1_002),
                (ids[1], 1_001, 1_001),
            ]
            assert [row.record_count for row in rows] == [2, 1, 1]
            assert [row.title for row in rows] == ["question 0", "question 2", "question 1"]

    async def test_the_title_is_the_last_name_or_else_the_first_question(self) -> None:
        """``list``: at most 80 characters on one line; None when there is neither."""
        asked = record("run_admitted", {"message": {"text": "long\x00\n\ud800 " * 50}})
        later = record("run_admitted", {"message": {"text": "later"}})
        name, new_name = (record("session_info", {"name": name}) for name in ("old", "new"))
        async with self.bench() as bench:
            store, lease = await bench.started(record())
            titles: list[str | None] = []
            for count, added in enumerate([record(), asked, later, name, new_name], 1):
                await store.append(lease, count, [added])
                rows = await store.list()
                titles += [row.title for row in rows if row.session_id == lease.session_id]
            question = titles[1] or ""
            assert titles == [None, question, question, "old", "new"]
            assert question.startswith("long ")
            assert len(question) <= TITLE_LIMIT
            assert not {"\n", "\x00", "\ud800"} & set(question)


class ArtifactLaws(Laws):
    """S11: bytes beside the records."""

    async def test_an_artifact_is_kept_under_the_hash_of_its_bytes(self) -> None:
        """S11: any bytes, put twice too, seen by another process, beside the records."""
        async with self.bench() as bench:
            store, lease = await bench.started(record())
            for data in (b"", b"\x00\xff\r\n", bytes(range(256)) * 4_000):
                sha256 = hashlib.sha256(data).hexdigest()
                for _ in range(2):
                    assert await store.put_artifact(lease, data) == sha256
                assert await (await bench.open()).artifact(lease.session_id, sha256) == data
            await store.append(lease, 1, [record()])
            assert len(await (await bench.open()).load(lease.session_id)) == 2

    async def test_an_unknown_artifact_is_none_whatever_it_is_called(self) -> None:
        """S11: of another session, of no session, under a name that is no hash."""
        async with self.bench() as bench:
            store, lease = await bench.started(record())
            _, other = await bench.started(record())
            sha256 = await store.put_artifact(lease, b"mine")
            assert await store.artifact(other.session_id, sha256) is None
            assert await store.artifact(new_id(), sha256) is None
            for name in ("0" * 64, "", "..", "../lease.json", "\0", sha256[:-1], f"{sha256}/../x"):
                assert await store.artifact(lease.session_id, name) is None


class ConcurrencyLaws(Laws):
    """S13: one loop, many calls."""

    async def test_many_sessions_are_written_at_the_same_time(self) -> None:
        """S13: none sees anything of another one."""
        async with self.bench() as bench:
            store = await bench.open()

            async def write() -> None:
                lease = await store.acquire(new_id(), this_process())
                records = [record() for _ in range(3)]
                for position, one in enumerate(records):
                    await store.append(lease, position, [one])
                    await store.renew(lease)
                assert list(await store.load(lease.session_id)) == records
                await store.release(lease)

            await asyncio.gather(*(write() for _ in range(10)))

    async def test_of_appends_to_one_position_exactly_one_is_kept(self) -> None:
        """S5, S13: the others are conflicts."""
        records = [record() for _ in range(6)]
        async with self.bench() as bench:
            store, lease = await bench.started()
            writing = [store.append(lease, 0, [one]) for one in records]
            answers = await asyncio.gather(*writing, return_exceptions=True)
            kept = list(await store.load(lease.session_id))
            assert kept == [one for one, answer in zip(records, answers, strict=True) if not answer]
            assert len(kept) == 1
            assert [type(answer) for answer in answers if answer] == [StoreConflict] * 5

    async def test_the_loop_goes_on_while_a_durable_store_writes(self) -> None:
        """S13: other callbacks of the loop are served before ``append`` and ``load`` return."""
        async with self.bench() as bench:
            store, lease = await bench.started()
            if not store.is_durable:
                raise SkipTest("nothing is waited for")
            served: list[str] = []
            loop = asyncio.get_running_loop()
            loop.call_soon(served.append, "append")
            await store.append(lease, 0, [record()])
            assert served == ["append"]
            loop.call_soon(served.append, "load")
            await store.load(lease.session_id)
            assert served == ["append", "load"]


class StoreConformance(RecordLaws, LeaseLaws, SessionLaws, ArtifactLaws, ConcurrencyLaws):
    """All contracts of a session store; the module says how to put a store to them."""
