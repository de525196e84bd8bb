import { expect, test } from "vitest";
import { canSend, type PatchMessage, type SessionView, type Snapshot } from "../../src/protocol";
import { Store } from "../../src/store";
import { message, text, view } from "../support/model";

const snapshot = (
  seq: number,
  epoch = "e1",
  items = [message("m0", [text("a")])],
  first = 0,
): Snapshot => ({
  protocol: 1,
  epoch,
  seq,
  view: view([], { messages: { first, items } }),
});

const patch = (seq: number, added = "b", epoch = "e1"): PatchMessage => ({
  kind: "patch",
  epoch,
  seq,
  ops: [["append", ["messages", 0, "parts", 0, "text"], added]],
});

function storeAt(seq: number): { store: Store; gaps: () => number; text: () => string } {
  let gaps = 0;
  const store = new Store(() => gaps++);
  store.adoptAnswer(snapshot(seq));
  return {
    store,
    gaps: () => gaps,
    text: () => (store.view!.messages.items[0]!.parts[0] as { text: string }).text,
  };
}

test("patches in order are applied", () => {
  const { store, text, gaps } = storeAt(3);
  store.applyPatch(patch(4, "b"));
  store.applyPatch(patch(5, "c"));
  expect([text(), store.seq, gaps()]).toEqual(["abc", 5, 0]);
});

test("late and repeated patches change nothing", () => {
  const { store, text, gaps } = storeAt(3);
  for (const seq of [1, 3, 4, 4, 2]) store.applyPatch(patch(seq));
  expect([text(), store.seq, gaps(), store.stats.ignored]).toEqual(["ab", 4, 0, 4]);
});

test("a hole in the numbers is not jumped: nothing is applied and a snapshot is asked for", () => {
  const { store, text, gaps } = storeAt(3);
  store.applyPatch(patch(5));
  expect([text(), store.seq, gaps()]).toEqual(["a", 3, 1]);
});

test("a patch of another epoch and one before any snapshot ask for a snapshot", () => {
  const { store, gaps } = storeAt(3);
  store.applyPatch(patch(4, "x", "e2"));
  expect(gaps()).toBe(1);
  let asked = 0;
  new Store(() => asked++).applyPatch(patch(0));
  expect(asked).toBe(1);
});

test("a patch that does not fit is a gap and applies none of its operations", () => {
  const { store, text, gaps } = storeAt(3);
  store.applyPatch({ ...patch(4), ops: [...patch(4).ops, ["fly", ["status"], 1]] });
  expect([text(), store.seq, gaps()]).toEqual(["a", 3, 1]);
});

test("the answer to hello is taken unless it is older", () => {
  const { store, text } = storeAt(3);
  store.applyPatch(patch(4));
  store.adoptAnswer(snapshot(3));
  expect(text()).toBe("ab");
  store.adoptAnswer(snapshot(4, "e1", [message("m0", [text0("whole")])]));
  expect(text()).toBe("whole");
  store.adoptAnswer(snapshot(0, "e2"));
  expect([text(), store.epoch, store.seq]).toEqual(["a", "e2", 0]);
});

const text0 = text;

test("the trait is taken when its epoch is another or it is newer, and not otherwise", () => {
  const { store, gaps } = storeAt(3);
  store.adoptTrait(snapshot(3, "e1", []));
  store.adoptTrait(snapshot(2, "e1", []));
  expect(store.view!.messages.items).toHaveLength(1);
  store.adoptTrait(snapshot(0, "e2", []));
  expect([store.epoch, store.seq, gaps()]).toEqual(["e2", 0, 0]);
});

test("a trait that jumps ahead tells of lost patches: it is taken and the whole is asked for", () => {
  const { store, gaps } = storeAt(3);
  store.adoptTrait(snapshot(9, "e1", [message("m5", [])], 1));
  expect([store.seq, gaps(), store.view!.messages.first]).toEqual([9, 1, 0]);
});

