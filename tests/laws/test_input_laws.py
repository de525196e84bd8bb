"""Laws of input, Stop, delivery and the tree that hold for every session."""

from __future__ import annotations

import functools
import itertools
from typing import Any, get_args

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent_widget.core.branch import Entry, EntryRole, Label, Tree, chained, labels_of
from agent_widget.core.errors import InvalidArgs, SessionError
from agent_widget.core.inputs import InputMark, merged_mark
from agent_widget.core.transcript import session_name
from agent_widget.policy.input import (
    INPUT_CONTROL_TRAIT,
    SCOPES,
    STEERING_TRAIT,
    TOOL_PARAMETERS,
    WHILE_RUNNING,
    InputPolicy,
    PolicyChange,
    SessionStatus,
    Standing,
    agent_default,
    can_send,
    change_refusal,
    changed_policy,
    input_refusal,
    next_interaction,
    policy_after_run,
    requested_change,
    stored_setting,
)
from agent_widget.policy.queues import Boundary, QueueMode, Queues, delivered
from agent_widget.policy.steering import (
    FATES,
    Row,
    applied_batch,
    pending_rows,
    prompt_order,
    with_applied,
)
from agent_widget.view.delivery import MAX_EARLY, Client, Draft, with_event, with_sent
from agent_widget.view.interaction import Interaction, merged_interaction
from tests.support.strategies import JSON, TEXTS

MODES: st.SearchStrategy[QueueMode] = st.sampled_from(get_args(QueueMode))

SETTINGS = st.none() | st.sampled_from(WHILE_RUNNING)
POLICIES = st.builds(InputPolicy, SETTINGS, SETTINGS, SETTINGS)
WORDS = st.sampled_from([*WHILE_RUNNING, "inherit", *SCOPES]) | JSON
CHANGES = st.builds(PolicyChange, st.sampled_from(SCOPES), SETTINGS)

# --- policy -----------------------------------------------------------------------------------


def test_a_person_may_send_into_a_run_that_steers_and_code_into_any_that_goes_on() -> None:
    levels = itertools.product((None, *WHILE_RUNNING), repeat=3)
    flags = itertools.product((True, False), repeat=3)
    statuses: tuple[SessionStatus, ...] = ("idle", "running", "failed")
    for settings, status, (active, stopped, closed) in itertools.product(levels, statuses, flags):
        policy = InputPolicy(*settings)
        standing = Standing(
            status=status, run_active=active, stop_committed=stopped, is_closed=closed
        )
        goes_on = not closed and status != "failed"
        by_code = goes_on and (not stopped if active else status == "idle")
        assert (input_refusal(policy, standing, "program") is None) == by_code
        by_person = by_code and (not active or policy.mode == "steer")
        assert can_send(policy, standing) == by_person
        assert (input_refusal(policy, standing) is None) == by_person


@given(POLICIES, CHANGES, SETTINGS)
def test_a_change_touches_its_scope_and_the_end_of_a_run_only_the_override_of_the_run(
    policy: InputPolicy, change: PolicyChange, agent: Any
) -> None:
    changed = changed_policy(policy, change)
    if change.scope == "turn":
        assert changed == replace(policy, run=change.while_running)
    else:
        assert changed == replace(policy, session=change.while_running)
    assert policy_after_run(changed, agent) == InputPolicy(None, changed.session, agent)


@given(JSON | st.fixed_dictionaries({}, optional={"mode": WORDS, "scope": WORDS, "id": JSON}))
def test_any_arguments_are_a_change_or_a_refusal_that_names_them(args: Any) -> None:
    given_args = args if isinstance(args, dict) else {}
    mode, scope = given_args.get("mode"), given_args.get("scope", "turn")
    if mode in (*WHILE_RUNNING, "inherit") and scope in SCOPES:
        assert requested_change(args) == PolicyChange(scope, None if mode == "inherit" else mode)
    else:
        with pytest.raises(InvalidArgs):
            requested_change(args)


def test_the_tool_has_two_arguments_and_names_all_that_is_wrong_with_them_at_once() -> None:
    assert set(TOOL_PARAMETERS["properties"]) == {"mode", "scope"}  # type: ignore[call-overload]
    with pytest.raises(InvalidArgs) as refused:
        requested_change({"mode": ["steer"], "scope": None})
    assert [problem.split(":")[0] for problem in refused.value.problems] == ["mode", "scope"]


