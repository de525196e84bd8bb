// A text field whose text goes to the kernel: the draft, and what became of what was sent of it.

import type { Outcome } from "./commands";
import { type Client, type Draft, newClient, settled, withSent } from "./delivery";

export interface ComposerState {
  client: Client;
  /** The kernel takes longer than usual to confirm. */
  slow: boolean;
}

export type ComposerEvent =
  | { type: "typed"; text: string }
  | { type: "attached"; attachments: readonly string[] }
  | { type: "detached"; attachment: string }
  | { type: "sent"; request_id: string }
  | { type: "slow"; request_id: string }
  | { type: "news"; news: object | null }
  /** What has lost its place elsewhere; `always`: also when there is a draft already. */
  | { type: "returned"; text: string; always: boolean; attachments?: readonly string[] };

export const composerWith = (text: string): ComposerState => ({
  client: { ...newClient, draft: { text, attachments: [] } },
  slow: false,
});

/** The next state. The draft is taken away by nothing but the receipt for what was sent. */
export function composed(state: ComposerState, event: ComposerEvent): ComposerState {
  const { client } = state;
  switch (event.type) {
    case "typed":
      return { ...state, client: changed(client, { text: event.text }) };
    case "attached":
      return { ...state, client: changed(client, { attachments: together(client, event) }) };
    case "detached": {
      const { attachments } = client.draft;
      const left = attachments.filter((each) => each !== event.attachment);
      return { ...state, client: changed(client, { attachments: left }) };
    }
    case "sent":
      return { client: withSent(client, event.request_id), slow: false };
    case "slow":
      return { ...state, slow: client.sent?.request_id === event.request_id };
    case "news":
      return { ...state, client: settled(client, event.news) };
    case "returned": {
      const { text } = client.draft;
      const isBlank = text.trim() === "";
      if (!(isBlank || event.always)) return state;
      const whole = isBlank ? event.text : `${text}\n${event.text}`;
      const attachments = together(client, event);
      return { ...state, client: changed(client, { text: whole, attachments }) };
    }
  }
}

/** The attachments of the draft with more of them, each once. */
const together = ({ draft }: Client, event: { attachments?: readonly string[] }): string[] => [
  ...new Set([...draft.attachments, ...(event.attachments ?? [])]),
];

/** True when there is nothing in the draft that could be sent. */
export const isBlank = ({ text, attachments }: Draft): boolean =>
  text.trim() === "" && attachments.length === 0;

function changed(client: Client, change: Partial<Draft>): Client {
  const next = { ...client, draft: { ...client.draft, ...change } };
  return client.delivery === "rejected"
    ? { ...next, sent: null, delivery: "none", error: null }
    : next;
}

/** True while it is not known whether what now stands in the draft arrived. */
export const isUnconfirmed = ({ delivery, draft, sent }: Client): boolean =>
  delivery === "unconfirmed" &&
  sent !== null &&
  draft.text.startsWith(sent.draft.text) &&
  sent.draft.attachments.every((each) => draft.attachments.includes(each));

/** What the end of a request tells of the message `text` that went with it; null: nothing. */
export function newsOf(request_id: string, text: string, outcome: Outcome): object | null {
  if (outcome.ok) return { type: "received", request_id, text, message_id: outcome.message_id };
  const { code, message } = outcome;
  return code === "UNANSWERED" ? null : { type: "error", request_id, code, message };
}
