import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Session } from "../../src/session";
import { TestModel, view } from "../support/model";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const live = (model: TestModel, seq = 0): void => model.deliver(model.snapshotMessage(view(), seq));

test("each view greets with its own id and says goodbye", () => {
  const model = new TestModel();
  const session = new Session(model);
  const leave = session.openView();
  session.openView();
  leave();
  const kinds = model.sent.map((m) => m.kind);
  expect(kinds).toEqual(["hello", "hello", "bye"]);
  expect(new Set(model.sent.slice(0, 2).map((m) => m.view)).size).toBe(2);
  expect(model.sent[2]!.view).toBe(model.sent[0]!.view);
});

test("no message has a key named id, and every one has its own request id", async () => {
  const model = new TestModel();
  const session = new Session(model);
  session.openView();
  live(model);
  void session.command("send", { text: "hi" });
  void session.command("stop");
  expect(model.sent.every((m) => !("id" in m))).toBe(true);
  expect(new Set(model.sent.map((m) => m.request_id)).size).toBe(model.sent.length);
});

test("a gap asks once until it is answered", () => {
  const model = new TestModel();
  const session = new Session(model);
  session.openView();
  live(model, 1);
  const patch = (seq: number): void => model.deliver({ kind: "patch", epoch: "e1", seq, ops: [] });
  patch(5);
  patch(6);
  patch(7);
  expect(model.sent.filter((m) => m.kind === "hello")).toHaveLength(2);
  expect(model.sent.at(-1)).toMatchObject({ epoch: "e1", last_seq: 1 });
  live(model, 7);
  patch(9);
  expect(model.sent.filter((m) => m.kind === "hello")).toHaveLength(3);
});

test("a command resolves with its reply and only its reply", async () => {
  const model = new TestModel();
  const session = new Session(model);
  const outcome = session.command("send", { text: "hi" });
  model.deliver({ kind: "reply", request_id: "someone else's", ok: false, code: "X", message: "" });
  model.reply({ ok: true, message_id: "m1" });
  model.reply({ ok: false, code: "LATE", message: "" });
  expect(await outcome).toEqual({ ok: true, message_id: "m1" });
  expect(session.commands.openCount).toBe(0);
});

test("a command without a reply is reported as slow after 3 s and as overdue after 10 s, once, and still takes a late reply", async () => {
  const model = new TestModel();
  const session = new Session(model);
  const slow = vi.fn();
  const overdue = vi.fn();
  const outcome = session.command("send", { text: "hi" }, { slow, overdue });
  vi.advanceTimersByTime(2900);
  expect(slow).not.toHaveBeenCalled();
  vi.advanceTimersByTime(7000);
  expect(slow).toHaveBeenCalledTimes(1);
  expect(overdue).not.toHaveBeenCalled();
  vi.advanceTimersByTime(60_000);
  expect([slow, overdue].map((fn) => fn.mock.calls.length)).toEqual([1, 1]);
  model.reply();
  expect(await outcome).toEqual({ ok: true });
});

test("a send that throws is refused, what was sent before it stays unanswered, and the connection is lost", async () => {
  const model = new TestModel();
  const session = new Session(model);
  session.openView();
  live(model);
  const waiting = session.command("send", { text: "first" });
  model.broken = true;
  const outcome = await session.command("send", { text: "hi" });
  expect(outcome).toMatchObject({ ok: false, code: "DISCONNECTED" });
  expect(await waiting).toMatchObject({ ok: false, code: "UNANSWERED" });
  expect(session.connection).toBe("disconnected");
});

test("a kernel that never answers leaves a saved transcript; one that did is gone", () => {
  const saved = new TestModel();
  saved.snapshot = { protocol: 1, epoch: "e1", seq: 0, view: view() };
  const reader = new Session(saved);
  reader.openView();
  vi.advanceTimersByTime(3000);
  expect(reader.connection).toBe("waiting");
  vi.advanceTimersByTime(20_000);
  expect(reader.connection).toBe("saved");

  const model = new TestModel();
  const session = new Session(model);
  session.openView();
  live(model);
  model.emit("comm_live_update");
  vi.advanceTimersByTime(30_000);
  expect(session.connection).toBe("disconnected");
  expect(vi.getTimerCount()).toBe(0);
});

test("a busy kernel is waited for as long as it is busy", () => {
  const model = new TestModel();
  const kernel = { status: "busy" };
  model.widget_manager = { kernel };
  const session = new Session(model);
  session.openView();
  vi.advanceTimersByTime(120_000);
  expect(session.connection).toBe("waiting");
  live(model);
  expect(session.connection).toBe("live");
  expect(vi.getTimerCount()).toBe(0);
});

test("the host's word about its kernel is taken, and let go of at the end", () => {
  const slots = {
    status: new Set<(s: unknown, a: unknown) => void>(),
    link: new Set<(s: unknown, a: unknown) => void>(),
  };
  const signal = (set: Set<(s: unknown, a: unknown) => void>) => ({
    connect: (slot: (s: unknown, a: unknown) => void) => set.add(slot),
    disconnect: (slot: (s: unknown, a: unknown) => void) => set.delete(slot),
  });
  const model = new TestModel();
  model.widget_manager = {
    kernel: {
      status: "idle",
      statusChanged: signal(slots.status),
      connectionStatusChanged: signal(slots.link),
    },
  };
  const controller = new AbortController();
  const session = new Session(model, controller.signal);
  session.openView();
  live(model);
  const say = (set: Set<(s: unknown, a: unknown) => void>, word: string): void => {
    for (const slot of set) slot(null, word);
  };
  say(slots.link, "connecting");
  expect(session.connection).toBe("reconnecting");
  say(slots.link, "connected");
  live(model);
  expect(session.connection).toBe("live");
  say(slots.status, "restarting");
  expect(session.connection).toBe("disconnected");
  controller.abort();
  expect([slots.status.size, slots.link.size, model.listenerCount, vi.getTimerCount()]).toEqual([
    0, 0, 0, 0,
  ]);
});

test("history is asked for from the first loaded message, one request at a time", async () => {
  const model = new TestModel();
  const session = new Session(model);
  model.deliver(model.snapshotMessage(view([], { messages: { first: 70, items: [] } })));
  const first = session.loadHistory();
  expect(await session.loadHistory()).toBe(false);
  const request = model.sent.find((m) => m.kind === "history")!;
  expect(request.before).toBe(70);
  model.deliver({
    kind: "history",
    request_id: request.request_id,
    epoch: "e1",
    first: 70,
    items: [],
  });
  expect(await first).toBe(true);
});

test("messages that are not of this protocol are ignored", () => {
  const model = new TestModel();
  const session = new Session(model);
  for (const raw of [
    null,
    7,
    "x",
    {},
    { kind: "patch" },
    { kind: "snapshot", view: 1 },
    { kind: "snapshot", protocol: 2, epoch: "e1", seq: 0, view: view() },
    { kind: "anywidget-command-response", id: "1" },
  ]) {
    model.emit("msg:custom", raw);
  }
  expect([session.store.view, session.connection]).toEqual([null, "connecting"]);
});
