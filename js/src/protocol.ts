// The wire between kernel and browser, protocol version 1.

import {
  type HistoryMessage,
  type PatchMessage,
  PROTOCOL,
  type ReplyMessage,
  type SessionView,
  type Snapshot,
  type WaitingInput,
} from "./protocol.gen";

export * from "./protocol.gen";

export type Queue = WaitingInput["queue"];

export type Path = readonly (string | number)[];

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The message when it is one of this protocol, else null: what arrives is never trusted to be whole. */
export function parsedMessage(
  raw: unknown,
): (Snapshot & { kind: "snapshot" }) | PatchMessage | ReplyMessage | HistoryMessage | null {
  if (!isRecord(raw)) return null;
  switch (raw.kind) {
    case "snapshot":
      return isSnapshot(raw) ? (raw as unknown as Snapshot & { kind: "snapshot" }) : null;
    case "patch":
      return Number.isInteger(raw.seq) && Array.isArray(raw.ops)
        ? (raw as unknown as PatchMessage)
        : null;
    case "reply":
      return typeof raw.request_id === "string" ? (raw as unknown as ReplyMessage) : null;
    case "history":
      return Array.isArray(raw.items) && Number.isInteger(raw.first)
        ? (raw as unknown as HistoryMessage)
        : null;
    default:
      return null;
  }
}

/** True for a whole snapshot of a protocol this front end speaks. */
export function isSnapshot(raw: unknown): raw is Snapshot {
  if (!isRecord(raw) || raw.protocol !== PROTOCOL || !Number.isInteger(raw.seq)) return false;
  const view = raw.view;
  if (!isRecord(view) || !isRecord(view.messages)) return false;
  return Array.isArray(view.messages.items) && Number.isInteger(view.messages.first);
}

/** Whether the person may send now; a kernel without `interaction` is judged by its status. */
export const canSend = (view: SessionView): boolean =>
  view.storage.read_only === null &&
  (view.interaction ? view.interaction.can_send : view.status !== "streaming");

export const isReadOnly = (view: SessionView): boolean =>
  view.storage.read_only !== null || view.phase === "closed";

export const isAtRest = (view: SessionView): boolean =>
  view.status !== "streaming" && canSend(view);

const UNTOLD = {
  waiting: [],
  input_policy: { while_running: "block", override: null },
  storage: { label: "", is_durable: false, trouble: null, read_only: null },
  name: null,
} satisfies Partial<SessionView>;

/** The view with what an older kernel, or a transcript that one saved, does not tell. */
export const completed = (view: SessionView): SessionView => ({ ...UNTOLD, ...view });
