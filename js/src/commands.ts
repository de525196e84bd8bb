// Requests to the kernel: each has an id, one reply, and deadlines after which the view says it waits.

import type { ReplyMessage } from "./protocol";

export const REPLY_DEADLINE_MS = 3000;
/** Without a receipt by then, it is not known whether what was sent arrived. */
export const RECEIPT_DEADLINE_MS = 10_000;

/** How a request ended: the kernel's reply, or a reason of our own when none can come. */
export type Outcome = Taken | { ok: false; code: string; message: string };

/** A failure of our own; the words for its code are in words.ts. */
const failed = (code: string): Outcome => ({ ok: false, code, message: "" });

interface Taken {
  ok: true;
  message_id?: string;
  /** The text of a waiting message that was taken back. */
  text?: string;
  /** Its pictures. */
  images?: string[];
  /** The models of the server. */
  models?: string[];
}

/** What is called, once each, when no reply came in time. */
export interface Waits {
  slow?: () => void;
  overdue?: () => void;
}

type Timer = ReturnType<typeof setTimeout>;

interface Open {
  settle: (outcome: Outcome) => void;
  timers: Timer[];
}

/** A fresh random string; works on pages without a secure context too. */
export function freshRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Sends requests and matches replies; nothing stays open after `dispose` or `failAll`. */
export class Commands {
  #post: (message: Record<string, unknown>) => void;
  #open = new Map<string, Open>();

  /** `post` hands one message to the kernel and throws when that cannot be done. */
  constructor(post: (message: Record<string, unknown>) => void) {
    this.#post = post;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** Resolves with the reply to `message`, which gets a fresh id unless it has one. */
  request(message: Record<string, unknown>, waits: Waits = {}): Promise<Outcome> {
    const request_id = (message.request_id as string | undefined) ?? freshRequestId();
    return new Promise((resolve) => {
      const timers: Timer[] = [];
      if (waits.slow) timers.push(setTimeout(waits.slow, REPLY_DEADLINE_MS));
      if (waits.overdue) timers.push(setTimeout(waits.overdue, RECEIPT_DEADLINE_MS));
      this.#open.set(request_id, { settle: resolve, timers });
      try {
        this.#post({ ...message, request_id });
      } catch {
        this.#close(request_id, failed("DISCONNECTED"));
      }
    });
  }

  /** Settles the request this reply belongs to; a second reply to it changes nothing. */
  settle(reply: ReplyMessage): void {
    const { kind: _kind, request_id, ...outcome } = reply;
    this.#close(request_id, outcome);
  }

  /** Settles the request that another kind of message answered. */
  answered(request_id: string): void {
    this.#close(request_id, { ok: true });
  }

  /** Ends all open requests, for instance because the kernel is gone. */
  failAll(code: string): void {
    for (const id of [...this.#open.keys()]) this.#close(id, failed(code));
  }

  dispose(): void {
    for (const { timers } of this.#open.values()) timers.forEach(clearTimeout);
    this.#open.clear();
  }

  #close(request_id: string, outcome: Outcome): void {
    const open = this.#open.get(request_id);
    if (!open) return;
    open.timers.forEach(clearTimeout);
    this.#open.delete(request_id);
    open.settle(outcome);
  }
}
