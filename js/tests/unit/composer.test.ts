import { expect, test } from "vitest";
import type { Outcome } from "../../src/commands";
import {
  type ComposerState,
  composed,
  composerWith,
  isUnconfirmed,
  newsOf,
} from "../../src/composer";

const typed = (state: ComposerState, text: string): ComposerState =>
  composed(state, { type: "typed", text });
const sent = (state: ComposerState, request_id: string): ComposerState =>
  composed(state, { type: "sent", request_id });
const ended = (state: ComposerState, request_id: string, outcome: Outcome): ComposerState =>
  composed(state, { type: "news", news: newsOf(request_id, "hello", outcome) });
const overdue = (state: ComposerState, request_id: string): ComposerState =>
  composed(state, { type: "news", news: { type: "timeout", request_id } });
const receipt: Outcome = { ok: true, message_id: "m1" };
const draft = ({ client }: ComposerState): string => client.draft.text;

const waiting = sent(composerWith("hello"), "r1");

test("only the receipt takes the draft away, and only what was sent of it", () => {
  expect([draft(waiting), waiting.client.delivery]).toEqual(["hello", "waiting"]);
  expect(draft(ended(waiting, "r1", receipt))).toBe("");
  expect(draft(ended(typed(waiting, "hello\nand more"), "r1", receipt))).toBe("\nand more");
  expect(draft(ended(typed(waiting, "something else"), "r1", receipt))).toBe("something else");
  expect(draft(ended(waiting, "of another view", receipt))).toBe("hello");
});

test("a receipt without the kernel's id confirms nothing", () => {
  expect(ended(waiting, "r1", { ok: true }).client.delivery).toBe("waiting");
});

test("a refusal keeps the draft and is forgotten with the next key", () => {
  const refused = ended(waiting, "r1", { ok: false, code: "INPUT_BLOCKED", message: "busy" });
  expect(draft(refused)).toBe("hello");
  expect(refused.client.error).toEqual({ code: "INPUT_BLOCKED", message: "busy" });
  const next = typed(refused, "hello!");
  expect([next.client.delivery, next.client.error, next.client.sent]).toEqual(["none", null, null]);
});

test("a kernel that goes before it answers is no refusal", () => {
  const gone: Outcome = { ok: false, code: "UNANSWERED", message: "" };
  expect(newsOf("r1", "hello", gone)).toBeNull();
  expect(isUnconfirmed(overdue(ended(waiting, "r1", gone), "r1").client)).toBe(true);
});

test("what is not confirmed may be sent again, and a late receipt still clears it", () => {
  const unconfirmed = overdue(waiting, "r1");
  expect([draft(unconfirmed), isUnconfirmed(unconfirmed.client)]).toEqual(["hello", true]);
  expect(isUnconfirmed(typed(unconfirmed, "another").client)).toBe(false);
  const late = ended(unconfirmed, "r1", receipt);
  expect([draft(late), late.client.delivery]).toEqual(["", "confirmed"]);
  const again = sent(unconfirmed, "r2");
  expect([again.client.delivery, draft(ended(again, "r2", receipt))]).toEqual(["waiting", ""]);
});

test("what may have arrived with a picture is another message without it", () => {
  const added = composed(composerWith(""), { type: "attached", attachments: ["a", "b"] });
  const unconfirmed = overdue(sent(added, "r1"), "r1");
  expect(isUnconfirmed(unconfirmed.client)).toBe(true);
  const without = composed(unconfirmed, { type: "detached", attachment: "a" });
  expect(isUnconfirmed(without.client)).toBe(false);
  expect(without.client.draft.attachments).toEqual(["b"]);
});

test("slow is said of what is being sent, not of what came before", () => {
  expect(composed(waiting, { type: "slow", request_id: "r0" }).slow).toBe(false);
  const slow = composed(waiting, { type: "slow", request_id: "r1" });
  expect(slow.slow).toBe(true);
  expect(sent(slow, "r2").slow).toBe(false);
});

test("a returned text goes into an empty field, into another only when it would be lost", () => {
  const back = (state: ComposerState, always: boolean): string =>
    draft(composed(state, { type: "returned", text: "back", always }));
  expect(back(composerWith(" "), false)).toBe("back");
  expect(back(composerWith("mine"), false)).toBe("mine");
  expect(back(composerWith("mine"), true)).toBe("mine\nback");
});
