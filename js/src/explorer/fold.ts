// States from their differences; what two states do not share is what changed.

import type { Json, JsonObject, Op, Path } from "./protocol";

export const EMPTY: JsonObject = { messages: [], status: "idle" };

/** The value after the operations; all that they do not touch is the same object as before. */
export function applied(value: Json, ops: Op[]): Json {
  let after = value;
  for (const op of ops) after = changed(after, op[0], 0, op);
  return after;
}

function changed(value: Json | undefined, path: Path, depth: number, op: Op): Json {
  if (depth === path.length) {
    return op.length === 3 ? `${value as string}${op[1]}` : (op[1] as Json);
  }
  const key = path[depth]!;
  const isLast = depth === path.length - 1;
  if (Array.isArray(value)) {
    const index = key as number;
    if (isLast && op.length === 1) return value.slice(0, index);
    const copy = [...value];
    copy[index] = changed(value[index], path, depth + 1, op);
    return copy;
  }
  const copy: JsonObject = { ...(value as JsonObject) };
  if (isLast && op.length === 1) delete copy[key];
  else copy[key] = changed(copy[key], path, depth + 1, op);
  return copy;
}

export const isBranch = (value: Json | undefined): value is JsonObject | Json[] =>
  typeof value === "object" && value !== null;

/** True when the two are equal JSON; quick where they share structure. */
export function same(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (!isBranch(a) || !isBranch(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const [one, other] = [a as JsonObject, b as JsonObject];
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length && keys.every((key) => same(one[key], other[key]))
  );
}

/** The calls in a state, those of agents too. */
export function callsIn(state: Json | undefined): JsonObject[] {
  const found: JsonObject[] = [];
  for (const message of messagesOf(state)) {
    for (const part of message.parts as JsonObject[]) {
      if (part.type !== "tool") continue;
      found.push(part, ...callsIn(part.agent));
    }
  }
  return found;
}

export const messagesOf = (state: Json | undefined): JsonObject[] =>
  (((state as JsonObject | undefined)?.messages ?? []) as JsonObject[]) || [];

/** The messages of the agent that the call started, or of the session itself for null. */
export function messagesFor(state: Json, agent: string | null): JsonObject[] {
  if (agent === null) return messagesOf(state);
  const call = callsIn(state).find((each) => each.id === agent);
  return messagesOf(call?.agent);
}
