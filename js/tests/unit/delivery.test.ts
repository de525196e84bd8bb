import { expect, test } from "vitest";
import file from "../../../tests/vectors/vectors.json";
import { type Client, MOST_EARLY, newClient, withEvent, withSent } from "../../src/delivery";
import { mergedInteraction, readInteraction } from "../../src/interaction";

interface Vector<Given, When, Then> {
  id: string;
  suite: string;
  given: Given;
  when: When;
  then: Then;
}
interface Composer {
  text: string;
  attachments: string[];
  request_id: string | null;
}
type Merge = Vector<
  { cached: unknown },
  { message: "rest_full" | "ws_partial"; body: Record<string, unknown> },
  { cached: unknown }
>;
type Delivery = Vector<
  { messages: unknown[]; composer: Composer },
  { events: unknown[] },
  Record<string, unknown>
>;

const frozen = <T>(value: T): T => {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(frozen);
    Object.freeze(value);
  }
  return value;
};
const suite = <T>(name: string): T[] =>
  frozen(file.vectors.filter((vector) => vector.suite === name)) as unknown as T[];

const merges = suite<Merge>("interaction.merge");
const deliveries = suite<Delivery>("delivery.client");

test("the vectors are there", () => {
  expect(merges.length).toBeGreaterThanOrEqual(19);
  expect(deliveries.length).toBeGreaterThanOrEqual(16);
});

test.each(merges)("$id", ({ given, when, then }) => {
  const cached = given.cached === null ? null : readInteraction(given.cached);
  const full = when.message === "rest_full";
  expect(mergedInteraction(cached, when.body, full)).toEqual(then.cached);
});

test.each(deliveries)("$id", ({ given, when, then }) => {
  const { text, attachments, request_id } = given.composer;
  const { rows } = withEvent(newClient, { type: "refresh", messages: given.messages });
  let client: Client = { ...newClient, rows, draft: { text, attachments } };
  if (request_id !== null) client = withSent(client, request_id);
  for (const event of when.events) client = withEvent(frozen(client), event);
  expect({
    messages: client.rows.map(({ attachments: _, ...row }) => row),
    composer: { ...client.draft, request_id: client.sent?.request_id ?? null },
    delivery: client.delivery,
    ...(client.error && { error: client.error }),
  }).toEqual(then);
});

test("an explicit false is kept, and a full answer without interaction forgets it", () => {
  const news = { interaction: { can_send: false, revision: 4 } };
  const cached = mergedInteraction({ can_send: true, revision: 3 }, news, false);
  expect(cached).toEqual({ can_send: false, revision: 4 });
  expect(mergedInteraction(cached, { status: "idle" }, false)).toBe(cached);
  expect(mergedInteraction(cached, { status: "idle" }, true)).toBeNull();
});

const receipt = (fields: object = {}): object => ({
  type: "received",
  message_id: "m1",
  text: "hello",
  request_id: "r1",
  ...fields,
});
const patch = { type: "update", message_id: "m1", input: { state: "applied" } };
const waiting = withSent({ ...newClient, draft: { text: "hello", attachments: ["f1"] } }, "r1");

test("what was typed and attached after sending outlives the receipt", () => {
  const typed = { ...waiting, draft: { text: "hello, and more", attachments: ["f1", "f2"] } };
  expect(withEvent(typed, receipt()).draft).toEqual({ text: ", and more", attachments: ["f2"] });
  const other = { ...waiting, draft: { text: "something else", attachments: [] } };
  expect(withEvent(other, receipt()).draft.text).toBe("something else");
});

test("a receipt that comes after the deadline still confirms", () => {
  const late = withEvent(waiting, { type: "timeout", request_id: "r1" });
  expect(late.delivery).toBe("unconfirmed");
  expect(withEvent(late, receipt())).toMatchObject({ delivery: "confirmed", sent: null });
});

test("a patch before its row makes no row, and applied outlasts a late receipt and refresh", () => {
  const early = withEvent(waiting, patch);
  expect(early.rows).toEqual([]);
  const stale = { message_id: "m1", text: "hello", input: { state: "pending" } };
  const shown = withEvent(early, { type: "refresh", messages: [stale] });
  expect(shown.rows[0]!.input).toEqual({ state: "applied" });
  expect(shown.early.size).toBe(0);
  expect(withEvent(shown, receipt({ request_id: "r9", input: stale.input }))).toBe(shown);
});

test("patches without rows are bounded", () => {
  let client = newClient;
  for (let n = 0; n < MOST_EARLY + 5; n++)
    client = withEvent(client, { ...patch, message_id: `${n}` });
  expect([...client.early.keys()].slice(0, 2)).toEqual(["5", "6"]);
  expect(client.early.size).toBe(MOST_EARLY);
});

test.each([
  null,
  "received",
  [],
  { type: "session.update", status: "running" },
  receipt({ message_id: "" }),
  receipt({ text: 1 }),
  { ...patch, message_id: 7 },
  { ...patch, input: { state: "applied", after_message_id: 7 } },
  { type: "refresh", messages: {} },
  { type: "timeout", request_id: null },
])("what is malformed or unknown changes nothing: %j", (event) => {
  expect(withEvent(waiting, event)).toBe(waiting);
});
