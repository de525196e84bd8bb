// One model's transport: messages in, commands out, and what is known of the connection.

import { Commands, freshRequestId, type Outcome, REPLY_DEADLINE_MS, type Waits } from "./commands";
import { type ConnectionState, HostKernel } from "./connection";
import { type CommandName, parsedMessage, type SessionView } from "./protocol";
import { Store, type StoreStats } from "./store";
import { type Words, wordsOf } from "./words";

/** The part of anywidget's model that is used here. */
export interface Model {
  get(name: string): unknown;
  send(content: unknown): void;
  on(name: string, callback: (...args: never[]) => void): void;
  off(name: string, callback: (...args: never[]) => void): void;
  widget_manager?: unknown;
}

export interface SessionExports {
  state(): {
    view: SessionView | null;
    epoch: string | number | null;
    seq: number;
    connection: ConnectionState;
  };
  stats(): StoreStats & { frames: number };
}

/** Waits between the tries of an unanswered `hello`; after the last one the kernel counts as gone. */
const HELLO_WAITS_MS = [REPLY_DEADLINE_MS, 4000, 8000];

export class Session {
  readonly store: Store;
  readonly commands: Commands;
  words: Words;
  connection: ConnectionState = "connecting";
  readonly stats = { frames: 0 };
  #model: Model;
  #kernel: HostKernel;
  #listeners = new Set<() => void>();
  #views = new Set<string>();
  #everLive = false;
  #helloTry = -1;
  #helloTimer: ReturnType<typeof setTimeout> | undefined;
  #historyRequest: string | null = null;

