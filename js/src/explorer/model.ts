// One explorer's data: the steps with their states, kept up to date, shared by all of its views.

import { applied, EMPTY } from "./fold";
import {
  type Change,
  type Frames,
  framesIn,
  type Json,
  type Lane,
  laneIn,
  type Requests,
  type Step,
} from "./protocol";
import { WORDS } from "./words";

const PATIENCE_MS = 15_000;

export interface Model {
  get(name: string): unknown;
  send(content: unknown): void;
  on(name: string, callback: (...args: never[]) => void): void;
  off(name: string, callback: (...args: never[]) => void): void;
}

export class Explorer {
  frames: Frames | null = null;
  /** `states[i]` is after step i. */
  states: Json[] = [];
  lane: Lane | null = null;
  /** `laneStates[i]` is after step `lane.at + i`. */
  laneStates: Json[] = [];
  /** Whether a kernel has answered. */
  hasKernel = false;
  refusal: string | null = null;
  #model: Model;
  #listeners = new Set<() => void>();
  #patience: ReturnType<typeof setTimeout> | undefined;
  #moved = new Set<(at: number) => void>();

  constructor(model: Model, signal?: AbortSignal) {
    this.#model = model;
    model.on("msg:custom", this.#onMessage);
    model.on("change:frames", this.#onFrames);
    model.on("change:lane", this.#onLane);
    model.on("change:at", this.#onAt);
    this.#adopt(framesIn(model.get("frames")));
    this.#adoptLane();
    signal?.addEventListener("abort", () => this.dispose(), { once: true });
    this.greet();
  }

  get steps(): Step[] {
    return this.frames?.steps ?? [];
  }

  get requests(): Requests {
    return this.frames?.requests ?? { rows: [], systems: [], toolsets: [] };
  }

  /** The step that the kernel wants shown, -1 for the last one. */
  get wanted(): number {
    const at = this.#model.get("at");
    return typeof at === "number" ? at : -1;
  }

  stateBefore(index: number): Json {
    return this.states[index - 1] ?? EMPTY;
  }

  /** The state of the other lane after that step; undefined where the lane is not. */
  laneState(index: number): Json | undefined {
    return this.lane ? this.laneStates[index - this.lane.at] : undefined;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onMoved(listener: (at: number) => void): () => void {
    this.#moved.add(listener);
    return () => this.#moved.delete(listener);
  }

  whatIf(at: number, change: Change | null): void {
    this.refusal = null;
    clearTimeout(this.#patience);
    this.#patience = setTimeout(() => {
      this.refusal = WORDS.noAnswer;
      this.#notify();
    }, PATIENCE_MS);
    this.#notify();
    this.#post({ kind: "what_if", at, change });
  }

  greet(): void {
    this.#post({ kind: "hello", have: this.steps.length });
  }

  dispose(): void {
    clearTimeout(this.#patience);
    this.#model.off("msg:custom", this.#onMessage);
    this.#model.off("change:frames", this.#onFrames);
    this.#model.off("change:lane", this.#onLane);
    this.#model.off("change:at", this.#onAt);
  }

  #post(content: object): void {
    try {
      this.#model.send(content);
    } catch {
      this.hasKernel = false; // a page without a kernel
    }
  }

  #onMessage = (content: unknown): void => {
    const message = content as { kind?: string; message?: string };
    if (message?.kind === "folded" || message?.kind === "refused") clearTimeout(this.#patience);
    if (message?.kind === "welcome") this.hasKernel = true;
    else if (message?.kind === "refused") this.refusal = message.message ?? "";
    else if (message?.kind === "steps") this.#grow(content as never);
    this.#notify();
  };

  #grow(more: { from: number; steps: Step[]; requests?: Requests }): void {
    if (!this.frames) return;
    if (more.from > this.frames.steps.length) {
      this.greet(); // something was lost
      return;
    }
    const steps = [...this.frames.steps.slice(0, more.from), ...more.steps];
    this.frames = { ...this.frames, steps, requests: more.requests ?? this.frames.requests };
    this.#fold(more.from);
  }

  #onFrames = (): void => {
    const frames = framesIn(this.#model.get("frames"));
    if (frames && frames.steps.length >= this.steps.length) this.#adopt(frames);
    this.#notify();
  };

  #adopt(frames: Frames | null): void {
    this.frames = frames;
    this.states = [];
    this.#fold(0);
  }

  #fold(from: number): void {
    this.states = this.states.slice(0, from);
    for (let at = from; at < this.steps.length; at++) {
      this.states.push(applied(this.stateBefore(at), this.steps[at]!.ops));
    }
  }

  #onLane = (): void => {
    this.#adoptLane();
    this.#notify();
  };

  #adoptLane(): void {
    this.lane = laneIn(this.#model.get("lane"));
    this.laneStates = [];
    if (!this.lane) return;
    let state = this.stateBefore(this.lane.at);
    for (const step of this.lane.steps) {
      state = applied(state, step.ops);
      this.laneStates.push(state);
    }
  }

  #onAt = (): void => {
    for (const listener of this.#moved) listener(this.wanted);
  };

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
