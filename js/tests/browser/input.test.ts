// Messages sent while a run is under way: the rule, the two ways to send, and what waits.

import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import type { SessionView, WaitingInput } from "../../src/protocol";
import { message, STREAMING, text, view } from "../support/model";
import { area, asking, frames, type Mounted, mounted } from "../support/mounted";

const STEER: Partial<SessionView> = {
  ...STREAMING,
  interaction: { can_send: true, revision: 2 },
  input_policy: { while_running: "steer", override: "steer" },
};
const working = (fields: Partial<SessionView> = {}): SessionView =>
  view([message("u", [text("go")], "user"), message("a", [text("x")])], { ...STEER, ...fields });

const soon: WaitingInput = { mid: "w1", queue: "steering", text: "leave out 2009" };
const later: WaitingInput = { mid: "w2", queue: "follow_up", text: "then plot it" };

const button = (m: Mounted, name: string): HTMLButtonElement =>
  m.all("button").find((b) => (b.getAttribute("aria-label") ?? b.textContent) === name) as never;
const spoken = (m: Mounted): string | null => m.find('[role="status"].sr').textContent;

test("Enter sends for the next step, Alt+Enter for after the run, and there are buttons for both", async () => {
  const m = await mounted(working());
  await userEvent.click(area(m));
  for (const [press, queue] of [
    [() => userEvent.keyboard("{Enter}"), "steering"],
    [() => userEvent.keyboard("{Alt>}{Enter}{/Alt}"), "follow_up"],
    [() => button(m, "Next step").click(), "steering"],
    [() => button(m, "After this run").click(), "follow_up"],
  ] as const) {
    await userEvent.fill(area(m), "text");
    await press();
    expect(m.model.commands("send").at(-1)).toMatchObject({ text: "text", queue });
    m.model.reply({ ok: true, message_id: "w9", queue });
    await frames(2);
    expect(area(m).value).toBe("");
  }
  expect(m.model.commands("send")).toHaveLength(4);
  m.find(".stop").click();
  expect(m.model.commands("stop")).toHaveLength(1);
});

test("what was not confirmed is sent again to where it was sent before", async () => {
  const m = await mounted(working());
  await userEvent.fill(area(m), "text");
  await userEvent.keyboard("{Alt>}{Enter}{/Alt}");
  m.model.reply({ ok: true });
  await frames(2);
  m.find(".unconfirmed button").click();
  expect(m.model.commands("send").map((c) => c.queue)).toEqual(["follow_up", "follow_up"]);
});

test("at rest a message goes without a queue, and Alt+Enter sends nothing", async () => {
  const m = await mounted(view());
  await userEvent.click(area(m));
  await userEvent.keyboard("hi{Alt>}{Enter}{/Alt}");
  expect(m.model.commands("send")).toHaveLength(0);
  await userEvent.keyboard("{Enter}");
  expect(m.model.commands("send")[0]).not.toHaveProperty("queue");
});

test("the switch changes what is done with messages, and shows what the kernel says", async () => {
  const block = { while_running: "block", override: null } as const;
  const m = await mounted(working({ ...STREAMING, input_policy: block }));
  const toggle = (): HTMLElement => m.find('[role="switch"]');
  expect(toggle().getAttribute("aria-checked")).toBe("false");
  toggle().click();
  expect(m.model.commands("set_input_policy")[0]).toMatchObject({ mode: "steer" });
  m.model.reply();
  m.patch(
    ["set", ["input_policy"], STEER.input_policy],
    ["set", ["interaction"], STEER.interaction],
  );
  await frames(2);
  expect(toggle().getAttribute("aria-checked")).toBe("true");
  expect(button(m, "Next step")).toBeDefined();
  toggle().click();
  expect(m.model.commands("set_input_policy")[1]).toMatchObject({ mode: "block" });
  m.model.reply({ ok: false, code: "STORAGE_ERROR", message: "" });
  await frames(2);
  expect(m.find(".refusal").textContent).toMatch(/could not be stored/);
});

test("Stop follows the session's status: there while it runs, whatever may be sent", async () => {
  const m = await mounted(working(STREAMING));
  expect(m.find(".send").ariaDisabled).toBe("true");
  expect(m.find(".stop").ariaDisabled).toBe("false");
  m.patch(["set", ["phase"], "stopping"], ["set", ["can_stop"], false]);
  await frames(2);
  m.find(".stop").click();
  expect(m.model.commands("stop")).toHaveLength(0);
  m.patch(["set", ["status"], "idle"], ["set", ["phase"], "idle"]);
  await frames(2);
  expect(m.all(".stop")).toHaveLength(0);
});

test("a kernel without a word on sending is judged by its status, and steers nothing", async () => {
  const { interaction: _none, ...old } = working();
  const m = await mounted(old);
  await userEvent.fill(area(m), "hi");
  await userEvent.keyboard("{Enter}{Alt>}{Enter}{/Alt}");
  expect(m.model.commands("send")).toHaveLength(0);
  expect(m.all('[role="switch"], .worded')).toHaveLength(0);
  m.patch(["set", ["status"], "idle"], ["set", ["phase"], "idle"]);
  await frames(2);
  await userEvent.keyboard("{Enter}");
  expect(m.model.commands("send")).toHaveLength(1);
});

