// The whole widget, mounted as anywidget would mount it.

import { afterEach, beforeEach, expect } from "vitest";
import type { Question, SessionView } from "../../src/protocol";
import type { SessionExports } from "../../src/session";
import createWidget from "../../src/widget";
import { message, STREAMING, TestModel, text, tool, view } from "./model";

// The real one, also while a test has the clock in its hands.
const later = globalThis.setTimeout;

export const frame = (): Promise<void> =>
  new Promise((resolve) => requestAnimationFrame(() => later(resolve)));

export async function frames(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await frame();
}

export interface Mounted {
  model: TestModel;
  host: HTMLElement;
  root: ShadowRoot;
  exported: SessionExports;
  unmount: () => void;
  find: <T extends HTMLElement = HTMLElement>(selector: string) => T;
  all: (selector: string) => HTMLElement[];
  patch: (...ops: unknown[]) => void;
  addView: () => ShadowRoot;
}

let controller = new AbortController();

beforeEach(() => {
  controller = new AbortController();
  (document.activeElement as HTMLElement | null)?.blur();
});
afterEach(() => {
  controller.abort();
  document.body.replaceChildren();
});

export async function mounted(state: SessionView): Promise<Mounted> {
  const model = new TestModel();
  const widget = createWidget();
  const { signal } = controller;
  const exported = widget.initialize({ model, signal });
  const addHost = (): { host: HTMLElement; unmount: () => void } => {
    const host = document.createElement("div");
    host.style.width = "700px";
    document.body.append(host);
    return { host, unmount: widget.render({ model, el: host, signal }) };
  };
  const { host, unmount } = addHost();
  model.deliver(model.snapshotMessage(state));
  await frames(2);
  const root = host.shadowRoot!;
  return {
    model,
    host,
    root,
    exported,
    unmount,
    find: <T extends HTMLElement>(selector: string) => root.querySelector<T>(selector)!,
    all: (selector) => [...root.querySelectorAll<HTMLElement>(selector)],
    patch: (...ops) => {
      const { seq } = exported.state();
      model.deliver({ kind: "patch", epoch: "e1", seq: seq + 1, ops });
    },
    addView: () => addHost().host.shadowRoot!,
  };
}

export const question = (fields: Partial<Question> = {}): Question => ({
  pid: "p1",
  tid: "t1",
  tool: "run_python",
  agent: null,
  reason: "It changes files.",
  text: "print(1)",
  language: "python",
  args: { code: "print(1)" },
  options: ["allow_once", "edit", "allow_session", "allow_project", "deny"],
  rules: ["run_python"],
  project_file: "/home/ada/work/.agent-widget/settings.json",
  ...fields,
});

export const asking = (fields: Partial<Question> = {}): SessionView =>
  view(
    [message("u", [text("go")], "user"), message("a", [tool({ state: "awaiting-confirmation" })])],
    {
      ...STREAMING,
      phase: "awaiting_confirmation",
      question: question(fields),
      queue: [
        { tid: "t2", tool: "bash", agent: null, text: "git status" },
        { tid: "t3", tool: "write_file", agent: "helper", text: "notes.md" },
      ],
    },
  );

export const armed = (root: ShadowRoot): Promise<void> =>
  expect
    .poll(() => root.querySelector(".question")?.classList.contains("open"))
    .toBe(true) as never;

export const area = (m: Mounted): HTMLTextAreaElement =>
  m.find<HTMLTextAreaElement>(".composer textarea");

/** Ends what the test mounted, before the test itself does. */
export const abortAll = (): void => controller.abort();

/** A view whose host says from the start that it has no kernel. */
export async function mountedSaved(state: SessionView): Promise<ShadowRoot> {
  const model = new TestModel();
  model.snapshot = { protocol: 1, epoch: "e1", seq: 3, view: state };
  const widget = createWidget();
  const { signal } = controller;
  widget.initialize({ model, signal });
  const host = document.createElement("div");
  host.className = "jupyter-widgets-disconnected";
  document.body.append(host);
  widget.render({ model, el: host, signal });
  await frames(3);
  return host.shadowRoot!;
}
