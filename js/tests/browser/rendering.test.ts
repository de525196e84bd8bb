import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import { message, modelNamed, STREAMING, text, tool, view } from "../support/model";
import { frame, frames, mounted, question } from "../support/mounted";

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

test("text that is withdrawn leaves the page; what came before it stays", async () => {
  const m = await mounted(
    view([message("u", [text("go")], "user"), message("a", [text("Kept.")])], STREAMING),
  );
  const withdrawn = (): boolean => !m.root.textContent!.includes("Half");
  const parts = ["messages", 1, "parts"];
  m.patch(["append", [...parts, 0, "text"], "\n\nHalf **of"]);
  await frames(2);
  expect(withdrawn()).toBe(false);
  m.patch(["set", [...parts, 0, "text"], "Kept."]);
  await frames(2);
  expect(withdrawn()).toBe(true);
  expect(m.find("[data-mid=a] .md").textContent!.trim()).toBe("Kept.");
  m.patch(["trim", parts, 0]);
  await frames(2);
  expect(m.root.textContent).not.toContain("Kept.");
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
        model: { ...modelNamed(raw, false, raw), thinking_levels: [raw], thinking: raw },
        notices: [{ nid: "n", code: raw, message: raw }],
        question: question({ tool: raw, agent: raw, reason: raw, text: raw, rules: [raw] }),
        queue: [{ tid: "q", tool: raw, agent: raw, text: raw }],
        permission: { mode: raw, warning: raw },
        todos: [{ content: raw, status: "pending" }],
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

test("what an agent said last stands once in its card, and what else it gives back stays", async () => {
  const said = (output: string) =>
    tool({
      state: "done",
      agent: { name: "critic", status: "idle", messages: [message("n", [text("Too **short**.")])] },
      output: [{ type: "text", text: output }],
    });
  const shown = async (output: string): Promise<string> =>
    (await mounted(view([message("a", [said(output)])]))).find(".card-body").textContent!;
  expect((await shown("Too **short**.")).match(/short/g)).toHaveLength(1);
  expect((await shown("Too long.")).match(/Too (short|long)\./g)).toHaveLength(2);
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
  m.patch(["set", ["status"], "streaming"]);
  await frames(2);
  expect(m.find("[aria-live=polite]").textContent).toBe("Assistant started.");
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

test("the summary of earlier messages is one line that opens, and the menu asks for one", async () => {
  const note = { kind: "compaction", is_shown: true };
  const summary = { ...message("k", [text("They said x.")], "user"), note };
  const usage = {
    input_tokens: 9,
    output_tokens: 1,
    cached_tokens: 0,
    requests: 1,
    cost: null,
    saved: null,
  };
  const unknown = { currency: null, context_tokens: null, context_window: 8000 };
  const m = await mounted(
    view([message("a", [text("x")]), summary, message("u", [text("y")], "user")], {
      usage: { ...usage, ...unknown },
    }),
  );
  expect(m.find(".compaction summary").textContent).toBe("Earlier messages were summarised");
  expect(m.find(".compaction").textContent).toContain("They said x.");
  expect(m.all(".author:not(.sr)").map((author) => author.textContent)).toEqual([
    "Assistant",
    "You",
  ]);
  expect(m.find(".usage").textContent).not.toContain("context");
  m.find(".menu-holder .icon-button").click();
  await frame();
  m.all(".menu button")[1]!.click();
  expect(m.model.commands("compact")).toHaveLength(1);
  m.patch(["set", ["status"], "streaming"]); // it would stop the run, and nobody was asked
  await frames(2);
  m.find(".menu-holder .icon-button").click();
  await frames(2);
  expect((m.all(".menu button")[1] as HTMLButtonElement).disabled).toBe(true);
  m.patch(["set", ["status"], "idle"], ["set", ["phase"], "compacting"]);
  await frame();
  expect(m.find(".working").textContent.trim()).toBe("Summarising…");
  m.model.reply({
    ok: false,
    code: "COMPACTION.NOTHING_TO_COMPACT",
    message: "Nothing to compact",
  });
  await frames(2);
  expect(m.find(".refusal").textContent).toBe("This conversation is too short to be summarised.");
});
