// The patch law: the same in Python and here, held by tests/vectors/patch.json.
//
//   ["set", path, value]   ["append", path, text]   ["push", path, items]   ["trim", path, length]
//
// Indexes directly under the root's `messages` are absolute; the document holds a window {first, items}.

const GAP = Symbol("gap");
const IGNORED = Symbol("ignored");

type Change = (leaf: unknown) => unknown;

/** The document after `ops`, sharing all that did not change; null when an op does not fit (a gap). */
export function patched<T>(document: T, ops: readonly unknown[]): T | null {
  let current: unknown = document;
  for (const op of ops) {
    const next = applied(current, op);
    if (next === GAP) return null;
    if (next !== IGNORED) current = next;
  }
  return current as T;
}

function applied(document: unknown, op: unknown): unknown {
  if (!Array.isArray(op) || op.length !== 3 || !isPath(op[1])) return GAP;
  const [name, path, argument] = op as [unknown, (string | number)[], unknown];
  if (path.length === 0) return GAP;
  const onWindow = path.length === 1 && path[0] === "messages";
  switch (name) {
    case "set":
      return onWindow ? GAP : edited(document, path, 0, () => argument, true);
    case "append":
      if (typeof argument !== "string") return GAP;
      return edited(document, path, 0, (leaf) =>
        typeof leaf === "string" ? leaf + argument : GAP,
      );
    case "push":
      if (!Array.isArray(argument)) return GAP;
      return edited(document, path, 0, (leaf) => pushed(leaf, argument, onWindow));
    case "trim":
      if (!isIndex(argument)) return GAP;
      return edited(document, path, 0, (leaf) => trimmed(leaf, argument, onWindow));
    default:
      return GAP;
  }
}

function edited(
  node: unknown,
  path: readonly (string | number)[],
  depth: number,
  change: Change,
  creates = false,
): unknown {
  if (depth === path.length) return change(node);
  const key = path[depth]!;
  if (depth === 1 && path[0] === "messages" && isWindow(node)) {
    if (!isIndex(key)) return GAP;
    if (key < node.first) return IGNORED;
    const items = child(node.items, key - node.first, path, depth, change, creates);
    return typeof items === "symbol" ? items : { ...node, items };
  }
  return child(node, key, path, depth, change, creates);
}

function child(
  node: unknown,
  key: string | number,
  path: readonly (string | number)[],
  depth: number,
  change: Change,
  creates: boolean,
): unknown {
  if (Array.isArray(node)) {
    if (!isIndex(key) || key >= node.length) return GAP;
    const value = edited(node[key], path, depth + 1, change, creates);
    return typeof value === "symbol" ? value : node.with(key, value);
  }
  if (typeof node !== "object" || node === null || typeof key !== "string") return GAP;
  const known = Object.hasOwn(node, key);
  if (!known && !(creates && depth === path.length - 1 && key !== "__proto__")) return GAP;
  const before = known ? (node as Record<string, unknown>)[key] : undefined;
  const value = edited(before, path, depth + 1, change, creates);
  return typeof value === "symbol" ? value : { ...node, [key]: value };
}

function pushed(leaf: unknown, items: unknown[], onWindow: boolean): unknown {
  if (onWindow && isWindow(leaf)) return { ...leaf, items: [...leaf.items, ...items] };
  return Array.isArray(leaf) ? [...leaf, ...items] : GAP;
}

function trimmed(leaf: unknown, length: number, onWindow: boolean): unknown {
  if (onWindow && isWindow(leaf)) {
    const kept = Math.max(0, length - leaf.first);
    return { ...leaf, first: Math.min(leaf.first, length), items: leaf.items.slice(0, kept) };
  }
  return Array.isArray(leaf) ? leaf.slice(0, length) : GAP;
}

interface Window {
  first: number;
  items: unknown[];
}

const isIndex = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0;

const isPath = (value: unknown): value is (string | number)[] =>
  Array.isArray(value) && value.every((key) => typeof key === "string" || typeof key === "number");

const isWindow = (value: unknown): value is Window =>
  typeof value === "object" &&
  value !== null &&
  isIndex((value as Window).first) &&
  Array.isArray((value as Window).items);
