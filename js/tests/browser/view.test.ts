// The whole widget, as anywidget would mount it, in a real browser.

import { afterEach, beforeEach, expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import type { Question, SessionView } from "../../src/protocol";
import type { SessionExports } from "../../src/session";
import createWidget from "../../src/widget";
import { message, STREAMING, TestModel, text, tool, view } from "../support/model";

const frame = (): Promise<void> =>
  new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

async function frames(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await frame();
}

interface Mounted {
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

let controller: AbortController;

beforeEach(() => {
  controller = new AbortController();
  (document.activeElement as HTMLElement | null)?.blur();
});
afterEach(() => {
  controller.abort();
  document.body.replaceChildren();
});

async function mounted(state: SessionView): Promise<Mounted> {
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

const question = (fields: Partial<Question> = {}): Question => ({
  pid: "p1",
  tid: "t1",
  tool: "run_python",
  agent: null,
  reason: "It changes files.",
  text: "print(1)",
  language: "python",
  options: ["allow_once", "allow_session", "deny"],
  session_rule: "all calls of run_python",
  ...fields,
});

const asking = (fields: Partial<Question> = {}): SessionView =>
  view(
    [message("u", [text("go")], "user"), message("a", [tool({ state: "awaiting-confirmation" })])],
    {
      ...STREAMING,
      phase: "awaiting_confirmation",
      question: question(fields),
      waiting_questions: 2,
    },
  );

const armed = (root: ShadowRoot): Promise<void> =>
  expect
    .poll(() => root.querySelector(".question")?.classList.contains("open"))
    .toBe(true) as never;

const area = (m: Mounted): HTMLTextAreaElement => m.find<HTMLTextAreaElement>("textarea");

// --- sending -----------------------------------------------------------------------------------

test("Enter sends the draft; the text is shown as being sent until the reply", async () => {
  const m = await mounted(view());
  await userEvent.click(area(m));
  await userEvent.keyboard("hello{Shift>}{Enter}{/Shift}there{Enter}");
  await frame();
  expect(m.model.commands("send").map((c) => c.text)).toEqual(["hello\nthere"]);
  expect(area(m).value).toBe("");
  expect(m.find(".sending").textContent).toContain("Sending…");
  await userEvent.keyboard("typed since");
  m.patch(["push", ["messages"], [message("u1", [text("hello\nthere")], "user")]]);
  m.model.reply();
  await frames(2);
  expect(m.all(".sending")).toHaveLength(0);
  expect(m.all(".said").map((e) => e.textContent)).toEqual(["hello\nthere"]);
  expect(area(m).value).toBe("typed since");
});

test("a refused text comes back with the reason, before what was typed since", async () => {
  const m = await mounted(view());
  await userEvent.click(area(m));
  await userEvent.keyboard("one{Enter}two");
  m.model.reply({ ok: false, code: "INPUT_BLOCKED", message: "x" });
  await frames(2);
  expect(area(m).value).toBe("one\ntwo");
  expect(m.find(".refusal").textContent).toMatch(/still working/);
});

test("the Enter of an input method does not send", async () => {
  const m = await mounted(view());
  await userEvent.click(area(m));
  await userEvent.keyboard("にほん");
  const press = (init: KeyboardEventInit): boolean =>
    area(m).dispatchEvent(
      new KeyboardEvent("keydown", {
        key: "Enter",
        bubbles: true,
        composed: true,
        cancelable: true,
        ...init,
      }),
    );
  area(m).dispatchEvent(new CompositionEvent("compositionstart"));
  press({ isComposing: true, keyCode: 229 });
  area(m).dispatchEvent(new CompositionEvent("compositionend"));
  expect(m.model.commands()).toHaveLength(0);
  press({ keyCode: 13 });
  expect(m.model.commands("send")).toHaveLength(1);
});

test("while a run goes on the composer takes text, and says why it cannot send", async () => {
  const m = await mounted(view([message("a", [text("x")])], STREAMING));
  await userEvent.click(area(m));
  await userEvent.keyboard("next question{Enter}");
  expect(m.model.commands()).toHaveLength(0);
  expect(area(m).value).toContain("next question");
  expect(m.find(".composer-hint").textContent).toMatch(/still working/);
  await userEvent.click(m.find(".stop"));
  expect(m.model.commands("stop")).toHaveLength(1);
  expect(m.root.activeElement).toBe(area(m));
});

test("Escape in the composer changes nothing", async () => {
  const m = await mounted(view([message("a", [text("x")])], STREAMING));
  await userEvent.click(area(m));
  await userEvent.keyboard("draft{Escape}");
  expect(area(m).value).toBe("draft");
  expect(m.model.commands()).toHaveLength(0);
});

// --- keyboard fence ----------------------------------------------------------------------------

test("no typed key reaches the page; the host's own shortcuts do", async () => {
  const m = await mounted(view());
  const heard: string[] = [];
  const listen = (event: KeyboardEvent): void => void heard.push(`${event.type} ${event.key}`);
  for (const type of ["keydown", "keypress", "keyup"] as const)
    document.addEventListener(type, listen);
  const suppressed: boolean[] = [];
  const early = (event: KeyboardEvent): void => {
    if (event.key.length === 1) suppressed.push(m.host.hasAttribute("data-lm-suppress-shortcuts"));
  };
  document.addEventListener("keydown", early, true);
  await userEvent.click(area(m));
  await userEvent.keyboard("dd{Enter}{Escape}{Control>}{Enter}{/Control}");
  m.find(".icon-button").focus();
  await userEvent.keyboard("a");
  const typed = heard.filter((entry) => !/Control|Shift/.test(entry));
  heard.length = 0;
  await userEvent.click(area(m));
  await userEvent.keyboard("{Control>}s{/Control}");
  for (const type of ["keydown", "keypress", "keyup"] as const)
    document.removeEventListener(type, listen);
  document.removeEventListener("keydown", early, true);
  expect(typed).toEqual([]);
  expect(heard).toContain("keydown s");
  expect(suppressed).toEqual([true, true, true, false]);
});

// --- questions ---------------------------------------------------------------------------------

test("focus in an empty composer moves to Deny; Tab reaches all answers; the answer brings it back", async () => {
  const m = await mounted(view([], STREAMING));
  await userEvent.click(area(m));
  m.model.deliver(m.model.snapshotMessage(asking(), 5));
  await frames(2);
  expect((m.root.activeElement as HTMLElement).dataset.decision).toBe("deny");
  await armed(m.root);
  await userEvent.keyboard("{Tab}");
  expect((m.root.activeElement as HTMLElement).dataset.decision).toBe("allow_session");
  await userEvent.keyboard("{Tab}");
  expect((m.root.activeElement as HTMLElement).dataset.decision).toBe("allow_once");
  await userEvent.keyboard("{Enter}");
  await frame();
  expect(m.model.commands("decide")[0]).toMatchObject({ pid: "p1", decision: "allow_once" });
  expect(m.root.activeElement).toBe(area(m));
  m.patch(["set", ["question"], null]);
  m.model.reply();
  await frames(2);
  expect(m.root.activeElement).toBe(area(m));
  expect(m.all(".question")).toHaveLength(0);
});

test("a person who types a draft keeps the focus, and Tab reaches the question backwards", async () => {
  const m = await mounted(view([], STREAMING));
  await userEvent.click(area(m));
  await userEvent.keyboard("draft");
  m.model.deliver(m.model.snapshotMessage(asking(), 5));
  await frames(2);
  expect(m.root.activeElement).toBe(area(m));
  expect(area(m).disabled).toBe(false);
  await userEvent.keyboard("{Shift>}{Tab}{/Shift}");
  expect((m.root.activeElement as HTMLElement).dataset.decision).toBe("allow_once");
});

test("focus elsewhere on the page is not taken", async () => {
  const m = await mounted(view([], STREAMING));
  const other = document.createElement("input");
  document.body.append(other);
  other.focus();
  m.model.deliver(m.model.snapshotMessage(asking(), 5));
  await frames(2);
  expect(document.activeElement).toBe(other);
});

test("a question cannot be answered in its first moment, and only once", async () => {
  const m = await mounted(asking());
  const allow = m.find('[data-decision="allow_once"]');
  expect(allow.getAttribute("aria-disabled")).toBe("true");
  allow.click();
  await frame();
  expect(m.model.commands("decide")).toHaveLength(0);
  await armed(m.root);
  allow.click();
  allow.click();
  m.find('[data-decision="allow_session"]')?.click();
  await frame();
  m.find('[data-decision="allow_session"]').click();
  expect(m.model.commands("decide")).toHaveLength(1);
});

test("Deny, Enter denies; a reason goes along when there is one", async () => {
  const m = await mounted(asking());
  await armed(m.root);
  m.find('[data-decision="deny"]').focus();
  await userEvent.keyboard("{Enter}");
  await frames(2);
  expect(m.root.activeElement).toBe(m.find(".deny-form input"));
  await userEvent.keyboard("{Enter}");
  await frame();
  expect(m.model.commands("decide")).toHaveLength(1);
  expect(m.model.commands("decide")[0]).toMatchObject({ decision: "deny" });
  expect(m.model.commands("decide")[0]).not.toHaveProperty("reason");

  m.model.deliver(m.model.snapshotMessage(asking({ pid: "p2" }), 9));
  await frames(2);
  await armed(m.root);
  m.find('[data-decision="deny"]').click();
  await frames(2);
  await userEvent.keyboard("not these files{Enter}");
  await frame();
  expect(m.model.commands("decide")[1]).toMatchObject({
    pid: "p2",
    decision: "deny",
    reason: "not these files",
  });
});

test("a refused answer is told in words", async () => {
  const m = await mounted(asking());
  await armed(m.root);
  m.find('[data-decision="allow_once"]').click();
  m.patch(["set", ["question"], null]);
  m.model.reply({ ok: false, code: "QUESTION_CLOSED", message: "x" });
  await frames(2);
  expect(m.find(".refusal").textContent).toMatch(/no longer open/);
});

test("the whole text is there, hidden characters as escapes, in card and question", async () => {
  const raw = `echo \u202E f/ tsil ; rm -r /\u202C ok\n${"x = 1\n".repeat(200)}print("مرحبا \u200B")`;
  const m = await mounted(asking({ text: raw, tool: "bash\u202Etxt", language: "bash" }));
  const code = m.find(".question code:not(h2 code)");
  expect(code.textContent).toContain("echo \\u202E f/ tsil ; rm -r /\\u202C ok");
  expect(code.textContent).toContain('print("مرحبا \\u200B")');
  expect([...code.querySelectorAll(".rtl")].map((run) => run.textContent)).toEqual(["مرحبا"]);
  expect(code.textContent!.split("x = 1")).toHaveLength(201);
  expect(m.find(".question h2").textContent).toContain("bash\\u202Etxt");
  expect(m.find(".waiting").textContent).toMatch(/lines/);
  expect(m.find(".question").getAttribute("role")).toBe("alertdialog");
  const pre = m.find(".question pre");
  expect(pre.scrollHeight).toBeGreaterThan(pre.clientHeight);
  expect(pre.scrollWidth).toBeLessThanOrEqual(pre.clientWidth);
});

// --- rendering ---------------------------------------------------------------------------------

test("patches of one frame are one rendering", async () => {
  const m = await mounted(view([message("a", [text("")])], STREAMING));
  const before = m.exported.stats().frames;
  for (let i = 0; i < 40; i++)
    m.patch(["append", ["messages", 0, "parts", 0, "text"], `word${i} `]);
  await frames(2);
  expect(m.exported.stats().frames - before).toBe(1);
  expect(m.find(".md").textContent).toContain("word39");
});

test("what did not change keeps its elements", async () => {
  const m = await mounted(
    view(
      [
        message("a", [text("one\n\ntwo")]),
        message("b", [tool({ state: "done", output: [{ type: "text", text: "x" }] }), text("")]),
      ],
      STREAMING,
    ),
  );
  const kept = [...m.all(".msg p"), m.find(".card"), m.find(".card pre")];
  m.patch(["append", ["messages", 1, "parts", 1, "text"], "grows"]);
  await frames(2);
  expect(kept.every((element) => element.isConnected)).toBe(true);
  expect(m.root.textContent).toContain("grows");
});

test("raw HTML is harmless in every place that shows text of a person, model or tool", async () => {
  const raw = `<img src=x onerror="window.P=1"> <svg/onload=window.P=1> <b>bold</b>`;
  const error = { code: raw, message: raw, advice: raw };
  const m = await mounted(
    view(
      [
        message("u", [text(raw)], "user"),
        message("a", [
          text(raw),
          tool({
            name: raw,
            input: { [raw]: raw },
            state: "error",
            error: { code: null, message: raw },
            output: [
              { type: "html", html: raw },
              { type: "text", text: raw },
              {
                type: "svg",
                svg: `<svg xmlns="http://www.w3.org/2000/svg" onload="window.P=1"><script>window.P=1</script></svg>`,
              },
            ],
          }),
          tool({
            tid: "t2",
            prompt: raw,
            progress: raw,
            live: raw,
            agent: { name: raw, status: "streaming", messages: [message("n", [text(raw)])] },
          }),
        ]),
      ],
      {
        ...STREAMING,
        error,
        model: { label: raw, offline: false, notice: raw },
        notices: [{ nid: "n", code: raw, message: raw }],
        question: question({ tool: raw, agent: raw, reason: raw, session_rule: raw, text: raw }),
        drafts: [{ name: raw, arguments: raw }],
      },
    ),
  );
  for (const head of m.all(".card-head[aria-expanded=false]")) head.click();
  await frames(3);
  expect((window as { P?: number }).P).toBeUndefined();
  const foreign = m
    .all("img")
    .filter((img) => !(img as HTMLImageElement).src.startsWith("data:image/svg+xml;base64,"));
  expect(foreign).toHaveLength(0);
  expect(m.all("[onerror],[onload],iframe,script")).toHaveLength(0);
});

test("the five states of a card differ in icon, word and colour", async () => {
  const states = ["running", "awaiting-confirmation", "done", "error", "cancelled"] as const;
  const m = await mounted(
    view([
      message(
        "a",
        states.map((state) => tool({ tid: state, state })),
      ),
    ]),
  );
  const cards = m.all(".card");
  const icons = cards.map((card) => card.querySelector(".card-icon")!.innerHTML);
  const words = cards.map((card) => card.querySelector(".card-state")!.textContent);
  const colours = cards.map((card) => getComputedStyle(card).borderInlineStartColor);
  for (const marks of [icons, words, colours]) expect(new Set(marks).size).toBe(5);
});

test("a card stays as the person left it while it changes and when it is shown again", async () => {
  const m = await mounted(
    view(
      [message("a", [tool({ state: "running", code: { text: "x", language: "python" } })])],
      STREAMING,
    ),
  );
  m.find(".card-head").click();
  await frame();
  expect(m.all(".card-body")).toHaveLength(0);
  m.patch(
    ["set", ["messages", 0, "parts", 0, "state"], "done"],
    ["set", ["messages", 0, "parts", 0, "output"], [{ type: "html", html: "<b>x</b>" }]],
  );
  await frames(2);
  expect(m.all(".card-body")).toHaveLength(0);
});

test("terminal output keeps colours and shows no other sequence; long output folds", async () => {
  const output = `\x1b[31mred\x1b[0m \x1b]8;;javascript:P=1\x07click\x1b]8;;\x07 a\u202Eb\n${"line\n".repeat(300)}`;
  const m = await mounted(
    view([
      message("a", [
        tool({
          state: "done",
          output: [
            { type: "html", html: "<i>x</i>" },
            { type: "text", text: output },
          ],
        }),
      ]),
    ]),
  );
  expect(m.find(".out-text .fg-1").textContent).toBe("red");
  expect(m.find(".out-text").textContent).toContain("red click a\\u202Eb");
  expect(m.find(".out-text pre").textContent!.split("\n").length).toBeLessThan(25);
  m.find(".out-text .link").click();
  await frame();
  expect(m.find(".out-text pre").textContent!.split("\n").length).toBeGreaterThan(299);
});

test("code is copied as it is, and that is said", async () => {
  const written: string[] = [];
  Object.defineProperty(navigator, "clipboard", {
    configurable: true,
    value: { writeText: async (value: string) => void written.push(value) },
  });
  const m = await mounted(view([message("a", [text("```py\nx = '\u202E'\n```")])]));
  m.find(".copy").focus();
  await userEvent.keyboard("{Enter}");
  await frame();
  expect(written).toEqual(["x = '\u202E'"]);
  expect(m.find("[aria-live=polite]").textContent).toBe("Copied");
});

test("an error explains its code and Retry retries", async () => {
  const m = await mounted(
    view([], {
      status: "error",
      phase: "error",
      can_retry: true,
      error: { code: "rate_limited", message: "429", advice: "Wait a minute." },
    }),
  );
  expect(m.find(".error-banner").textContent).toMatch(/no more requests.*429.*Wait a minute/s);
  m.find(".error-actions button").click();
  expect(m.model.commands("retry")).toHaveLength(1);
});

test("New conversation asks once and resets", async () => {
  const m = await mounted(view([message("a", [text("x")])]));
  m.find(".menu-holder .icon-button").click();
  await frame();
  m.find(".menu button").click();
  await frame();
  expect(m.model.commands("reset")).toHaveLength(0);
  m.find(".menu .danger-button").click();
  expect(m.model.commands("reset")).toHaveLength(1);
});

// --- following the tail, long sessions ---------------------------------------------------------

const tall = (count: number): SessionView =>
  view(
    Array.from({ length: count }, (_, i) =>
      message(`m${i}`, [text(`Message ${i}\n\nwith two paragraphs`)]),
    ),
    STREAMING,
  );

const atTail = (m: Mounted): boolean => {
  const scroller = m.find(".scroller");
  return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 30;
};

test("the tail is followed until the reader scrolls up, and again from the end on", async () => {
  const m = await mounted(tall(40));
  const scroller = m.find(".scroller");
  const grow = async (): Promise<void> => {
    m.patch(["append", ["messages", 39, "parts", 0, "text"], "\n\nmore text ".repeat(10)]);
    await frames(3);
  };
  expect(atTail(m)).toBe(true);
  await grow();
  expect(atTail(m)).toBe(true);
  scroller.scrollTop -= 200;
  await frames(2);
  const { scrollTop } = scroller;
  await grow();
  expect(scroller.scrollTop).toBe(scrollTop);
  expect(m.find(".pill").textContent).toContain("New text below");
  expect(document.scrollingElement!.scrollTop).toBe(0);
  m.find(".pill").click();
  await frames(2);
  await grow();
  expect(atTail(m)).toBe(true);
  expect(m.all(".pill")).toHaveLength(0);
});

test("opening a card keeps its place", async () => {
  const m = await mounted(tall(30));
  m.patch([
    "push",
    ["messages"],
    [
      message("last", [
        tool({ state: "done", output: [{ type: "text", text: "line\n".repeat(60) }] }),
      ]),
    ],
  ]);
  await frames(3);
  const head = m.find(".card-head");
  const before = head.getBoundingClientRect().top;
  head.click();
  await frames(4);
  expect(Math.abs(head.getBoundingClientRect().top - before)).toBeLessThan(2);
});

test("5,000 messages open with a page of them; earlier ones come on demand and nothing jumps", async () => {
  const m = await mounted(tall(5000));
  expect(m.all("article").length).toBeLessThanOrEqual(60);
  const scroller = m.find(".scroller");
  scroller.scrollTop = 0;
  await frames(2);
  const first = m.find("article");
  const before = first.getBoundingClientRect().top;
  m.find(".earlier").click();
  await frames(4);
  expect(m.all("article").length).toBeGreaterThanOrEqual(100);
  expect(Math.abs(first.getBoundingClientRect().top - before)).toBeLessThan(40);
});

test("messages that are not loaded are asked from the kernel", async () => {
  const m = await mounted(
    view([message("m7", [text("seven")])], {
      messages: { first: 7, items: [message("m7", [text("seven")])] },
    }),
  );
  m.find(".earlier").click();
  const request = m.model.sent.find((sent) => sent.kind === "history")!;
  expect(request.before).toBe(7);
  const items = Array.from({ length: 7 }, (_, i) => message(`m${i}`, [text(`old ${i}`)]));
  m.model.deliver({
    kind: "history",
    request_id: request.request_id,
    epoch: "e1",
    first: 0,
    items,
  });
  await frames(4);
  expect(m.all("article").map((article) => article.dataset.mid)).toEqual([
    "m0",
    "m1",
    "m2",
    "m3",
    "m4",
    "m5",
    "m6",
    "m7",
  ]);
  expect(m.all(".earlier")).toHaveLength(0);
});

// --- accessibility -----------------------------------------------------------------------------

test("a run of 400 chunks changes the live region at most four times; the log is silent", async () => {
  const m = await mounted(view([message("u", [text("go")], "user")]));
  expect(m.find(".scroller").getAttribute("role")).toBe("log");
  expect(m.find(".scroller").getAttribute("aria-live")).toBe("off");
  let changes = 0;
  const observer = new MutationObserver(() => changes++);
  for (const region of m.all("[aria-live=polite],[role=status],[role=alert]")) {
    observer.observe(region, { childList: true, characterData: true, subtree: true });
  }
  m.patch(["set", ["status"], "streaming"], ["push", ["messages"], [message("a", [text("")])]]);
  for (let i = 0; i < 400; i++) {
    m.patch(["append", ["messages", 1, "parts", 0, "text"], `chunk ${i} `]);
    if (i % 20 === 0) await frame();
  }
  m.patch(["set", ["status"], "idle"]);
  await frames(3);
  observer.disconnect();
  expect(changes).toBeGreaterThanOrEqual(2);
  expect(changes).toBeLessThanOrEqual(4);
  expect(m.find("[aria-live=polite]").textContent).toBe("Assistant finished.");
  expect(m.all("article").map((article) => article.getAttribute("aria-label"))).toEqual([
    "Message from You",
    "Message from Assistant",
  ]);
});

test("every control has a name", async () => {
  const m = await mounted(asking());
  for (const control of m.all("button,textarea,input,[role=region],[role=separator]")) {
    const name = control.getAttribute("aria-label") ?? control.textContent?.trim() ?? "";
    expect(name, control.outerHTML).not.toBe("");
  }
});

// --- connection, views, cleaning up ------------------------------------------------------------

test("a gone kernel is said, the draft stays, nothing throws", async () => {
  const m = await mounted(view([message("a", [text("x")])]));
  await userEvent.click(area(m));
  await userEvent.keyboard("my draft");
  m.model.broken = true;
  await userEvent.keyboard("{Enter}");
  await frames(2);
  expect(m.find(".connection").textContent).toMatch(/kernel of this chat is gone/);
  expect(area(m).value).toBe("my draft");
  await userEvent.keyboard("{Enter}");
  expect(m.exported.state().connection).toBe("disconnected");
});

test("a view that its host marks as cut off is a read-only transcript", async () => {
  const model = new TestModel();
  model.snapshot = {
    protocol: 1,
    epoch: "e1",
    seq: 3,
    view: view([message("a", [text("saved text")])]),
  };
  const widget = createWidget();
  widget.initialize({ model, signal: controller.signal });
  const host = document.createElement("div");
  host.className = "jupyter-widgets-disconnected";
  document.body.append(host);
  widget.render({ model, el: host, signal: controller.signal });
  await frames(3);
  const root = host.shadowRoot!;
  expect(root.textContent).toContain("saved text");
  expect(root.querySelector(".connection.saved")).not.toBeNull();
  expect(root.querySelector("textarea")).toBeNull();
});

test("two views show one session; each has its own draft", async () => {
  const m = await mounted(view([message("a", [text("x")])]));
  const second = m.addView();
  await frames(2);
  await userEvent.click(area(m));
  await userEvent.keyboard("mine");
  m.patch(["append", ["messages", 0, "parts", 0, "text"], "yz"]);
  await frames(2);
  expect(second.textContent).toContain("xyz");
  expect(m.root.textContent).toContain("xyz");
  expect(second.querySelector("textarea")!.value).toBe("");
  const greetings = m.model.sent.filter((sent) => sent.kind === "hello");
  expect(new Set(greetings.map((sent) => sent.view)).size).toBe(2);
});

test("unmounting and aborting remove all listeners, and nothing is rendered afterwards", async () => {
  const m = await mounted(view([message("a", [text("x")])]));
  m.unmount();
  m.unmount();
  expect(m.model.sent.filter((sent) => sent.kind === "bye")).toHaveLength(1);
  expect(m.root.childElementCount).toBe(0);
  m.patch(["append", ["messages", 0, "parts", 0, "text"], "y"]);
  await frames(2);
  expect(m.root.childElementCount).toBe(0);
  controller.abort();
  expect(m.model.listenerCount).toBe(0);
});

test("the theme is the host's, also when it changes", async () => {
  const m = await mounted(view());
  const classes = (): string => m.find(".aw").className;
  document.body.dataset.jpThemeLight = "false";
  await frame();
  expect(classes()).toContain("dark");
  document.body.dataset.jpThemeLight = "true";
  await frame();
  expect(classes()).toContain("light");
  delete document.body.dataset.jpThemeLight;
});

test("the view fits its width and never scrolls the page sideways", async () => {
  const wide = "x".repeat(500);
  const m = await mounted(
    view([
      message("u", [text(wide)], "user"),
      message("a", [
        text(`${wide}\n\n\`\`\`\n${wide}\n\`\`\`\n\n| ${wide} | b |\n|---|---|\n| 1 | 2 |`),
        tool({
          name: wide,
          state: "done",
          output: [
            { type: "text", text: wide },
            { type: "html", html: `<table><tr><td>${wide}</td><td>${wide}</td></tr></table>` },
          ],
        }),
      ]),
    ]),
  );
  m.host.style.width = "400px";
  await frames(2);
  expect(m.find(".scroller").scrollWidth).toBeLessThanOrEqual(m.find(".scroller").clientWidth);
  expect(m.find(".aw").getBoundingClientRect().width).toBeLessThanOrEqual(400);
});
