// A text field whose text goes to the kernel: the draft, and what became of what was sent of it.

import type { Outcome } from "./commands";
import { type Client, newClient, settled, withSent } from "./delivery";

export interface ComposerState {
  client: Client;
  /** The kernel takes longer than usual to confirm. */
  slow: boolean;
}

export type ComposerEvent =
  | { type: "typed"; text: string }
  | { type: "sent"; request_id: string }
  | { type: "slow"; request_id: string }
  | { type: "news"; news: object | null }
  /** A text that has lost its place elsewhere; `always`: also when there is a draft already. */
  | { type: "returned"; text: string; always: boolean };

export const composerWith = (text: string): ComposerState => ({
  client: { ...newClient, draft: { text, attachments: [] } },
  slow: false,
});

/** The next state. The draft is taken away by nothing but the receipt for what was sent. */
export function composed(state: ComposerState, event: ComposerEvent): ComposerState {
  const { client } = state;
  switch (event.type) {
    case "typed":
      return { ...state, client: typed(client, event.text) };
    case "sent":
      return { client: withSent(client, event.request_id), slow: false };
    case "slow":
      return { ...state, slow: client.sent?.request_id === event.request_id };
    case "news":
      return { ...state, client: settled(client, event.news) };
    case "returned": {
      const { text } = client.draft;
      if (text.trim() === "") return { ...state, client: typed(client, event.text) };
      return event.always ? { ...state, client: typed(client, `${text}\n${event.text}`) } : state;
    }
  }
}

function typed(client: Client, text: string): Client {
  const next = { ...client, draft: { ...client.draft, text } };
  return client.delivery === "rejected"
    ? { ...next, sent: null, delivery: "none", error: null }
    : next;
}

/** True while it is not known whether what now stands in the draft arrived. */
export const isUnconfirmed = ({ delivery, draft, sent }: Client): boolean =>
  delivery === "unconfirmed" && sent !== null && draft.text.startsWith(sent.draft.text);

/** What the end of a request tells of the message `text` that went with it; null: nothing. */
export function newsOf(request_id: string, text: string, outcome: Outcome): object | null {
  if (outcome.ok) return { type: "received", request_id, text, message_id: outcome.message_id };
  const { code, message } = outcome;
  return code === "UNANSWERED" ? null : { type: "error", request_id, code, message };
}