def test_only_the_steering_trait_steers_and_control_alone_sets_nothing() -> None:
    assert agent_default([STEERING_TRAIT]) == "steer"
    assert InputPolicy(agent=agent_default([INPUT_CONTROL_TRAIT])).mode == "block"


def test_a_change_of_a_closed_session_is_refused() -> None:
    change, closed = PolicyChange("session", "steer"), Standing(is_closed=True)
    who: Any = {"has_input_control": True, "caller_agent": "a", "owner_agent": "a"}
    assert change_refusal(change, Standing(), **who) is None
    assert change_refusal(change, closed, **who) is not None


@given(JSON | TEXTS)
def test_only_block_and_steer_are_stored_settings(value: Any) -> None:
    assert stored_setting(value) == (value if value in ("block", "steer") else None)


# --- interaction ------------------------------------------------------------------------------


@given(st.lists(st.booleans(), min_size=1), st.randoms(use_true_random=False))
def test_the_revision_changes_with_can_send_and_a_page_ends_at_the_newest_in_any_order(
    commits: list[bool], random: Any
) -> None:
    published: list[Interaction] = []
    for commit in commits:
        before = published[-1] if published else None
        published.append(next_interaction(before, commit))
        assert published[-1].can_send == commit
        if before is not None:
            grown = published[-1].revision - before.revision
            assert grown == (before.can_send != commit)
            assert (published[-1] is before) == (before.can_send == commit)
    arriving = published * 2
    random.shuffle(arriving)
    bodies = [{"interaction": {"can_send": i.can_send, "revision": i.revision}} for i in arriving]
    merge = functools.partial(merged_interaction, full=False)
    assert functools.reduce(merge, bodies, None) == published[-1]


@pytest.mark.parametrize("revision", [True, False, "9", -1, 4.5, 2**53, float("inf"), None])
def test_a_page_that_knows_nothing_yet_takes_no_malformed_revision(revision: object) -> None:
    body = {"interaction": {"can_send": False, "revision": revision}}
    assert merged_interaction(None, body, full=True) is None


def test_a_whole_number_is_a_revision_however_json_writes_it() -> None:
    body = {"interaction": {"can_send": False, "revision": 4.0}}
    kept = merged_interaction(Interaction(True, 3), body, full=False)
    assert kept == Interaction(False, 4)
    assert type(kept.revision) is int


# --- steering ---------------------------------------------------------------------------------


@st.composite
def histories(draw: st.DrawFn) -> tuple[Row, ...]:
    """What sessions leave behind: steps, steering at any time, boundaries, new runs, Stops."""
    rows: tuple[Row, ...] = ()

    def added(prefix: str, role: Any, mark: InputMark | None = None) -> tuple[Row, ...]:
        date = draw(st.integers(0, 3)) if mark else len(rows)
        message_id = f"{prefix}{len(rows)}"
        return (*rows, Row(message_id=message_id, role=role, date=date, input=mark))

    for _ in range(draw(st.integers(0, 12))):
        match draw(st.sampled_from(["send", "step", "steer", "steer", "boundary"])):
            case "send":
                rows = added("u", "user")
                rows = with_applied(rows, applied_batch(rows, new_user_id=rows[-1].message_id))
            case "step":
                rows = added("a", "assistant")
                for _ in range(draw(st.integers(0, 2))):
                    rows = added("t", "tool_result")
            case "steer":
                rows = added("s", "user", InputMark("pending"))
            case "boundary":
                mode = draw(MODES)
                rows = with_applied(rows, applied_batch(rows, mode=mode))
    return rows


def marked(rows: tuple[Row, ...], state: str) -> list[str]:
    return [r.message_id for r in rows if isinstance(r.input, InputMark) and r.input.state == state]


@given(histories(), st.sets(st.integers(0, 40)), st.none() | st.just("cp"))
def test_whatever_is_pruned_a_prompt_has_every_applied_message_once_and_no_pending_one(
    rows: tuple[Row, ...], pruned: set[int], checkpoint: str | None
) -> None:
    left = tuple(r for at, r in enumerate(rows) if r.input is not None or at not in pruned)
    order = prompt_order(left, checkpoint)
    plain = [row.message_id for row in left if row.input is None]
    first = [] if checkpoint is None else [checkpoint]
    assert sorted(order) == sorted([*first, *plain, *marked(left, "applied")])
    assert list(order[: len(first)]) == first
    assert [message_id for message_id in order if message_id in plain] == plain
    calls = {row.message_id for row in left if row.role == "tool_result"}
    steered = {*marked(left, "applied")}
    assert not any(a in steered and b in calls for a, b in itertools.pairwise(order))


