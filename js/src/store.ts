// The one store of a model: every view of it reads the same state.

import { mergedInteraction } from "./interaction";
import { patched } from "./patch";
import {
  completed,
  type HistoryMessage,
  isSnapshot,
  type MessageWindow,
  type PatchMessage,
  type SessionView,
  type Snapshot,
} from "./protocol";

export interface StoreStats {
  patches: number;
  ignored: number;
  gaps: number;
  snapshots: number;
}

/** Holds the newest view and its place in the stream (`epoch`, `seq`); asks for a snapshot on a gap. */
export class Store {
  view: SessionView | null = null;
  epoch: string | number | null = null;
  seq = -1;
  readonly stats: StoreStats = { patches: 0, ignored: 0, gaps: 0, snapshots: 0 };
  #listeners = new Set<() => void>();
  #inSync = true;
  #onGap: () => void;

  constructor(onGap: () => void) {
    this.#onGap = onGap;
  }

  /** Calls `listener` after each change until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes the bounded snapshot of the trait when it is newer than what is held. */
  adoptTrait(raw: unknown): void {
    if (!isSnapshot(raw)) return;
    if (raw.epoch === this.epoch && raw.seq <= this.seq) return;
    const lostPatches = raw.epoch === this.epoch;
    this.#adopt(raw, lostPatches);
    if (lostPatches) this.#gap();
  }

  /** Takes the answer to `hello`, unless it is older than what is held. */
  adoptAnswer(snapshot: Snapshot): void {
    if (snapshot.epoch === this.epoch && snapshot.seq < this.seq) return;
    const inSync = this.#inSync && snapshot.epoch === this.epoch && snapshot.seq === this.seq;
    this.#inSync = true;
    this.#adopt(snapshot, inSync);
  }

  /** Applies the next patch; late ones are ignored, a hole in the numbers asks for a snapshot. */
  applyPatch(patch: PatchMessage): void {
    if (patch.epoch === this.epoch && patch.seq <= this.seq) {
      this.stats.ignored++;
      return;
    }
    if (this.view === null || patch.epoch !== this.epoch || patch.seq !== this.seq + 1) {
      this.#gap();
      return;
    }
    const next = patched(this.view, patch.ops);
    if (next === null) {
      this.#gap();
      return;
    }
    this.stats.patches++;
    this.seq = patch.seq;
    if (next !== this.view) {
      const told = next.interaction !== this.view.interaction;
      this.view = told ? withMerged(this.view, next, false) : next;
      this.#notify();
    }
  }

  /** Puts older messages before the loaded ones, when they end exactly there. */
  prepend(history: HistoryMessage): void {
    if (this.view === null || history.epoch !== this.epoch) return;
    const { first, items } = this.view.messages;
    const missing = first - history.first;
    if (missing <= 0 || history.items.length < missing) return;
    const older = history.items.slice(0, missing);
    this.view = { ...this.view, messages: { first: history.first, items: [...older, ...items] } };
    this.#notify();
  }

  #adopt(snapshot: Snapshot, keepOlder: boolean): void {
    const before = this.epoch === snapshot.epoch ? this.view : null;
    const incoming =
      keepOlder && before ? withOlder(before.messages, snapshot.view) : snapshot.view;
    this.stats.snapshots++;
    this.epoch = snapshot.epoch;
    this.seq = snapshot.seq;
    this.view = shared(before, withMerged(before, completed(incoming), true));
    this.#notify();
  }

  #gap(): void {
    this.stats.gaps++;
    this.#inSync = false;
    this.#onGap();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** `next`, whose word on sending counts as far as the law of its revisions says. */
function withMerged(before: SessionView | null, next: SessionView, full: boolean): SessionView {
  const { interaction: _told, ...rest } = next;
  const interaction = mergedInteraction(before?.interaction ?? null, { ...next }, full);
  return interaction === null ? rest : { ...rest, interaction };
}

/** The view with the messages of `loaded` that lie before its own window, when both windows touch. */
function withOlder(loaded: MessageWindow, view: SessionView): SessionView {
  const older = view.messages.first - loaded.first;
  if (older <= 0 || older > loaded.items.length) return view;
  const items = [...loaded.items.slice(0, older), ...view.messages.items];
  return { ...view, messages: { first: loaded.first, items } };
}

/** `next`, with every part that equals the one in `previous` replaced by that one. */
export function shared<T>(previous: unknown, next: T): T {
  if (Object.is(previous, next)) return next;
  if (Array.isArray(next)) {
    if (!Array.isArray(previous)) return next;
    const merged = next.map((value, index) => shared(previous[index], value));
    const same = merged.length === previous.length && merged.every((v, i) => v === previous[i]);
    return (same ? previous : merged) as T;
  }
  if (typeof next !== "object" || next === null) return next;
  if (typeof previous !== "object" || previous === null || Array.isArray(previous)) return next;
  const old = previous as Record<string, unknown>;
  const keys = Object.keys(next);
  const merged: Record<string, unknown> = {};
  let same = keys.length === Object.keys(old).length;
  for (const key of keys) {
    merged[key] = shared(old[key], (next as Record<string, unknown>)[key]);
    if (!Object.hasOwn(old, key) || merged[key] !== old[key]) same = false;
  }
  return (same ? old : merged) as T;
}
