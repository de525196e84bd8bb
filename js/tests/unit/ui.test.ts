import { expect, test } from "vitest";
import { announcementAfter } from "../../src/components/announce";
import { folded, lastLine } from "../../src/components/Output";
import { callInOneLine, openByDefault, untold } from "../../src/components/ToolCard";
import type { Question, SessionView } from "../../src/protocol";
import { isHostShortcut, isLaterKey, isSendKey } from "../../src/ui-state";
import {
  callStateInWords,
  durationInWords,
  errorInWords,
  refusalInWords,
  statusInWords,
  storageInWords,
} from "../../src/words";
import { message, STREAMING, t, text, tool, view } from "../support/model";

const key = (fields: object): KeyboardEvent =>
  ({
    key: "Enter",
    shiftKey: false,
    altKey: false,
    isComposing: false,
    keyCode: 13,
    ctrlKey: false,
    metaKey: false,
    ...fields,
  }) as KeyboardEvent;

test("Enter sends; Shift+Enter and the Enter of an input method do not", () => {
  expect(isSendKey(key({}))).toBe(true);
  expect(isSendKey(key({ shiftKey: true }))).toBe(false);
  expect(isSendKey(key({ isComposing: true, keyCode: 229 }))).toBe(false);
  expect(isSendKey(key({ keyCode: 229 }))).toBe(false);
  expect(isSendKey(key({ key: "a" }))).toBe(false);
});

test("Alt+Enter sends for later and is no other key", () => {
  expect([isLaterKey(key({ altKey: true })), isSendKey(key({ altKey: true }))]).toEqual([
    true,
    false,
  ]);
  for (const other of [{}, { altKey: true, shiftKey: true }, { altKey: true, isComposing: true }])
    expect(isLaterKey(key(other))).toBe(false);
});

test("only combinations that are not editing go to the host", () => {
  for (const combination of [
    { key: "s", ctrlKey: true },
    { key: "s", metaKey: true },
    { key: "C", ctrlKey: true, shiftKey: true },
    { key: "F5" },
  ]) {
    expect(isHostShortcut(key(combination))).toBe(true);
  }
  for (const own of [
    { key: "a" },
    { key: "d" },
    { key: "Enter", ctrlKey: true },
    { key: "Enter", shiftKey: true },
    { key: "Escape" },
    { key: "v", ctrlKey: true },
    { key: "ArrowUp", metaKey: true },
    { key: "a", ctrlKey: true },
  ]) {
    expect(isHostShortcut(key(own))).toBe(false);
  }
});

const question: Question = {
  pid: "p",
  tid: "t",
  tool: "run",
  agent: null,
  reason: null,
  text: "x",
  language: null,
  args: {},
  options: ["deny"],
  rules: [],
  project_file: null,
};

test("a run announces its start, its questions and its end, and nothing else", () => {
  const idle = view([message("m0", [])]);
  const started = view([message("m0", [text("a")])], STREAMING);
  expect(announcementAfter(t, idle, started)).toBe("Assistant started.");
  expect(announcementAfter(t, started, view([message("m0", [text("ab")])], STREAMING))).toBeNull();
  const asking = { ...started, question };
  expect(announcementAfter(t, started, asking)).toMatch(/approval: run/);
  expect(announcementAfter(t, asking, { ...asking })).toBeNull();
  expect(announcementAfter(t, started, idle)).toBe("Assistant finished.");
  const stopped = view([{ ...message("m0", []), mark: "stopped" }]);
  expect(announcementAfter(t, started, stopped)).toBe("Stopped.");
  const failed = view([], {
    status: "error",
    error: { code: "network", message: "x", advice: null },
  });
  expect(announcementAfter(t, started, failed)).toMatch(/^Failed: .*reached/);
});

test("a waiting message is announced when it comes and when it is used, not when it is taken back", () => {
  const at = (waiting: SessionView["waiting"], items = [message("m0", [])]): SessionView =>
    view(items, { ...STREAMING, waiting });
  const soon = { mid: "w1", text: "x", queue: "steering" as const };
  const later = { mid: "w2", text: "y", queue: "follow_up" as const };
  expect(announcementAfter(t, at([]), at([soon]))).toBe("Message waits. Before the next step.");
  expect(announcementAfter(t, at([soon]), at([soon, later]))).toBe(
    "Message waits. After this run.",
  );
  expect(announcementAfter(t, at([soon]), at([{ ...soon, text: "z" }]))).toBeNull();
  expect(announcementAfter(t, at([soon, later]), at([later]))).toBeNull();
  const used = [message("m0", []), message("w1", [text("x")], "user")];
  expect(announcementAfter(t, at([soon, later]), at([later], used))).toBe("Waiting message used.");
});