test("what waits is shown in two groups until it is used, and is told politely", async () => {
  const m = await mounted(working({ waiting: [soon] }));
  const groups = (): (string | null)[] =>
    m.all(".pending [role=group]").map((group) => group.getAttribute("aria-label"));
  expect(groups()).toEqual(["Before the next step"]);
  m.patch(["push", ["waiting"], [later]]);
  await frames(2);
  expect(groups()).toEqual(["Before the next step", "After this run"]);
  expect(spoken(m)).toBe("Message waits. After this run.");
  const applied = { ...message("w1", [text(soon.text)], "user"), is_steering: true };
  m.patch(["set", ["waiting"], [later]], ["push", ["messages"], [applied]]);
  await frames(2);
  expect(groups()).toEqual(["After this run"]);
  expect(m.find('[data-mid="w1"]').textContent).toMatch(/leave out 2009.*Sent while working/);
  expect(spoken(m)).toBe("Waiting message used.");
  m.patch(["set", ["status"], "idle"], ["set", ["phase"], "idle"]);
  await frames(2);
  expect(groups()).toEqual(["After the next run"]);
});

test("in a chat that is closed, what waits and what was typed can only be read", async () => {
  const interaction = { can_send: false, revision: 3 };
  const m = await mounted(view([], { waiting: [soon], phase: "closed", interaction }));
  expect(m.find(".pending").querySelectorAll("button")).toHaveLength(0);
  expect(m.find<HTMLTextAreaElement>(".composer textarea").readOnly).toBe(true);
  expect(m.find(".composer-hint").textContent).toBe("This chat is closed. Run its cell again.");
});

test("a long waiting message is folded and can be read whole", async () => {
  const m = await mounted(working({ waiting: [{ ...soon, text: "line\n".repeat(9) }] }));
  const height = (): number => m.find(".pending-text").offsetHeight;
  const folded = height();
  button(m, "Whole message").click();
  await frames(2);
  expect(height()).toBeGreaterThan(2 * folded);
});

test("a waiting message is edited in its place: Enter saves, Escape leaves it as it was", async () => {
  const m = await mounted(working({ waiting: [soon] }));
  button(m, "Edit waiting message").focus();
  await userEvent.keyboard("{Enter}!{Escape}");
  await frames(3);
  expect(m.all(".editor")).toHaveLength(0);
  expect(m.root.activeElement).toBe(button(m, "Edit waiting message"));
  await userEvent.keyboard("{Enter} and 2010{Enter}");
  expect(m.model.commands("edit_waiting")).toEqual([
    expect.objectContaining({ mid: "w1", text: "leave out 2009 and 2010" }),
  ]);
  m.patch(["set", ["waiting", 0, "text"], "leave out 2009 and 2010"]);
  m.model.reply();
  await frames(3);
  expect(m.all(".editor")).toHaveLength(0);
  expect(m.find(".pending-text").textContent).toBe("leave out 2009 and 2010");
  expect(area(m).value).toBe("");
});

test("a change of a message that is used meanwhile is given back, also when it was just sent", async () => {
  const m = await mounted(working({ waiting: [soon] }));
  button(m, "Edit waiting message").click();
  await frames(2);
  await userEvent.keyboard(", please");
  m.patch(["set", ["waiting"], []]);
  await frames(2);
  expect(area(m).value).toBe("leave out 2009, please");
  expect(m.find(".refusal").textContent).toMatch(/no longer there/);

  m.patch(["set", ["waiting"], [later]]);
  await frames(2);
  button(m, "Edit waiting message").click();
  await frames(2);
  await userEvent.keyboard(" small{Enter}");
  m.patch(["set", ["waiting"], []]);
  await frames(2);
  expect(area(m).value).toBe("leave out 2009, please");
  m.model.reply({ ok: false, code: "INVALID_INPUT", message: "It was used." });
  await frames(2);
  expect(area(m).value).toBe("leave out 2009, please\nthen plot it small");
});

test("a removed message comes back to the field when that is empty", async () => {
  const m = await mounted(working({ waiting: [soon, later] }));
  for (const kept of ["leave out 2009 (as stored)", "mine"]) {
    if (kept === "mine") await userEvent.fill(area(m), kept);
    button(m, "Remove waiting message").click();
    m.patch(["set", ["waiting"], m.exported.state().view!.waiting.slice(1)]);
    m.model.reply({ ok: true, text: "leave out 2009 (as stored)" });
    await frames(2);
    expect(area(m).value).toBe(kept);
  }
  expect(m.model.commands("remove_waiting").map((c) => c.mid)).toEqual(["w1", "w2"]);
  expect(m.root.activeElement).toBe(area(m));
});

test("while a question is open a run that takes messages still takes them", async () => {
  const m = await mounted({ ...asking(), ...STEER, phase: "awaiting_confirmation" });
  await userEvent.fill(area(m), "only the first ten rows");
  await userEvent.keyboard("{Enter}");
  expect(m.model.commands("send")[0]).toMatchObject({ queue: "steering" });
});
