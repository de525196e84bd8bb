import { expect, test } from "vitest";
import { found } from "../../src/explorer/components/StepList";
import { differencesOf } from "../../src/explorer/components/Tree";
import { applied, EMPTY, messagesFor } from "../../src/explorer/fold";
import { diagramOf } from "../../src/explorer/layout";
import type { Json, Machine, Op, Step } from "../../src/explorer/protocol";

const OPS: Op[] = [
  [["status"], "streaming"],
  [["messages", 0], { id: "a", role: "assistant", parts: [{ type: "text", text: "He" }] }],
  [["messages", 0, "parts", 0, "text"], "llo", 1],
  [["error"], { message: "gone" }],
];

test("operations set, append, remove and cut off, and leave the rest the same object", () => {
  const before = applied(EMPTY, OPS) as Record<string, Json>;
  expect(before).toEqual({
    messages: [{ id: "a", role: "assistant", parts: [{ type: "text", text: "Hello" }] }],
    status: "streaming",
    error: { message: "gone" },
  });
  const after = applied(before, [[["error"]]]) as Record<string, Json>;
  expect(after).toEqual({ messages: before.messages, status: "streaming" });
  expect(after.messages).toBe(before.messages);
  expect(applied(after, [[["messages", 0]]])).toEqual({ ...after, messages: [] });
  expect(EMPTY).toEqual({ messages: [], status: "idle" });
  expect(differencesOf(before, after)).toBe(1);
});

test("the messages of an agent are found at the call that started it", () => {
  const nested = { status: "idle", messages: [{ id: "n", role: "assistant", parts: [] }] };
  const call = { type: "tool", id: "c", name: "delegate", state: "running", agent: nested };
  const state = { status: "idle", messages: [{ id: "a", role: "assistant", parts: [call] }] };
  expect(messagesFor(state, "c")).toEqual(nested.messages);
  expect(messagesFor(state, null)).toEqual(state.messages);
  expect(messagesFor(state, "other")).toEqual([]);
});

test("a diagram has a way for each pair of states, with all actions that take it", () => {
  const edge = (source: string, target: string, action: string) => ({
    source,
    target,
    action,
    late: false,
  });
  const edges = [
    edge("idle", "streaming", "send"),
    edge("idle", "streaming", "retry"),
    edge("streaming", "idle", "finish"),
    edge("idle", "idle", "stop"),
    edge("idle", "unheard-of", "leap"),
  ];
  const machine: Machine = { name: "session", states: ["idle", "streaming", "unheard-of"], edges };
  const { ways, nodes, width, height } = diagramOf(machine);
  expect(
    ways.flatMap((way) => way.actions.map((action) => edge(way.from, way.to, action))),
  ).toEqual(edges);
  expect(new Set(ways.map((way) => way.path)).size).toBe(4);
  for (const { x, y } of nodes) expect(x > 0 && x < width && y > 0 && y < height).toBe(true);
});

test("a filter finds steps by number, action, event and sentence", () => {
  const step = (type: string, said: string, action?: string): Step => ({
    type,
    t: 0,
    said,
    event: {},
    actions: action ? [{ type: action }] : [],
    ops: action ? [[["status"], "idle"]] : [],
    moves: [],
  });
  const steps = [
    step("input.received", "User: hi", "send"),
    step("usage.updated", "Used 3 tokens"),
  ];
  expect(found(steps, "", false)).toEqual([0, 1]);
  expect(found(steps, "", true)).toEqual([0]);
  expect(found(steps, "USED tok", false)).toEqual([1]);
  expect(found(steps, "send", false)).toEqual([0]);
  expect(found(steps, "2", false)).toEqual([1]);
});
