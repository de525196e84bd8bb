// What became of a message that was sent: the same law as agent_widget/view/delivery.py, held by the
// vectors of delivery.client in tests/vectors/vectors.json. The draft stays until a receipt for exactly
// that request came; nothing is ever sent again by itself.

import { isRecord } from "./protocol";

/** Whether a prompt has the message yet, and where it stands; only messages sent into a run have one. */
export interface InputMark {
  readonly state: "pending" | "applied";
  readonly after_message_id?: string;
}

export interface Row {
  readonly message_id: string;
  readonly text: string;
  readonly attachments: readonly string[];
  readonly input?: InputMark;
}

export interface Draft {
  readonly text: string;
  readonly attachments: readonly string[];
}

/** What a page knows of the history and of the one message on its way. */
export interface Client {
  readonly rows: readonly Row[];
  readonly draft: Draft;
  /** The draft as it was when it was sent; there until it is confirmed. */
  readonly sent: { readonly request_id: string; readonly draft: Draft } | null;
  readonly delivery: "none" | "waiting" | "confirmed" | "rejected" | "unconfirmed";
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Marks of rows that have not come yet, oldest first. */
  readonly early: ReadonlyMap<string, InputMark>;
}

/** Marks kept for rows that have not come; beyond it the oldest goes, and a refresh brings it. */
export const MOST_EARLY = 200;

export const newClient: Client = {
  rows: [],
  draft: { text: "", attachments: [] },
  sent: null,
  delivery: "none",
  error: null,
  early: new Map(),
};

/** The client once its draft was sent: it waits, and the draft stays where it is. */
export const withSent = (client: Client, request_id: string): Client => ({
  ...client,
  sent: { request_id, draft: client.draft },
  delivery: "waiting",
  error: null,
});

/** The client once `event` came; the same object when it is unknown, malformed or changes nothing. */
export const withEvent = (client: Client, event: unknown): Client =>
  settled(withRows(client, event), event);

/** The client once `event` told of the message on its way; the rows are left as they are. */
export function settled(client: Client, event: unknown): Client {
  if (!isRecord(event) || client.sent === null) return client;
  if (event.request_id !== client.sent.request_id) return client;
  switch (event.type) {
    case "received":
      return readRow(event) === null ? client : confirmed(client);
    case "error": {
      const error = { code: textOf(event.code), message: textOf(event.message) };
      return { ...client, delivery: "rejected", error };
    }
    case "timeout":
      return client.delivery === "waiting" ? { ...client, delivery: "unconfirmed" } : client;
    default:
      return client;
  }
}

/** The client once `event` told of rows and of their marks. */
function withRows(client: Client, event: unknown): Client {
  if (!isRecord(event)) return client;
  switch (event.type) {
    case "received": {
      const row = readRow(event);
      return row === null ? client : withRow(client, row);
    }
    case "update":
      return updated(client, event.message_id, readMark(event.input));
    case "refresh":
      return Array.isArray(event.messages) ? refreshed(client, event.messages) : client;
    default:
      return client;
  }
}

/** The mark of a row once news of it came, in whatever order: applied is final, pending is late. */
export function mergedMark(
  known: InputMark | undefined,
  news: InputMark | undefined,
): InputMark | undefined {
  if (known === undefined || news === undefined) return news ?? known;
  if (known.state === "applied" && news.state === "pending") return known;
  const after = news.after_message_id || known.after_message_id;
  if (news.state === known.state && after === known.after_message_id) return known;
  return after === undefined
    ? { state: news.state }
    : { state: news.state, after_message_id: after };
}

function updated(client: Client, id: unknown, mark: InputMark | undefined): Client {
  if (mark === undefined || typeof id !== "string" || id === "") return client;
  const at = client.rows.findLastIndex((row) => row.message_id === id);
  if (at >= 0) return withMark(client, at, mark);
  const known = client.early.get(id);
  const merged = mergedMark(known, mark);
  if (merged === undefined || merged === known) return client;
  const early = new Map(client.early).set(id, merged);
  if (early.size > MOST_EARLY) early.delete(early.keys().next().value!);
  return { ...client, early };
}

/** What is stored decides which rows there are; only applied outlasts an older reading. */
function refreshed(client: Client, messages: readonly unknown[]): Client {
  const known = new Map(client.rows.map((row) => [row.message_id, row.input]));
  for (const [id, mark] of client.early) known.set(id, mark);
  const early = new Map(client.early);
  const rows = new Map<string, Row>();
  for (const message of messages) {
    const row = readRow(message);
    if (row === null) continue;
    rows.set(row.message_id, marked(row, mergedMark(known.get(row.message_id), row.input)));
    early.delete(row.message_id);
  }
  return { ...client, rows: [...rows.values()], early };
}

/** The client without what was sent; what was typed or attached since then stays. */
function confirmed(client: Client): Client {
  const sent = client.sent!.draft;
  const { text, attachments } = client.draft;
  const draft = {
    text: text.startsWith(sent.text) ? text.slice(sent.text.length) : text,
    attachments: attachments.filter((each) => !sent.attachments.includes(each)),
  };
  return { ...client, draft, sent: null, delivery: "confirmed", error: null };
}

function withRow(client: Client, row: Row): Client {
  const at = client.rows.findLastIndex((known) => known.message_id === row.message_id);
  if (at >= 0) return withMark(client, at, row.input);
  const mark = client.early.get(row.message_id);
  if (mark === undefined) return { ...client, rows: [...client.rows, row] };
  const early = new Map(client.early);
  early.delete(row.message_id);
  return { ...client, rows: [...client.rows, marked(row, mergedMark(mark, row.input))], early };
}

function withMark(client: Client, at: number, mark: InputMark | undefined): Client {
  const row = client.rows[at]!;
  const next = marked(row, mergedMark(row.input, mark));
  return next === row ? client : { ...client, rows: client.rows.with(at, next) };
}

const marked = (row: Row, input: InputMark | undefined): Row =>
  input === undefined || input === row.input ? row : { ...row, input };

/** The row of a receipt or of a full answer; null without the kernel's id or a text. */
function readRow(value: unknown): Row | null {
  if (!isRecord(value)) return null;
  const { message_id, text, attachments } = value;
  if (typeof message_id !== "string" || message_id === "" || typeof text !== "string") return null;
  const listed: unknown[] = Array.isArray(attachments) ? attachments : [];
  const given = listed.filter((each): each is string => typeof each === "string");
  return marked({ message_id, text, attachments: given }, readMark(value.input));
}

function readMark(value: unknown): InputMark | undefined {
  if (!isRecord(value)) return undefined;
  const { state, after_message_id: after } = value;
  if (state !== "pending" && state !== "applied") return undefined;
  if (after === undefined || after === null) return { state };
  return typeof after === "string" ? { state, after_message_id: after } : undefined;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
