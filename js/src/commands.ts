// Requests to the kernel: each has an id, one reply, and a deadline after which the view says it waits.

import type { ReplyMessage } from "./protocol";

export const REPLY_DEADLINE_MS = 3000;

/** How a request ended: the kernel's reply, or a reason of our own when none can come. */
export type Outcome =
  | { ok: true; message_id?: string }
  | { ok: false; code: string; message: string };

interface Open {
  settle: (outcome: Outcome) => void;
  timer: ReturnType<typeof setTimeout>;
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

  /** Resolves with the reply to `message`; `onSlow` is called once when none came in time. */
  request(message: Record<string, unknown>, onSlow?: () => void): Promise<Outcome> {
    const request_id = freshRequestId();
    return new Promise((resolve) => {
      const timer = setTimeout(() => onSlow?.(), REPLY_DEADLINE_MS);
      this.#open.set(request_id, { settle: resolve, timer });
      try {
        this.#post({ ...message, request_id });
      } catch {
        this.#close(request_id, {
          ok: false,
          code: "DISCONNECTED",
          message: "The kernel of this chat cannot be reached.",
        });
      }
    });
  }

  /** Settles the request this reply belongs to; a second reply to it changes nothing. */
  settle(reply: ReplyMessage): void {
    this.#close(
      reply.request_id,
      reply.ok
        ? { ok: true, ...(reply.message_id === undefined ? {} : { message_id: reply.message_id }) }
        : { ok: false, code: reply.code, message: reply.message },
    );
  }

  /** Settles the request that another kind of message answered. */
  answered(request_id: string): void {
    this.#close(request_id, { ok: true });
  }

  /** Ends all open requests, for instance because the kernel is gone. */
  failAll(code: string, message: string): void {
    for (const id of [...this.#open.keys()]) this.#close(id, { ok: false, code, message });
  }

  dispose(): void {
    for (const { timer } of this.#open.values()) clearTimeout(timer);
    this.#open.clear();
  }

  #close(request_id: string, outcome: Outcome): void {
    const open = this.#open.get(request_id);
    if (!open) return;
    clearTimeout(open.timer);
    this.#open.delete(request_id);
    open.settle(outcome);
  }
}