  constructor(model: Model, signal?: AbortSignal) {
    this.#model = model;
    this.words = wordsOf(model.get("words"));
    this.store = new Store(() => this.#greet());
    this.store.subscribe(() => this.#notify());
    this.commands = new Commands((message) => model.send(message));
    this.#kernel = new HostKernel(model.widget_manager, {
      gone: () => this.#lose(),
      linkLost: () =>
        this.#setConnection(this.connection === "live" ? "reconnecting" : this.connection),
      linkBack: () => this.connection !== "live" && this.#greet(),
      busyChanged: () => this.#notify(),
    });
    model.on("msg:custom", this.#onMessage);
    model.on("change:snapshot", this.#onTrait);
    model.on("change:words", this.#onWords);
    model.on("comm_live_update", this.#onCommLive);
    this.store.adoptTrait(model.get("snapshot"));
    signal?.addEventListener("abort", () => this.dispose(), { once: true });
  }

  /** What other widgets and tests may read of this one. */
  get exports(): SessionExports {
    const { store, stats } = this;
    return {
      state: () => ({
        view: store.view,
        epoch: store.epoch,
        seq: store.seq,
        connection: this.connection,
      }),
      stats: () => ({ ...store.stats, ...stats }),
    };
  }

  get kernelBusy(): boolean {
    return this.#kernel.busy;
  }

  /** Calls `listener` after each change of the store or the connection, until the result is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Greets the kernel for a new view; the returned function says goodbye. */
  openView(): () => void {
    const view = freshRequestId();
    this.#views.add(view);
    if (this.#helloTry < 0) this.#greet(view);
    else this.#post(this.#greeting(view));
    return () => {
      this.#views.delete(view);
      this.#post({ kind: "bye", request_id: freshRequestId(), view });
    };
  }

  /** Told by a view whose host marks it as cut off from its kernel. */
  reportDead(): void {
    this.#lose();
  }

  /** Sends one command. A refusal UNANSWERED means that nobody knows what became of it. */
  command(name: CommandName, fields: object = {}, waits?: Waits): Promise<Outcome> {
    return this.commands.request({ kind: "command", name, ...fields }, waits).then((outcome) => {
      if (!outcome.ok && outcome.code === "DISCONNECTED") this.#lose();
      return outcome;
    });
  }

  /** Asks for the messages before the loaded ones; resolves when they came or cannot come. */
  async loadHistory(): Promise<boolean> {
    const before = this.store.view?.messages.first ?? 0;
    if (before === 0 || this.#historyRequest !== null) return false;
    this.#historyRequest = "open";
    const deadline = new Promise<false>((resolve) =>
      setTimeout(resolve, 2 * REPLY_DEADLINE_MS, false),
    );
    const came = this.commands.request({ kind: "history", before }).then((outcome) => outcome.ok);
    const loaded = await Promise.race([came, deadline]);
    this.#historyRequest = null;
    return loaded;
  }

  dispose(): void {
    clearTimeout(this.#helloTimer);
    this.commands.dispose();
    this.#kernel.dispose();
    this.#model.off("msg:custom", this.#onMessage);
    this.#model.off("change:snapshot", this.#onTrait);
    this.#model.off("change:words", this.#onWords);
    this.#model.off("comm_live_update", this.#onCommLive);
    this.#listeners.clear();
  }

  #onMessage = (raw: unknown): void => {
    const message = parsedMessage(raw);
    if (message === null) return;
    this.#live();
    switch (message.kind) {
      case "snapshot":
        this.#greeted();
        this.store.adoptAnswer(message);
        break;
      case "patch":
        this.store.applyPatch(message);
        break;
      case "reply":
        this.commands.settle(message);
        break;
      case "history":
        this.store.prepend(message);
        this.commands.answered(message.request_id);
        break;
    }
  };

  #onTrait = (): void => this.store.adoptTrait(this.#model.get("snapshot"));

  #onWords = (): void => {
    this.words = wordsOf(this.#model.get("words"));
    this.#notify();
  };

  // The event does not say which way it went: ask, and let the silence tell.
  #onCommLive = (): void => {
    if (this.#views.size > 0) this.#greet();
  };

  #post(message: Record<string, unknown>): boolean {
    try {
      this.#model.send(message);
      return true;
    } catch {
      return false;
    }
  }

  #greeting(view: string): Record<string, unknown> {
    const { epoch, seq } = this.store;
    // The host's own language; one that says none has that of the browser.
    const languages = [globalThis.document?.documentElement.lang || navigator.language];
    return { kind: "hello", request_id: freshRequestId(), view, epoch, last_seq: seq, languages };
  }

  /** Asks for a snapshot, once until it is answered; without a view nobody needs one. */
  #greet(view = this.#views.values().next().value): void {
    if (this.#helloTry >= 0 || view === undefined) return;
    this.#helloTry = 0;
    this.#hello(view);
  }

  #hello(view: string): void {
    if (!this.#post(this.#greeting(view))) {
      this.#lose();
      return;
    }
    this.#helloTimer = setTimeout(() => this.#unanswered(), HELLO_WAITS_MS[this.#helloTry]);
  }

  #unanswered(): void {
    const [view] = this.#views;
    const tries = HELLO_WAITS_MS.length;
    // A busy kernel may be blocked by the cell it runs: keep asking at the longest pace.
    this.#helloTry = this.#kernel.busy
      ? Math.min(this.#helloTry + 1, tries - 1)
      : this.#helloTry + 1;
    if (view === undefined) {
      this.#greeted();
    } else if (this.#helloTry >= tries) {
      this.#lose();
    } else {
      this.#setConnection("waiting");
      this.#hello(view);
    }
  }

  #greeted(): void {
    clearTimeout(this.#helloTimer);
    this.#helloTry = -1;
  }

  #live(): void {
    this.#everLive = true;
    // Whatever came, the kernel is there: an unanswered greeting starts to count anew.
    if (this.#helloTry > 0) this.#helloTry = 0;
    this.#setConnection("live");
  }

  #lose(): void {
    this.#greeted();
    this.commands.failAll("UNANSWERED");
    this.#setConnection(this.#everLive || this.store.view === null ? "disconnected" : "saved");
  }

  #setConnection(state: ConnectionState): void {
    if (state === this.connection) return;
    this.connection = state;
    this.#notify();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
