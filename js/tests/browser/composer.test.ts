import { expect, test, vi } from "vitest";
import { userEvent } from "vitest/browser";
import { RECEIPT_DEADLINE_MS } from "../../src/commands";
import { message, STREAMING, text, view } from "../support/model";
import { area, frame, frames, mounted } from "../support/mounted";

test("Enter sends the draft, once; it stays in the field until the kernel confirms it", async () => {
  const m = await mounted(view());
  await userEvent.click(area(m));
  await userEvent.keyboard("hello{Shift>}{Enter}{/Shift}there{Enter}{Enter}");
  await frame();
  expect(m.model.commands("send").map((c) => c.text)).toEqual(["hello\nthere"]);
  expect(area(m).value).toBe("hello\nthere");
  expect(m.find(".composer-hint").textContent).toBe("Sending…");
  await userEvent.keyboard("typed since");
  m.patch(["push", ["messages"], [message("u1", [text("hello\nthere")], "user")]]);
  m.model.reply({ ok: true, message_id: "u1" });
  await frames(2);
  expect(m.all(".said").map((e) => e.textContent)).toEqual(["hello\nthere"]);
  expect(area(m).value).toBe("typed since");
  expect(m.find(".composer-hint").textContent).toMatch(/Enter sends/);
});

test("a refused text stays in the field, with the reason next to it until the next key", async () => {
  const m = await mounted(view());
  await userEvent.click(area(m));
  await userEvent.keyboard("one{Enter}");
  m.model.reply({ ok: false, code: "INPUT_BLOCKED", message: "x" });
  await frames(2);
  expect(area(m).value).toBe("one");
  expect(m.find(".dock .refusal").textContent).toMatch(/still working/);
  await userEvent.keyboard("!{Enter}");
  expect(m.model.commands("send").map((c) => c.text)).toEqual(["one", "one!"]);
});

test("without a receipt it says so, sends again only when told, and a late receipt clears the field", async () => {
  const m = await mounted(view());
  await userEvent.click(area(m));
  await userEvent.keyboard("one");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  area(m).dispatchEvent(
    new KeyboardEvent("keydown", { key: "Enter", keyCode: 13, bubbles: true, cancelable: true }),
  );
  vi.advanceTimersByTime(RECEIPT_DEADLINE_MS - 1);
  const open = (): Element | null => m.root.querySelector(".unconfirmed");
  expect(open()).toBeNull();
  vi.advanceTimersByTime(1);
  vi.useRealTimers();
  await frames(2);
  expect(open()!.textContent).toMatch(/may or may not have arrived.*may duplicate/);
  expect(area(m).value).toBe("one");
  const [first] = m.model.commands("send");
  await userEvent.keyboard("{Enter}");
  expect(m.model.commands("send")).toHaveLength(1);
  m.find(".unconfirmed button").click();
  await frames(2);
  expect(open()).toBeNull();
  expect(m.model.commands("send").map((c) => c.text)).toEqual(["one", "one"]);
  expect(new Set(m.model.commands("send").map((c) => c.request_id)).size).toBe(2);
  expect(m.model.commands("send")[1]).not.toHaveProperty("queue");
  m.model.deliver({ kind: "reply", request_id: first!.request_id, ok: true, message_id: "u0" });
  await frames(2);
  expect(area(m).value).toBe("one");
  m.model.reply({ ok: true, message_id: "u1" });
  await frames(2);
  expect(area(m).value).toBe("");
});

test("a kernel that goes before it answers leaves the text, not confirmed", async () => {
  const m = await mounted(view());
  await userEvent.click(area(m));
  await userEvent.keyboard("one{Enter}");
  m.host.classList.add("jupyter-widgets-disconnected");
  await frames(3);
  expect(area(m).value).toBe("one");
  expect(m.find(".unconfirmed").textContent).toMatch(/may or may not have arrived/);
  expect(m.find<HTMLButtonElement>(".unconfirmed button").disabled).toBe(true);
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
