// A model as anywidget hands it over, driven by the test; and views for it.

import en from "../../../agent_widget/view/locale/en.json";
import type { Message, Part, SessionView, ToolPart } from "../../src/protocol";
import type { Model } from "../../src/session";
import { wordsOf } from "../../src/words";

export const ENGLISH = { locale: "en", direction: en.direction, words: en.page };
export const t = wordsOf(ENGLISH);

type Listener = (...args: never[]) => void;

/** Records what is sent; `deliver` is the kernel speaking. */
export class TestModel implements Model {
  sent: Record<string, unknown>[] = [];
  snapshot: unknown = {};
  words: unknown = ENGLISH;
  /** Set to make every send throw, as a closed comm does. */
  broken = false;
  widget_manager: unknown;
  #listeners = new Map<string, Set<Listener>>();

  get(name: string): unknown {
    return { snapshot: this.snapshot, words: this.words }[name];
  }
  send(content: unknown): void {
    if (this.broken) throw new Error("Cannot send");
    this.sent.push(content as Record<string, unknown>);
  }
  on(name: string, callback: Listener): void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(callback));
  }
  off(name: string, callback: Listener): void {
    this.#listeners.get(name)?.delete(callback);
  }
  emit(name: string, ...args: unknown[]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) listener(...(args as never[]));
  }
  deliver(message: object): void {
    this.emit("msg:custom", message);
  }
  get listenerCount(): number {
    return [...this.#listeners.values()].reduce((sum, set) => sum + set.size, 0);
  }
  commands(name?: string): Record<string, unknown>[] {
    return this.sent.filter((m) => m.kind === "command" && (name === undefined || m.name === name));
  }
  /** Answers the newest command. */
  reply(fields: object = { ok: true }): void {
    const { request_id } = this.commands().at(-1)!;
    this.deliver({ kind: "reply", request_id, ...fields });
  }
  snapshotMessage(view: SessionView, seq = 0, epoch = "e1"): object {
    return { kind: "snapshot", protocol: 1, epoch, seq, view };
  }
}

export const text = (value: string): Part => ({ type: "text", text: value });

export const tool = (fields: Partial<ToolPart> = {}): ToolPart => ({
  type: "tool",
  tid: "t1",
  name: "run_python",
  input: {},
  state: "running",
  code: null,
  prompt: null,
  progress: null,
  live: null,
  output: null,
  error: null,
  duration_ms: null,
  is_edited: false,
  stop: null,
  refusal: null,
  agent: null,
  ...fields,
});

export const message = (
  mid: string,
  parts: Part[],
  role: Message["role"] = "assistant",
): Message => ({
  mid,
  role,
  parts,
  mark: null,
  is_steering: false,
  branch: null,
  note: null,
});

/** A model without a choice beside it. */
export const modelNamed = (label: string, offline = false, notice: string | null = null) => ({
  label,
  offline,
  notice,
  alias: label,
  choices: [label],
  thinking_levels: [] as string[],
  thinking: null as string | null,
  retry: null,
});

export const view = (items: Message[] = [], fields: Partial<SessionView> = {}): SessionView => ({
  session_id: "s1",
  status: "idle",
  phase: "idle",
  interaction: { can_send: true, revision: 0 },
  can_stop: false,
  can_retry: false,
  model: modelNamed("offline", true),
  permission: { mode: "default", warning: null },
  question: null,
  queue: [],
  waiting: [],
  input_policy: { while_running: "block", override: null },
  storage: { label: "memory", is_durable: false, trouble: null, read_only: null },
  name: null,
  todos: [],
  error: null,
  notices: [],
  usage: null,
  messages: { first: 0, items },
  ...fields,
});

export const STREAMING: Partial<SessionView> = {
  status: "streaming",
  phase: "streaming",
  interaction: { can_send: false, revision: 1 },
  can_stop: true,
};