test("malformed traits and those of another protocol are left alone", () => {
  const { store } = storeAt(3);
  for (const raw of [
    null,
    1,
    {},
    { protocol: 2, epoch: "x", seq: 9, view: view() },
    { protocol: 1, epoch: "x", seq: 9, view: {} },
  ]) {
    store.adoptTrait(raw);
  }
  expect([store.epoch, store.seq]).toEqual(["e1", 3]);
});

test("history goes before the loaded messages, when it ends exactly there", () => {
  const store = new Store(() => {});
  store.adoptAnswer(snapshot(0, "e1", [message("m5", [])], 5));
  const older = [3, 4].map((n) => message(`m${n}`, []));
  const history = {
    kind: "history" as const,
    request_id: "r",
    epoch: "e1",
    first: 3,
    items: older,
  };
  store.prepend({ ...history, epoch: "other" });
  store.prepend({ ...history, items: older.slice(1) });
  expect(store.view!.messages.first).toBe(5);
  store.prepend(history);
  store.prepend(history);
  expect(store.view!.messages.first).toBe(3);
  expect(store.view!.messages.items.map((m) => m.mid)).toEqual(["m3", "m4", "m5"]);
});

test("loaded history survives a second view's hello, and not a gap", () => {
  const store = new Store(() => {});
  const last = message("m5", [text("x")]);
  store.adoptAnswer(snapshot(4, "e1", [last], 5));
  store.prepend({
    kind: "history",
    request_id: "r",
    epoch: "e1",
    first: 4,
    items: [message("m4", [])],
  });
  store.adoptAnswer(snapshot(4, "e1", [last], 5));
  expect(store.view!.messages.first).toBe(4);
  store.applyPatch(patch(9));
  store.adoptAnswer(snapshot(9, "e1", [last], 5));
  expect(store.view!.messages.first).toBe(5);
});

test("messages that are the same in a new snapshot stay the same objects", () => {
  const { store } = storeAt(3);
  const before = store.view!;
  const next = structuredClone(snapshot(7));
  next.view.messages.items.push(message("m1", []));
  store.adoptAnswer(next);
  expect(store.view!.messages.items[0]).toBe(before.messages.items[0]);
  expect(store.view!.model).toBe(before.model);
  expect(store.view!.messages.items).toHaveLength(2);
});

test("a listener hears each change once, and nothing after it left", () => {
  const { store } = storeAt(3);
  let heard = 0;
  const leave = store.subscribe(() => heard++);
  store.applyPatch(patch(4));
  store.applyPatch(patch(4));
  leave();
  store.applyPatch(patch(5));
  expect(heard).toBe(1);
});

const told = (seq: number, interaction: unknown): PatchMessage => ({
  kind: "patch",
  epoch: "e1",
  seq,
  ops: [["set", ["interaction"], interaction]],
});

test("the word on sending is kept by its revision, in patches and in whole answers", () => {
  const { store } = storeAt(0);
  const interaction = (): unknown => store.view!.interaction;
  store.applyPatch(told(1, { can_send: false, revision: 3 }));
  expect(interaction()).toEqual({ can_send: false, revision: 3 });
  store.applyPatch(told(2, { can_send: true, revision: 2 }));
  store.applyPatch(told(3, { can_send: "yes", revision: 9 }));
  expect(interaction()).toEqual({ can_send: false, revision: 3 });
  store.adoptAnswer(snapshot(4));
  expect(interaction()).toEqual({ can_send: false, revision: 3 });
  store.adoptAnswer(snapshot(0, "e2"));
  expect(interaction()).toEqual({ can_send: true, revision: 0 });
});

test("an answer without that word leaves it to the status, and what else is missing to defaults", () => {
  const { store } = storeAt(0);
  const { interaction: _i, waiting: _w, storage: _s, input_policy: _p, ...old } = view();
  store.adoptAnswer({ ...snapshot(1), view: old as SessionView });
  const held = store.view!;
  expect([held.interaction, held.waiting, held.storage.read_only]).toEqual([undefined, [], null]);
  expect(canSend(held)).toBe(true);
  expect(canSend({ ...held, status: "streaming" })).toBe(false);
});