@given(histories())
def test_a_batch_is_applied_once_and_one_at_a_time_leads_to_the_same_prompt(
    rows: tuple[Row, ...],
) -> None:
    at_once = with_applied(rows, applied_batch(rows))
    assert pending_rows(at_once) == ()
    assert applied_batch(at_once) == ()
    one_by_one, waiting = rows, pending_rows(rows)
    for row in waiting:
        batch = applied_batch(one_by_one, mode="one-at-a-time")
        assert [each.message_id for each in batch] == [row.message_id]
        one_by_one = with_applied(one_by_one, batch)
    assert one_by_one == at_once


@given(histories())
def test_steering_kept_over_a_stop_stands_before_the_message_that_starts_the_next_run(
    rows: tuple[Row, ...],
) -> None:
    waiting = [row.message_id for row in pending_rows(rows)]
    rows = (*rows, Row(message_id="next", role="user", date=99))
    order = prompt_order(with_applied(rows, applied_batch(rows, new_user_id="next")))
    assert order[-1] == "next"
    assert [each for each in order if each in waiting] == waiting


def test_nothing_comes_between_a_call_and_its_results() -> None:
    call = Row(message_id="a1", role="assistant", date=1)
    results = [Row(message_id=f"t{n}", role="tool_result", date=2) for n in (1, 2)]
    mark = InputMark("applied", "a1")
    steered = Row(message_id="s1", role="user", date=3, input=mark)
    assert prompt_order([call, *results, steered]) == ("a1", "t1", "t2", "s1")
    assert prompt_order([*results, steered], "cp") == ("cp", "t1", "t2", "s1")


def test_waiting_rows_are_in_order_of_date_and_then_of_id() -> None:
    dates = {"s1": 5, "s4": 4, "s3": 4, "s2": 9}
    rows = [
        Row(message_id=message_id, role="user", date=date, input=InputMark("pending"))
        for message_id, date in dates.items()
    ]
    batch = applied_batch(rows)
    assert [each.message_id for each in batch] == ["s3", "s4", "s1", "s2"]
    assert prompt_order(with_applied(rows, batch)) == ("s3", "s4", "s1", "s2")


def test_what_was_not_dispatched_waits_and_only_a_lost_event_lets_the_run_go_on() -> None:
    assert {stage for stage, fate in FATES.items() if fate.state == "applied"} == {
        "provider_after_dispatch",
        "event_publication_after_commit",
    }
    going_on = [stage for stage, fate in FATES.items() if fate.continues]
    assert going_on == ["event_publication_after_commit"]


# --- queues -----------------------------------------------------------------------------------

BOUNDARIES: st.SearchStrategy[Boundary] = st.sampled_from(get_args(Boundary))
QUEUES = st.builds(
    Queues,
    st.lists(st.integers()).map(tuple),
    st.lists(st.integers()).map(tuple),
    MODES,
    MODES,
)


@given(QUEUES, st.data())
def test_draining_keeps_the_order_and_loses_nothing(
    queues: Queues[int], data: st.DataObject
) -> None:
    all_items = (*queues.steering, *queues.follow_up)
    got: list[int] = []
    while queues.steering or queues.follow_up:
        boundary = data.draw(BOUNDARIES)
        now = delivered(queues, boundary)
        if boundary != "would_stop" and not (boundary == "step_boundary" and queues.steering):
            assert now.items == ()
            now = delivered(queues, "would_stop")
        assert now.items
        got += now.items
        queues = now.queues
        assert (*got, *queues.steering, *queues.follow_up) == all_items
    assert tuple(got) == all_items


# --- delivery ---------------------------------------------------------------------------------

