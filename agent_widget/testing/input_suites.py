"""What the functions for input, Stop and delivery make of a test vector, as its ``then``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.errors import SessionError, ToolFailure
from ..core.inputs import InputMark
from ..policy.input import (
    InputPolicy,
    Standing,
    can_send,
    carries_over,
    change_refusal,
    changed_policy,
    next_interaction,
    policy_after_run,
    requested_change,
    stored_setting,
)
from ..policy.queues import Queues, cleared, delivered
from ..policy.steering import (
    FATES,
    Row,
    applied_batch,
    pending_rows,
    prompt_order,
    read_input,
    with_applied,
)
from ..policy.stop import stop_step
from ..view.delivery import Client, Draft, with_event, with_sent
from ..view.delivery import Row as ClientRow
from ..view.interaction import Interaction, merged_interaction, read_interaction

Json = Any
Wire = Mapping[str, Json]


def policy_of(given: Wire) -> InputPolicy:
    """The policy of a vector; the wire says turn where Python says run."""
    levels = (stored_setting(given[level]) for level in ("turn", "session", "agent"))
    return InputPolicy(*levels)


def resolved(given: Wire, _when: Wire) -> Wire:
    return {"mode": policy_of(given).mode}


def sending(given: Wire, _when: Wire) -> Wire:
    standing = Standing(
        status=given["status"],
        run_active=given["run_active"],
        stop_committed=given["stop_committed"],
    )
    return {"can_send": can_send(policy_of(given), standing)}


def after_tool(given: Wire, when: Wire) -> Wire:
    """The tool as an engine runs it: asked, stored, and only then kept."""
    policy = policy_of(given)
    standing = Standing(
        status="running" if given["run_active"] else "idle",
        run_active=given["run_active"],
        stop_committed=given["stop_committed"],
    )
    who = {name: given[name] for name in ("has_input_control", "caller_agent", "owner_agent")}
    try:
        change = requested_change(when["args"])
        refused = change_refusal(change, standing, **who)
    except ToolFailure as error:
        refused = error.message
    else:
        if refused is None and given["write_ok"]:
            policy = changed_policy(policy, change)
            levels = {"turn": policy.run, "session": policy.session}
            return {"ok": True, **levels, "mode": policy.mode}
    return {"ok": False, "turn": policy.run, "session": policy.session}


def after_ending(given: Wire, when: Wire) -> Wire:
    agent = given.get("new_agent", given["agent"])
    policy = policy_after_run(policy_of(given), stored_setting(agent))
    result = {
        "turn": policy.run,
        "session": policy.session,
        "pending": given["pending"],
        "starts_run": carries_over(when["event"], bool(given["pending"])),
    }
    return {**result, "agent": policy.agent} if "new_agent" in given else result


def interaction_wire(interaction: Interaction | None) -> Wire | None:
    if interaction is None:
        return None
    return {"can_send": interaction.can_send, "revision": interaction.revision}


def revised(given: Wire, when: Wire) -> Wire:
    committed = read_interaction(given["committed"])
    return {"interaction": interaction_wire(next_interaction(committed, when["commit_can_send"]))}


def merged(given: Wire, when: Wire) -> Wire:
    full = {"rest_full": True, "ws_partial": False}[when["message"]]
    cached = merged_interaction(read_interaction(given["cached"]), when["body"], full=full)
    return {"cached": interaction_wire(cached)}


def rows_of(given: Wire) -> tuple[Row, ...]:
    return tuple(
        Row(
            message_id=row["message_id"],
            role=row["type"],
            date=row["date"],
            input=read_input(row["input"]) if "input" in row else None,
        )
        for row in given["rows"]
    )


def applied(given: Wire, _when: Wire) -> Wire:
    """The dispatch boundary as an engine crosses it: decided, stored, and only then told."""
    rows = rows_of(given)
    nothing: Wire = {"applied": [], "events": []}
    try:
        batch = applied_batch(rows, new_user_id=given["new_user_id"])
    except SessionError as error:
        return {**nothing, "error": error.code}
    if not given["write_ok"]:
        return nothing
    ids = [each.message_id for each in batch]
    assert not {row.message_id for row in pending_rows(with_applied(rows, batch))} & {*ids}
    return {"applied": [[each.message_id, each.after_message_id] for each in batch], "events": ids}


def ordered(given: Wire, _when: Wire) -> Wire:
    return {"order": list(prompt_order(rows_of(given), given["checkpoint"]))}


def after_failure(given: Wire, when: Wire) -> Wire:
    fate = FATES[when["fails_at"]]
    return {**dict.fromkeys(given["pending"], fate.state), "continues": fate.continues}


def stopped(given: Wire, when: Wire) -> Wire:
    """A Stop as an engine carries it out: stored at most once, answered once."""
    committed, policy = given["stop_committed"], InputPolicy(run=stored_setting(given["turn"]))
    step = stop_step(run_active=given["run_active"], stop_committed=committed)
    if step == "commit" and given["write_ok"]:
        committed, policy = True, policy_after_run(policy, None)
    answered = step != "refuse" and committed
    return {
        "stop_committed": committed,
        "turn": policy.run,
        "reply": {
            "type": "session.update" if answered else "error",
            "request_id": when["stop"],
        },
        "writes": int(step == "commit"),
    }


def queues_of(given: Wire) -> Queues[str]:
    modes = {mode: given[mode] for mode in ("steering_mode", "follow_up_mode") if mode in given}
    return Queues(tuple(given["steering"]), tuple(given["follow_up"]), **modes)


def queues_wire(queues: Queues[str]) -> Wire:
    return {"steering": list(queues.steering), "follow_up": list(queues.follow_up)}


def drained(given: Wire, when: Wire) -> Wire:
    now = delivered(queues_of(given), when["at"])
    return {"delivered": list(now.items), **queues_wire(now.queues)}


def emptied(given: Wire, _when: Wire) -> Wire:
    queues = queues_wire(cleared(queues_of(given)))
    return {**queues, "events": [{"type": "queue_update", **queues}]}


def client_of(given: Wire) -> Client:
    composer = given["composer"]
    client = with_event(Client(), {"type": "refresh", "messages": given["messages"]})
    draft = Draft(composer["text"], tuple(composer["attachments"]))
    client = Client(rows=client.rows, draft=draft)
    request_id = composer["request_id"]
    return client if request_id is None else with_sent(client, request_id)


def mark_wire(mark: InputMark) -> Wire:
    after = mark.after_message_id
    return {"state": mark.state, **({} if after is None else {"after_message_id": after})}


def row_wire(row: ClientRow) -> Wire:
    marked = {} if row.input is None else {"input": mark_wire(row.input)}
    return {"message_id": row.message_id, "text": row.text, **marked}


def delivery(given: Wire, when: Wire) -> Wire:
    client = client_of(given)
    for event in when["events"]:
        client = with_event(client, event)
    composer = {
        "text": client.draft.text,
        "attachments": list(client.draft.attachments),
        "request_id": None if client.sent is None else client.sent.request_id,
    }
    rows = [row_wire(row) for row in client.rows]
    result = {"messages": rows, "composer": composer, "delivery": client.delivery}
    if client.error is None:
        return result
    return {**result, "error": {"code": client.error.code, "message": client.error.message}}


RESULTS: Final[Mapping[str, Callable[[Wire, Wire], Wire]]] = {
    "input_policy.resolve": resolved,
    "input_policy.can_send": sending,
    "input_policy.tool": after_tool,
    "input_policy.event": after_ending,
    "interaction.next_revision": revised,
    "interaction.merge": merged,
    "delivery.client": delivery,
    "steering.prompt_order": ordered,
    "steering.failure": after_failure,
    "stop.commit": stopped,
    "queue.drain": drained,
    "queue.clear": emptied,
}
