import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { visible } from "../../text/escapes";
import { isBranch, same } from "../fold";
import type { Json, JsonObject } from "../protocol";
import { WORDS } from "../words";

type Mark = "" | "added" | "removed" | "changed" | "inside";

interface Row {
  path: string;
  name: string;
  depth: number;
  value: Json;
  before: Json | undefined;
  mark: Mark;
  isOpen: boolean | null;
}

const MOST_CHILDREN = 200;
const SIGNS: Record<Mark, string> = { "": "", added: "+", removed: "−", changed: "~", inside: "·" };
const SAID: Record<Mark, string> = {
  "": "",
  added: "added",
  removed: "removed",
  changed: "changed",
  inside: "changed inside",
};

function markOf(value: Json | undefined, before: Json | undefined): Mark {
  if (before === undefined) return "added";
  if (value === undefined) return "removed";
  if (same(value, before)) return "";
  return isBranch(value) && isBranch(before) ? "inside" : "changed";
}

const keysOf = (value: Json | undefined): string[] => (isBranch(value) ? Object.keys(value) : []);
const childOf = (value: Json | undefined, key: string): Json | undefined =>
  isBranch(value) ? (value as JsonObject)[key] : undefined;

/** The rows in sight: what changed is open by itself, the rest when it was opened. */
function rowsOf(value: Json, before: Json | undefined, opened: Map<string, boolean>): Row[] {
  const rows: Row[] = [];
  const add = (
    now: Json | undefined,
    was: Json | undefined,
    name: string,
    path: string,
    depth: number,
    isNew: boolean,
  ): void => {
    const mark = isNew ? "" : markOf(now, was);
    const shown = now === undefined ? (was as Json) : now;
    const own = [...new Set([...keysOf(was), ...keysOf(shown)])];
    const keys = own.sort((a, b) => keysOf(shown).indexOf(a) - keysOf(shown).indexOf(b));
    const byItself =
      depth < 2
        ? depth === 0 || name === "messages"
        : mark === "inside" || (mark === "added" && depth < 6);
    const isOpen = keys.length ? (opened.get(path) ?? byItself) : null;
    rows.push({ path, name, depth, value: shown, before: was, mark, isOpen });
    if (!isOpen) return;
    for (const key of keys.slice(-MOST_CHILDREN)) {
      add(
        childOf(now ?? was, key),
        childOf(was, key),
        key,
        `${path}/${key}`,
        depth + 1,
        isNew || mark === "added" || now === undefined,
      );
    }
  };
  add(value, before, "state", "", 0, false);
  return rows;
}

const MOST_CHARS = 90;
const short = (text: string): string => {
  const line = visible(text.replace(/\s+/g, " ").trim());
  return line.length > MOST_CHARS ? `${line.slice(0, MOST_CHARS - 1)}…` : line;
};

/** A branch in a few words. */
function summary(value: Json): string {
  if (Array.isArray(value)) return value.length ? `${value.length} items` : "empty";
  if (!isBranch(value)) return short(JSON.stringify(value));
  const { type, role, name, state, text, parts } = value as JsonObject;
  if (typeof role === "string") {
    const first = ((parts ?? []) as JsonObject[]).map((part) =>
      part.type === "tool" ? `[${part.name}]` : part.text,
    );
    return short(`${role}: ${first.join(" ")}`);
  }
  if (type === "tool") return short(`tool ${name}: ${state}`);
  if (typeof text === "string") return short(`${type ?? "text"}: ${text}`);
  return short(Object.keys(value).join(", "));
}