MARKS = st.builds(
    InputMark, st.sampled_from(["pending", "applied"]), st.none() | st.sampled_from(["a1", "a2"])
)
IDS = st.sampled_from(["m1", "m2"])
INPUTS = st.sampled_from([{"state": "pending"}, {"state": "applied", "after_message_id": "a1"}])
ROWS = st.fixed_dictionaries(
    {"message_id": IDS, "text": st.sampled_from(["hello", "x"])},
    optional={"input": INPUTS | JSON, "attachments": JSON},
)
EVENTS: st.SearchStrategy[Any] = st.one_of(
    ROWS.map(lambda row: {**row, "type": "received"}),
    ROWS.map(lambda row: {**row, "type": "received", "request_id": "r1"}),
    ROWS.map(lambda row: {**row, "type": "update"}),
    st.lists(ROWS, max_size=3).map(lambda rows: {"type": "refresh", "messages": rows}),
    st.sampled_from([{"type": kind, "request_id": "r1"} for kind in ("error", "timeout")]),
    JSON,
    st.dictionaries(TEXTS | st.sampled_from(["type", "message_id"]), JSON, max_size=4),
)
WAITING = with_sent(Client(draft=Draft("hello", ("f1",))), "r1")


@given(st.lists(EVENTS, max_size=12))
def test_only_a_receipt_for_the_request_clears_the_draft_and_applied_is_never_undone(
    events: list[Any],
) -> None:
    client = WAITING
    for event in events:
        before, client = client, with_event(client, event)
        is_receipt = isinstance(event, dict) and event.get("type") == "received"
        if not (is_receipt and event.get("request_id") == "r1"):
            assert (client.draft, client.sent) == (before.draft, before.sent)
        elif before.sent is not None:
            assert (client.draft, client.sent) == (Draft(), None)
            assert client.delivery == "confirmed"
        now = {row.message_id: row.input for row in client.rows} | dict(client.early)
        known = {row.message_id: row.input for row in before.rows} | dict(before.early)
        for message_id, mark in known.items():
            if mark is not None and mark.state == "applied" and message_id in now:
                later = now[message_id]
                assert later is not None
                assert later.state == "applied"
        ids = [row.message_id for row in client.rows]
        assert len(ids) == len({*ids})
        assert not {*ids} & {*client.early}


@given(st.text(max_size=9), st.text(max_size=9))
def test_what_was_typed_after_sending_outlives_the_receipt(text: str, more: str) -> None:
    waiting = with_sent(Client(draft=Draft(text, ("f1",))), "r1")
    typed = replace(waiting, draft=Draft(text + more, ("f1", "f2")))
    receipt = {"type": "received", "request_id": "r1", "message_id": "m1", "text": text}
    assert with_event(typed, receipt).draft == Draft(more, ("f2",))


def test_an_older_reading_of_the_store_does_not_undo_applied() -> None:
    row = {"message_id": "m1", "text": "hello", "input": {"state": "pending"}}
    patch = {"type": "update", "message_id": "m1", "input": {"state": "applied"}}
    for first in ([patch], [{**row, "type": "received"}, patch]):
        client = functools.reduce(with_event, first, WAITING)
        client = with_event(client, {"type": "refresh", "messages": [row]})
        assert [each.input for each in client.rows] == [InputMark("applied")]
        assert client.early == {}


def test_a_rejection_outlasts_the_deadline_and_a_late_receipt_confirms() -> None:
    late = {"type": "timeout", "request_id": "r1"}
    rejected = with_event(WAITING, {"type": "error", "request_id": "r1", "code": "X"})
    assert with_event(rejected, late) is rejected
    receipt = {"type": "received", "request_id": "r1", "message_id": "m1", "text": "hello"}
    assert with_event(with_event(WAITING, late), receipt).delivery == "confirmed"


@given(st.none() | MARKS, st.lists(MARKS))
def test_marks_come_to_the_same_state_in_any_order(
    known: InputMark | None, news: list[InputMark]
) -> None:
    marks = [functools.reduce(merged_mark, order, known) for order in (news, list(reversed(news)))]
    assert len({mark and mark.state for mark in marks}) == 1
    if marks[0] is not None:
        assert merged_mark(marks[0], marks[0]) is marks[0]


def test_marks_without_rows_are_bounded_and_the_oldest_goes_first() -> None:
    client = Client()
    for at in range(MAX_EARLY + 5):
        event = {"type": "update", "message_id": f"m{at}", "input": {"state": "applied"}}
        client = with_event(client, event)
    assert list(client.early) == [f"m{at}" for at in range(5, MAX_EARLY + 5)]


# --- tree -------------------------------------------------------------------------------------

