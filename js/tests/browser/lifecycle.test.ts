import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import { message, text, tool, view } from "../support/model";
import { abortAll, area, asking, frame, frames, mounted, mountedSaved } from "../support/mounted";

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
  const root = await mountedSaved(view([message("a", [text("saved text")])]));
  expect(root.textContent).toContain("saved text");
  expect(root.querySelector(".connection.saved")).not.toBeNull();
  expect(root.querySelector("textarea")).toBeNull();
});

test("in a saved transcript nothing runs and nothing asks", async () => {
  const state = asking();
  const agent = { name: "helper", status: "streaming" as const, messages: [] };
  state.messages.items.push(message("b", [tool({ tid: "t2", state: "running", agent })]));
  const root = await mountedSaved(state);
  const cards = [...root.querySelectorAll<HTMLElement>(".card")];
  expect(cards.map((card) => card.dataset.state)).toEqual(["cancelled", "cancelled"]);
  expect(root.querySelectorAll(".question,.spinner,.working,.stop")).toHaveLength(0);
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
  abortAll();
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
