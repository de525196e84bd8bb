// A page without a kernel: the real bundle code on a model that answers from a scene.
// ?scene=done|question|states|…  &theme=light|dark|jupyter-dark  &width=400
// &locale=ar: the language
// &answers=none: the kernel answers no command; &refuse=CODE: it refuses them

import ar from "../../agent_widget/view/locale/ar.json";
import de from "../../agent_widget/view/locale/de.json";
import en from "../../agent_widget/view/locale/en.json";
import es from "../../agent_widget/view/locale/es.json";
import fr from "../../agent_widget/view/locale/fr.json";
import ja from "../../agent_widget/view/locale/ja.json";
import zh from "../../agent_widget/view/locale/zh.json";
import type { ReplyMessage, SessionView } from "../src/protocol";
import createWidget from "../src/widget";
import { inputScenes } from "./input-scenes";
import { STREAMED, scenes } from "./scenes";

const TABLES: Record<string, typeof en> = { ar, de, en, es, fr, ja, zh } as never;

type Listener = (...args: unknown[]) => void;

class DemoModel {
  #listeners = new Map<string, Set<Listener>>();
  #seq = 5;
  sent: Record<string, unknown>[] = [];
  constructor(readonly view: SessionView) {}

  get(name: string): unknown {
    if (name === "words") {
      const locale = parameters.get("locale") ?? "en";
      const { direction, page } = TABLES[locale]!;
      return { locale, direction, words: page };
    }
    return name === "snapshot"
      ? { protocol: 1, epoch: "demo", seq: this.#seq, view: this.view }
      : null;
  }
  on(name: string, callback: Listener): void {
    const set = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, set.add(callback));
  }
  off(name: string, callback: Listener): void {
    this.#listeners.get(name)?.delete(callback);
  }
  deliver(message: unknown): void {
    for (const listener of this.#listeners.get("msg:custom") ?? []) listener(message);
  }
  patch(ops: unknown[]): void {
    this.#seq++;
    this.deliver({ kind: "patch", epoch: "demo", seq: this.#seq, ops });
  }
  send(message: Record<string, unknown>): void {
    this.sent.push(message);
    const request_id = String(message.request_id);
    setTimeout(() => this.#answer(message, request_id), 30);
  }

  #answer(message: Record<string, unknown>, request_id: string): void {
    if (message.kind === "hello") {
      this.deliver({
        kind: "snapshot",
        protocol: 1,
        epoch: "demo",
        seq: this.#seq,
        view: this.view,
      });
      return;
    }
    if (message.kind !== "command") return;
    const mute = parameters.get("answers") === "none";
    if (mute) return;
    if (parameters.has("refuse")) {
      const code = parameters.get("refuse")!;
      this.deliver({ kind: "reply", request_id, ok: false, code, message: "" });
      return;
    }
    if (message.name === "decide") this.patch([["set", ["question"], null]]);
    if (message.name === "send") {
      const user = {
        mid: `u${request_id}`,
        role: "user",
        mark: null,
        is_steering: false,
        branch: null,
        note: null,
        parts: [{ type: "text", text: message.text }],
      };
      this.patch([["push", ["messages"], [user]]]);
    }
    const reply: ReplyMessage = { kind: "reply", request_id, ok: true, message_id: "u" };
    this.deliver(reply);
  }
}

const parameters = new URLSearchParams(location.search);
const scene = parameters.get("scene") ?? "done";
const theme = parameters.get("theme") ?? "light";
document.documentElement.dataset.theme = theme.endsWith("dark") ? "dark" : "light";
document.body.style.background = theme.endsWith("dark") ? "#111" : "#fff";
const host = document.getElementById("host")!;
host.style.width = `${parameters.get("width") ?? 860}px`;

const model = new DemoModel({ ...scenes, ...inputScenes }[scene]!());
const widget = createWidget();
const exported = widget.initialize({ model: model as never });
widget.render({ model: model as never, el: host });
Object.assign(window, { demo: { model, exported } });

if (scene === "streaming") {
  const last = model.view.messages.items.length - 1;
  let at = 0;
  const limit = Number(parameters.get("chars") ?? STREAMED.length);
  const timer = setInterval(() => {
    const piece = STREAMED.slice(at, Math.min(limit, at + 9));
    at += piece.length;
    if (piece === "") clearInterval(timer);
    else model.patch([["append", ["messages", last, "parts", 0, "text"], piece]]);
  }, 15);
}
