// Where the states of a machine stand in its diagram, and how its edges run.

import type { Edge, Machine } from "./protocol";

export interface Point {
  x: number;
  y: number;
}

export interface Node extends Point {
  name: string;
  width: number;
  /** Where a loop leaves the box. */
  loop: "left" | "right" | "top" | "bottom";
}

/** All edges from one state to another, drawn as one. */
export interface Way {
  from: string;
  to: string;
  actions: string[];
  late: boolean;
  path: string;
  label: Point;
  anchor: "start" | "middle" | "end";
  /** False where another way to the same state says the same already. */
  isLabelled: boolean;
}

export interface Diagram {
  width: number;
  height: number;
  nodes: Node[];
  ways: Way[];
}

export const NODE_HEIGHT = 30;
const LOOP = 17;
/** A machine with more ways says only once what leads to a state. */
const MOST_LABELLED = 9;

const PLACES: Record<string, Record<string, Omit<Node, "name">>> = {
  session: {
    idle: { x: 80, y: 56, width: 78, loop: "left" },
    streaming: { x: 336, y: 56, width: 104, loop: "right" },
    error: { x: 208, y: 200, width: 78, loop: "bottom" },
  },
  call: {
    none: { x: 14, y: 62, width: 16, loop: "left" },
    running: { x: 126, y: 62, width: 88, loop: "top" },
    "awaiting-confirmation": { x: 112, y: 200, width: 180, loop: "bottom" },
    done: { x: 352, y: 46, width: 72, loop: "top" },
    error: { x: 352, y: 122, width: 72, loop: "left" },
    cancelled: { x: 352, y: 200, width: 92, loop: "bottom" },
  },
};

export function diagramOf(machine: Machine): Diagram {
  const nodes = machine.states.map((name, index) => ({ name, ...placeOf(machine, name, index) }));
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const groups = new Map<string, Edge[]>();
  for (const edge of machine.edges) {
    const key = `${edge.source}>${edge.target}`;
    groups.set(key, [...(groups.get(key) ?? []), edge]);
  }
  const said = new Set<string>();
  const isSmall = groups.size <= MOST_LABELLED;
  const ways: Way[] = [];
  for (const edges of groups.values()) {
    const [from, to] = [byName.get(edges[0]!.source)!, byName.get(edges[0]!.target)!];
    const actions = edges.map((edge) => edge.action);
    const late = edges.every((edge) => edge.late);
    const words = `${to.name}: ${actions.join()}`;
    const isLabelled = from !== to && !late && (isSmall || !said.has(words));
    if (isLabelled) said.add(words);
    const line = from === to ? loopOf(from) : lineOf(from, to, late);
    ways.push({ from: from.name, to: to.name, actions, late, isLabelled, ...line });
  }
  return { width: 420, height: 244, nodes, ways };
}

function placeOf(machine: Machine, name: string, index: number): Omit<Node, "name"> {
  const known = PLACES[machine.name]?.[name];
  return known ?? { x: 60 + 110 * (index % 3), y: 210, width: 96, loop: "bottom" };
}

/** The point where the box of `node` ends on the way to `target`. */
function edgeOf(node: Node, target: Point, gap = 2): Point {
  const [dx, dy] = [target.x - node.x, target.y - node.y];
  const [w, h] = [node.width / 2 + gap, (node.name === "none" ? 8 : NODE_HEIGHT / 2) + gap];
  const scale = Math.min(w / (Math.abs(dx) || 1e-9), h / (Math.abs(dy) || 1e-9));
  return { x: node.x + dx * scale, y: node.y + dy * scale };
}

const round = (value: number): number => Math.round(value * 10) / 10;
const at = (point: Point): string => `${round(point.x)} ${round(point.y)}`;

function lineOf(from: Node, to: Node, late: boolean): Pick<Way, "path" | "label" | "anchor"> {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy);
  // Bent to the left of its own direction, so that the way back is another line.
  const bend = late ? 0.3 * length + 8 : 0.13 * length;
  const side = late ? -Math.sign(dy || 1) : -1;
  const control = {
    x: (from.x + to.x) / 2 + (-dy / length) * bend * side,
    y: (from.y + to.y) / 2 + (dx / length) * bend * side,
  };
  if (late) control.x = Math.max(control.x, Math.max(from.x, to.x) + bend);
  const [start, end] = [edgeOf(from, control), edgeOf(to, control, 5)];
  const isSteep = Math.abs(dy) > 0.7 * Math.abs(dx);
  // Off the middle, so that the labels of ways that meet there do not.
  const t = isSteep ? 0.36 : Math.abs(dy) > 100 ? 0.8 : 0.5;
  const on = (a: number, b: number, c: number): number =>
    (1 - t) ** 2 * a + 2 * t * (1 - t) * b + t ** 2 * c;
  const middle = { x: on(start.x, control.x, end.x), y: on(start.y, control.y, end.y) };
  const away = Math.sign(control.x - (from.x + to.x) / 2) || 1;
  const isAbove = middle.y < (from.y + to.y) / 2;
  return {
    path: `M${at(start)}Q${at(control)} ${at(end)}`,
    label: isSteep
      ? { x: middle.x + 5 * away, y: middle.y + 3 }
      : { x: middle.x, y: middle.y + (isAbove ? -6 : 13) },
    anchor: isSteep ? (away > 0 ? "start" : "end") : "middle",
  };
}

function loopOf(node: Node): Pick<Way, "path" | "label" | "anchor"> {
  const out = { left: [-1, 0], right: [1, 0], top: [0, -1], bottom: [0, 1] }[node.loop] as [
    number,
    number,
  ];
  const [ox, oy] = out;
  const half = ox ? node.width / 2 : NODE_HEIGHT / 2;
  const base = { x: node.x + ox * (half + 2), y: node.y + oy * (half + 2) };
  const [sx, sy] = [oy * 9, ox * 9];
  const far = { x: base.x + ox * LOOP * 1.4, y: base.y + oy * LOOP * 1.4 };
  const start = { x: base.x - sx, y: base.y - sy };
  const end = { x: base.x + sx + ox * 3, y: base.y + sy + oy * 3 };
  const c1 = { x: far.x - sx * 1.6, y: far.y - sy * 1.6 };
  const c2 = { x: far.x + sx * 1.6, y: far.y + sy * 1.6 };
  const anchor = ox < 0 ? "end" : ox > 0 ? "start" : "middle";
  return {
    path: `M${at(start)}C${at(c1)} ${at(c2)} ${at(end)}`,
    label: { x: far.x + ox * 2, y: far.y + oy * (oy > 0 ? 8 : 0) - (oy < 0 ? 1 : 0) },
    anchor: ox ? "middle" : anchor,
  };
}
