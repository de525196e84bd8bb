import { expect, test } from "vitest";
import type { SessionView } from "../../src/protocol";
import { message, STREAMING, text, tool, view } from "../support/model";
import { asking, frame, frames, type Mounted, mounted } from "../support/mounted";

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
  const { top } = scroller.getBoundingClientRect();
  const read = m.all("article").find((row) => row.getBoundingClientRect().top > top)!;
  const before = read.getBoundingClientRect().top;
  await grow();
  expect(Math.abs(read.getBoundingClientRect().top - before)).toBeLessThan(1);
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
  expect(Math.abs(first.getBoundingClientRect().top - before)).toBeLessThan(2);
});

test("earlier messages stay on the page, also for a reader who never scrolled", async () => {
  const m = await mounted(tall(5000));
  for (const count of [100, 150, 200]) {
    m.find(".earlier").click();
    await frames(4);
    expect(m.all("article").length).toBeGreaterThanOrEqual(count);
  }
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
    const named = control.getAttribute("aria-labelledby");
    const holder = named === null ? control : m.find(`#${named}`);
    const name = holder.getAttribute("aria-label") ?? holder.textContent?.trim() ?? "";
    expect(name, control.outerHTML).not.toBe("");
  }
});
