// What the kernel sends of a session: see agent_widget/view/timelinewire.py, which writes it.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
export type Path = (string | number)[];

/** `[path, value]` sets, `[path, text, 1]` puts text after a text, `[path]` removes or cuts off. */
export type Op = [Path] | [Path, Json] | [Path, string, 1];

export interface Move {
  machine: "session" | "call";
  from: string;
  to: string;
  by: string;
  id?: string;
  name?: string;
}

export interface Step {
  type: string;
  /** Milliseconds since the first step. */
  t: number;
  event: JsonObject;
  actions: JsonObject[];
  ops: Op[];
  moves: Move[];
  said?: string;
  /** How many pieces of one text these are. */
  pieces?: number;
  /** The state is that of another branch. */
  jump?: boolean;
}

export interface Edge {
  source: string;
  target: string;
  action: string;
  late: boolean;
}

export interface Machine {
  name: "session" | "call";
  states: string[];
  edges: Edge[];
}

export interface Request {
  at: number;
  agent: string | null;
  exact: boolean;
  system: number | null;
  tools: number | null;
  messages: Json[] | null;
}

export interface Requests {
  rows: Request[];
  systems: string[];
  toolsets: JsonObject[][];
}

export interface Frames {
  v: number;
  label: string;
  live: boolean;
  /** What has to be known of where it comes from. */
  notes?: string[];
  machines: Machine[];
  steps: Step[];
  requests: Requests;
}

export interface LaneStep {
  ops: Op[];
  same: boolean;
  left_out?: boolean;
  actions?: JsonObject[];
}

export interface Lane {
  at: number;
  first: number | null;
  answered: number | null;
  rejoined: number | null;
  steps: LaneStep[];
}

export type Change =
  | { kind: "skip" }
  | { kind: "actions"; actions: Json }
  | { kind: "deny"; reason: string }
  | { kind: "allow"; output: Json };

/** Whether the step itself went otherwise; else it only carries on what did before. */
export const isOwnDifference = (row: LaneStep, step: Step): boolean =>
  !row.same && JSON.stringify(row.ops) !== JSON.stringify(step.ops);

/** The frames in a trait, null where there are none that this page can read. */
export function framesIn(value: unknown): Frames | null {
  const frames = value as Frames | null;
  return frames?.v === 1 && Array.isArray(frames.steps) ? frames : null;
}

export function laneIn(value: unknown): Lane | null {
  const lane = value as Lane | null;
  return lane && Array.isArray(lane.steps) ? lane : null;
}