ROLES: st.SearchStrategy[EntryRole | None] = st.none() | st.sampled_from(get_args(EntryRole))


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    entries: list[Entry] = []
    for at in range(draw(st.integers(1, 14))):
        parent: Entry | None = draw(st.none() | st.sampled_from(entries)) if entries else None
        entries.append(Entry(f"e{at}", parent.id if parent else None, draw(ROLES)))
    return Tree.of(entries)


@given(trees(), st.data())
def test_a_path_leads_from_a_root_to_its_leaf_and_is_a_line_already(
    tree: Tree, data: st.DataObject
) -> None:
    leaf = data.draw(st.sampled_from(tree.entries)).id
    path = tree.path(leaf)
    assert path[0].parent_id is None
    assert path[-1].id == leaf
    assert chained(path) == path
    kept = path[:1] + path[2:]
    assert [entry.parent_id for entry in chained(kept)] == [None, *(e.id for e in kept[:-1])]


@given(trees(), st.data())
def test_navigation_abandons_what_the_new_path_lacks_and_nothing_else(
    tree: Tree, data: st.DataObject
) -> None:
    ids = [entry.id for entry in tree.entries]
    leaf = data.draw(st.none() | st.sampled_from(ids))
    target = data.draw(st.sampled_from(ids))
    gone = tree.navigation(leaf, target)
    before = [entry.id for entry in tree.path(leaf)]
    after = [entry.id for entry in tree.path(gone.leaf)]
    shared = [entry_id for entry_id in before if entry_id in after]
    assert before == [*shared, *gone.abandoned]
    assert after[: len(shared)] == shared
    assert gone.is_noop == (target == leaf)
    edits = tree.path(target)[-1].role == "user" and not gone.is_noop
    assert gone.edit == (target if edits else None)
    assert gone.leaf == (tree.path(target)[-1].parent_id if edits else target)


@given(trees(), st.data())
def test_an_edited_message_is_a_sibling_of_the_old_one_whatever_was_set_in_between(
    tree: Tree, data: st.DataObject
) -> None:
    users = [entry for entry in tree.entries if entry.role == "user"]
    assume(users)
    old = data.draw(st.sampled_from(users))
    gone = tree.navigation(None, old.id)
    setting, new = Entry("model", gone.leaf), Entry("new", "model", "user")
    edited = Tree.of((*tree.entries, setting, new))
    siblings = edited.siblings("new")
    assert siblings[-1] == "new"
    assert siblings == edited.siblings(old.id) == (*tree.siblings(old.id), "new")


@given(trees())
def test_the_newest_leaf_is_the_last_entry_whose_path_leads_through_the_message(
    tree: Tree,
) -> None:
    for entry in tree.entries:
        below = [leaf.id for leaf in tree.entries if entry in tree.path(leaf.id)]
        assert tree.newest_leaf(entry.id) == below[-1]


@given(trees())
def test_messages_are_siblings_both_ways(tree: Tree) -> None:
    for entry in tree.entries:
        siblings = tree.siblings(entry.id)
        assert entry.id in siblings
        assert all(tree.siblings(other) == siblings for other in siblings)


@pytest.mark.parametrize(
    "entries",
    [
        [Entry("e1", None), Entry("e1", None)],
        [Entry("e1", "e2"), Entry("e2", None)],
        [Entry("e1", "e1")],
        [Entry("e1", None), Entry("e2", "zz")],
    ],
)
def test_a_tree_whose_entries_do_not_follow_their_parents_is_refused(entries: list[Entry]) -> None:
    with pytest.raises(SessionError, match="Cannot read a stored session") as refused:
        Tree.of(entries)
    assert refused.value.code == "session_store_corrupted"


def test_a_later_label_replaces_an_earlier_one_and_an_empty_one_removes_it() -> None:
    rows = [("e1", "a"), ("e2", "b"), ("e1", "c"), ("e2", None), ("e3", "d"), ("e3", "")]
    assert labels_of(Label(*row) for row in rows) == {"e1": "c"}


@example("\nb".join("a\v\f\r\x1c\x1d\x1e\x85\u2028\u2029c"))
@given(st.text("a \t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"))
def test_a_stored_name_is_one_trimmed_line_and_stays_as_it_is(name: str) -> None:
    stored = session_name(name)
    assert len(stored.splitlines()) <= 1
    assert stored == stored.strip() == session_name(stored)