function Leaf({ row }: { row: Row }): VNode {
  const { value, before, mark } = row;
  const written = (one: Json): string =>
    typeof one === "string" ? `"${visible(one)}"` : JSON.stringify(one);
  if (mark !== "changed" || before === undefined) return <span class="leaf">{written(value)}</span>;
  if (
    typeof value === "string" &&
    typeof before === "string" &&
    before &&
    value.startsWith(before)
  ) {
    return (
      <span class="leaf">
        "{visible(before)}
        <ins>{visible(value.slice(before.length))}</ins>"
      </span>
    );
  }
  return (
    <span class="leaf">
      <del>{isBranch(before) ? summary(before) : written(before)}</del>{" "}
      <ins>{isBranch(value) ? summary(value) : written(value)}</ins>
    </span>
  );
}

/** JSON as a tree of rows with what changed since `before` marked; arrow keys as trees have them. */
export function Tree(props: { value: Json; before: Json | undefined; label: string }): VNode {
  const { value, before, label } = props;
  const [opened, setOpened] = useState(new Map<string, boolean>());
  const [active, setActive] = useState("");
  const holder = useRef<HTMLDivElement>(null);
  const rows = rowsOf(value, before, opened);
  const current = Math.max(
    0,
    rows.findIndex((row) => row.path === active),
  );
  const set = (row: Row, open: boolean): void => setOpened(new Map(opened).set(row.path, open));
  const go = (index: number): void => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, index))]!;
    setActive(row.path);
    requestAnimationFrame(() =>
      holder.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus(),
    );
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[current]!;
    const parent = rows.findIndex((each) => each.path === row.path.replace(/\/[^/]*$/, ""));
    const moves: Record<string, () => void> = {
      ArrowDown: () => go(current + 1),
      ArrowUp: () => go(current - 1),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      ArrowRight: () => (row.isOpen === false ? set(row, true) : row.isOpen && go(current + 1)),
      ArrowLeft: () => (row.isOpen ? set(row, false) : go(parent)),
      Enter: () => row.isOpen !== null && set(row, !row.isOpen),
      " ": () => row.isOpen !== null && set(row, !row.isOpen),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  };
  return (
    <div class="tree" role="tree" aria-label={label} ref={holder} onKeyDown={onKeyDown}>
      {rows.map((row, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys of its rows
        <div
          key={row.path}
          class={`node-row ${row.mark}`}
          role="treeitem"
          aria-level={row.depth + 1}
          aria-selected={index === current}
          aria-expanded={row.isOpen ?? undefined}
          tabIndex={index === current ? 0 : -1}
          style={{ paddingInlineStart: `${8 + 14 * row.depth}px` }}
          onClick={() => {
            setActive(row.path);
            if (row.isOpen !== null) set(row, !row.isOpen);
          }}
          onFocus={() => setActive(row.path)}
        >
          <span class="sign" aria-hidden="true">
            {SIGNS[row.mark]}
          </span>
          <span class="twist" aria-hidden="true">
            {row.isOpen === null ? "" : row.isOpen ? "▾" : "▸"}
          </span>
          <span class="key">{row.name}</span>
          {row.mark && <span class="sr">{SAID[row.mark]}</span>}
          {row.isOpen === null && row.mark !== "removed" && <Leaf row={row} />}
          {row.isOpen === null && row.mark === "removed" && (
            <del class="leaf">{summary(row.value)}</del>
          )}
          {row.isOpen === false && <span class="summary">{summary(row.value)}</span>}
          {row.isOpen && Array.isArray(row.value) && row.value.length > MOST_CHILDREN && (
            <span class="summary">
              {row.value.length - MOST_CHILDREN} {WORDS.unlisted}
            </span>
          )}
        </div>
      ))}
    </div>
  );
}

/** How many values differ, counted where they are. */
export function differencesOf(value: Json | undefined, before: Json | undefined): number {
  const mark = markOf(value, before);
  if (mark === "") return 0;
  if (mark !== "inside") return 1;
  const keys = new Set([...keysOf(value), ...keysOf(before)]);
  return [...keys].reduce((sum, key) => {
    const [now, was] = [childOf(value, key), childOf(before, key)];
    return sum + (now === undefined && was === undefined ? 0 : differencesOf(now, was));
  }, 0);
}