test("cards: pictures, tables and short text are open, long text and failures are closed", () => {
  const lines = (count: number): string => Array(count).fill("x").join("\n");
  expect(openByDefault(tool({ state: "running" }))).toBe(true);
  expect(openByDefault(tool({ state: "done", output: [{ type: "html", html: "" }] }))).toBe(true);
  expect(openByDefault(tool({ state: "done", output: [{ type: "text", text: lines(3) }] }))).toBe(
    true,
  );
  expect(openByDefault(tool({ state: "done", output: [{ type: "text", text: lines(30) }] }))).toBe(
    false,
  );
  expect(openByDefault(tool({ state: "done", output: null }))).toBe(false);
  for (const state of ["error", "cancelled", "awaiting-confirmation"] as const) {
    expect(openByDefault(tool({ state }))).toBe(false);
  }
});

test("a call in one line is its first line of code or its arguments", () => {
  expect(callInOneLine(tool({ code: { text: "\nimport os\nx", language: "python" } }))).toBe(
    "import os",
  );
  expect(callInOneLine(tool({ input: { name: "df", rows: 5 } }))).toBe('name="df", rows=5');
  expect(callInOneLine(tool({ input: null }))).toBe("");
  expect(callInOneLine(tool({ input: [1] }))).toBe("[1]");
});

test("long text folds by lines and by length", () => {
  expect(folded("a\nb")).toBeNull();
  expect(folded(Array(50).fill("x").join("\n"))).toMatchObject({ lines: 50 });
  expect(folded("x".repeat(100_000))!.head.length).toBeLessThan(10_000);
});

test("a card says how its call took a Stop, and its message where that says more", () => {
  const stops = ["asked", "running_on", "finished", "stopped", "unknown", null] as const;
  expect(stops.map((stop) => callStateInWords(t, tool({ state: "cancelled", stop })))).toEqual([
    "Stop asked",
    "Stop asked; still running in its thread",
    "Finished anyway, after the Stop",
    "Stopped",
    "Stop asked; outcome unknown",
    "Cancelled",
  ]);
  const later = "of a later version" as "stopped";
  expect(callStateInWords(t, tool({ state: "cancelled", stop: later }))).toBe("Cancelled");
  expect(callStateInWords(t, tool({ state: "cancelled", refusal: "denied" }))).toBe("Denied");
  expect(callStateInWords(t, tool({ state: "error", refusal: "blocked" }))).toBe("Blocked");
  const error = { code: "cancelled", message: "It finished anyway. Its output:" };
  const output = [{ type: "text" as const, text: "done" }];
  expect(untold(tool({ error, output, stop: "finished" }))).toBe("");
  expect(untold(tool({ error, stop: "running_on" }))).toBe(error.message);
  expect(untold(tool({ error, output }))).toBe(error.message);
});

test("words for numbers, codes and states", () => {
  expect([40, 400, 12_000, 185_000].map((ms) => durationInWords(t, ms))).toEqual([
    "40 ms",
    "0.4 s",
    "12 s",
    "3 min 05 s",
  ]);
  const codes = ["chat_disabled", "rate_limited", "bad_request", "network", "unknown"];
  expect(new Set(codes.map((code) => errorInWords(t, code))).size).toBe(5);
  expect(refusalInWords(t, "QUESTION_CLOSED", "")).toMatch(/no longer open/);
  expect(storageInWords(t, { ...view().storage, is_durable: true, label: "chats.db" })).toBe(
    "Kept in chats.db",
  );
  expect(storageInWords(t, view().storage)).toBe("Kept in memory only until the kernel ends");
  expect(refusalInWords(t, "SOMETHING_NEW", "as the kernel says")).toBe("as the kernel says");
  const later = { ...STREAMING, phase: "of a later version" as "streaming" };
  expect(statusInWords(t, view([], later))).toBe("Answering");
  const failed = { status: "error", phase: "failed" } as const;
  expect(statusInWords(t, view([], failed))).toBe("Failed");
  expect(statusInWords(t, view([], { phase: "of a later version" as "idle" }))).toBe("Ready");
  expect(lastLine("\x1b[31mTraceback\x1b[0m\n  ...\nKeyError: 'a'\n")).toBe("KeyError: 'a'");
});
