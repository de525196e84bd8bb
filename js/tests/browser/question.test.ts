import { afterEach, expect, test, vi } from "vitest";
import { userEvent } from "vitest/browser";
import { ARMING_MS } from "../../src/components/QuestionForms";
import { STREAMING, view } from "../support/model";
import { area, armed, asking, frame, frames, mounted } from "../support/mounted";

afterEach(() => {
  vi.useRealTimers();
});

test("focus in an empty composer moves to Deny; Tab reaches all answers; the answer brings it back", async () => {
  const m = await mounted(view([], STREAMING));
  await userEvent.click(area(m));
  m.model.deliver(m.model.snapshotMessage(asking(), 5));
  await frames(2);
  expect((m.root.activeElement as HTMLElement).dataset.decision).toBe("deny");
  await armed(m.root);
  await userEvent.keyboard("{Tab}");
  expect((m.root.activeElement as HTMLElement).dataset.form).toBe("rules");
  await userEvent.keyboard("{Tab}");
  expect((m.root.activeElement as HTMLElement).dataset.decision).toBe("edit");
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
  const m = await mounted(view([], STREAMING));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  m.model.deliver(m.model.snapshotMessage(asking(), 5));
  const drawn = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      vi.advanceTimersByTime(1);
      await frame();
    }
  };
  await drawn();
  const allow = m.find('[data-decision="allow_once"]');
  for (const waitedMs of [0, ARMING_MS - 20]) {
    vi.advanceTimersByTime(waitedMs);
    await drawn();
    expect(allow.getAttribute("aria-disabled")).toBe("true");
    allow.click();
    await drawn();
    expect(m.model.commands("decide")).toHaveLength(0);
  }
  vi.advanceTimersByTime(20);
  await drawn();
  allow.click();
  allow.click();
  m.find('[data-form="rules"]').click();
  await drawn();
  m.find('[data-form="rules"]').click();
  await drawn();
  expect(m.all(".rules-form")).toHaveLength(0);
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

test("Back and Escape leave the denial without an answer, with the focus on Deny again", async () => {
  const m = await mounted(asking());
  await armed(m.root);
  for (const leave of ["{Escape}", "{Tab}{Enter}"]) {
    m.find('[data-decision="deny"]').click();
    await frames(2);
    await userEvent.keyboard(leave);
    await frames(2);
    expect((m.root.activeElement as HTMLElement).dataset.decision).toBe("deny");
  }
  m.find('[data-decision="deny"]').click();
  await frames(2);
  await userEvent.keyboard("no{Tab}{Tab}{Enter}");
  await frame();
  expect(m.model.commands("decide").map((c) => [c.decision, c.reason])).toEqual([["deny", "no"]]);
  expect(m.root.activeElement).toBe(area(m));
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
  const code = m.find(".question-text code");
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
