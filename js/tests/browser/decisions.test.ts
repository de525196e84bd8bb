// The answers that take more than a click: edited arguments and rules for more than this once.

import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import type { Question } from "../../src/protocol";
import { area, armed, asking, frame, frames, type Mounted, mounted } from "../support/mounted";

const SHELL: Partial<Question> = {
  tool: "bash",
  text: "git status && git log",
  language: "bash",
  args: { command: "git status && git log", timeout_s: 5 },
  rules: ["bash(git status)", "bash(git log *)"],
};

const editor = (m: Mounted): HTMLTextAreaElement => m.find(".edit-form textarea");
const rule = (m: Mounted, index: number): HTMLInputElement =>
  m.all(".rules input")[index] as HTMLInputElement;
const button = (m: Mounted, decision: string): HTMLElement =>
  m.find(`form [data-decision="${decision}"]`);
const focused = (m: Mounted): HTMLElement => m.root.activeElement as HTMLElement;
const decisions = (m: Mounted): Record<string, unknown>[] => m.model.commands("decide");

async function opened(form: "edit" | "rules", fields: Partial<Question> = {}): Promise<Mounted> {
  const m = await mounted(asking(fields));
  await armed(m.root);
  m.find(`[data-form="${form}"]`).click();
  await frames(2);
  return m;
}

const ready = (m: Mounted, decision: string): Promise<void> =>
  expect.poll(() => button(m, decision).getAttribute("aria-disabled")).toBe("false") as never;

test("edited text of the one argument is sent exactly as it stands in the editor", async () => {
  const m = await opened("edit", { text: "print('a')\n", args: { code: "print('a')\n" } });
  expect(focused(m)).toBe(editor(m));
  expect(editor(m).value).toBe("print('a')\n");
  expect(m.all(".question .code")).toHaveLength(0);
  await userEvent.fill(editor(m), "print('b')\n\tx  ");
  await ready(m, "edit");
  const shown = editor(m).value;
  button(m, "edit").click();
  button(m, "edit").click();
  await frame();
  button(m, "edit").click();
  expect(decisions(m)).toHaveLength(1);
  expect(decisions(m)[0]).toMatchObject({ pid: "p1", decision: "edit", args: { code: shown } });
  expect(editor(m).readOnly).toBe(true);
  expect(m.root.activeElement).toBe(area(m));
});

test("nothing is sent as edited before something is changed, nor while it is not JSON", async () => {
  const m = await opened("edit", SHELL);
  await new Promise((resolve) => setTimeout(resolve, 600));
  button(m, "edit").click();
  expect(button(m, "edit").title).toMatch(/Nothing is changed/);
  await userEvent.fill(editor(m), '{"command": "ls"');
  await frames(2);
  expect(m.find(".edit-note").textContent).toMatch(/not JSON yet/);
  expect(editor(m).getAttribute("aria-invalid")).toBe("true");
  button(m, "edit").click();
  expect(decisions(m)).toHaveLength(0);
  await userEvent.fill(editor(m), '{"command": "ls", "timeout_s": 9}');
  await frames(2);
  expect(editor(m).getAttribute("aria-invalid")).toBe("false");
  button(m, "edit").click();
  await frame();
  expect(decisions(m)[0]).toMatchObject({ args: { command: "ls", timeout_s: 9 } });
});

test("a refused edit stays in the editor with the kernel's words, and can be sent again", async () => {
  const m = await opened("edit", SHELL);
  await userEvent.fill(editor(m), '{"command": 7}');
  await ready(m, "edit");
  button(m, "edit").click();
  await frame();
  m.model.reply({ ok: false, code: "INVALID_ARGS", message: "command: must be a string\u202E" });
  await frames(3);
  expect(m.find(".question .refusal").textContent).toBe("command: must be a string\\u202E");
  expect(editor(m).value).toBe('{"command": 7}');
  expect(focused(m)).toBe(editor(m));
  await userEvent.fill(editor(m), '{"command": "ls"}');
  await ready(m, "edit");
  button(m, "edit").click();
  await frame();
  expect(decisions(m)).toHaveLength(2);
  expect(m.all(".question .refusal")).toHaveLength(0);
  m.model.reply({ ok: false, code: "QUESTION_CLOSED", message: "" });
  await frames(2);
  expect(m.find(".dock > .refusal").textContent).toMatch(/no longer open/);
  button(m, "edit").click();
  await frame();
  expect(decisions(m)).toHaveLength(2);
});

test("cancelled editing sends nothing, shows the question again, and keeps the draft", async () => {
  const m = await opened("edit");
  await userEvent.keyboard("x");
  await userEvent.keyboard("{Escape}");
  await frames(2);
  expect(focused(m).dataset.form).toBe("edit");
  expect(m.find(".question .code").textContent).toContain("print(1)");
  expect(m.find(".question .code").textContent).not.toContain("xprint");
  await userEvent.keyboard("{Enter}");
  await frames(2);
  expect(editor(m).value).toBe("xprint(1)");
  await userEvent.keyboard("{Tab}{Enter}");
  await frames(2);
  expect(focused(m).dataset.form).toBe("edit");
  expect(decisions(m)).toHaveLength(0);
  m.find('[data-decision="allow_once"]').click();
  await frame();
  expect(decisions(m)[0]).toMatchObject({ decision: "allow_once" });
  expect(decisions(m)[0]).not.toHaveProperty("args");
});

test("hidden characters in the editor are told with their lines", async () => {
  const text = 'a = 1\npath = "report\u202Egpj.sh"';
  const m = await opened("edit", { text, args: { code: text } });
  expect(m.find(".unseen").textContent).toContain('line 2: path = "report\\u202Egpj.sh"');
  await userEvent.fill(editor(m), "a = 1");
  await frames(2);
  expect(m.all(".unseen")).toHaveLength(0);
});

test("the rules are shown one a line with the project's file, and sent as narrowed", async () => {
  const m = await opened("rules", SHELL);
  expect(focused(m)).toBe(rule(m, 0));
  expect([0, 1].map((index) => rule(m, index).value)).toEqual(SHELL.rules);
  expect(m.find(".rules-form").textContent).toContain("/home/ada/work/.agent-widget/settings.json");
  expect(m.find("#rules-note").textContent).toMatch(/narrow/);
  await userEvent.fill(rule(m, 1), "bash(git log -3)");
  await ready(m, "allow_session");
  button(m, "allow_session").click();
  button(m, "allow_project").click();
  await frame();
  button(m, "allow_session").click();
  expect(decisions(m)).toHaveLength(1);
  expect(decisions(m)[0]).toMatchObject({
    decision: "allow_session",
    rules: ["bash(git status)", "bash(git log -3)"],
  });
});

test("an emptied rule is left out, and without any rule nothing can be allowed", async () => {
  const m = await opened("rules", SHELL);
  await ready(m, "allow_project");
  for (const index of [0, 1]) await userEvent.fill(rule(m, index), "");
  await frames(2);
  button(m, "allow_project").click();
  expect(decisions(m)).toHaveLength(0);
  expect(m.find("#rules-note").textContent).toMatch(/at least one/);
  await userEvent.fill(rule(m, 0), "bash(git status)");
  await ready(m, "allow_project");
  button(m, "allow_project").click();
  await frame();
  expect(decisions(m)[0]).toMatchObject({ decision: "allow_project", rules: ["bash(git status)"] });
});

test("a refused rule stays in its field with the kernel's words", async () => {
  const m = await opened("rules", SHELL);
  await userEvent.fill(rule(m, 0), "bash(*)");
  await ready(m, "allow_session");
  button(m, "allow_session").click();
  await frame();
  m.model.reply({ ok: false, code: "INVALID_RULE", message: "bash(*) is wider than offered" });
  await frames(3);
  expect(m.find(".question .refusal").textContent).toMatch(/wider than offered/);
  expect(rule(m, 0).value).toBe("bash(*)");
  expect(focused(m)).toBe(rule(m, 0));
});

test("a rule of several lines is shown whole and can only be taken as it is", async () => {
  const several = "bash(for i in 1 2; do\n echo $i\ndone)";
  const m = await opened("rules", { ...SHELL, rules: [several] });
  expect(rule(m, 0).value).toBe("bash(for i in 1 2; do\\n echo $i\\ndone)");
  expect(rule(m, 0).readOnly).toBe(true);
  await ready(m, "allow_session");
  button(m, "allow_session").click();
  await frame();
  expect(decisions(m)[0]).toMatchObject({ rules: [several] });
});

test("without a rule only this once is on offer, with the reason", async () => {
  for (const fields of [
    { rules: [] },
    { options: ["allow_once", "edit", "deny"] as Question["options"] },
  ]) {
    const m = await mounted(asking(fields));
    await armed(m.root);
    expect(m.all('[data-form="rules"]')).toHaveLength(0);
    expect(m.find(".once-only").textContent).toMatch(/no rule/);
  }
  const m = await opened("rules", { options: ["allow_once", "allow_session", "deny"] });
  expect(m.all('[data-decision="allow_project"], #rules-file')).toHaveLength(0);
  expect(button(m, "allow_session")).not.toBeNull();
});

test("no form opens in the first moment of a question, and none answers in its own", async () => {
  const m = await mounted(asking(SHELL));
  for (const form of ["edit", "rules"]) m.find(`[data-form="${form}"]`).click();
  await frames(2);
  expect(m.all(".question form")).toHaveLength(0);
  await armed(m.root);
  m.find('[data-form="rules"]').click();
  await frames(2);
  for (const decision of ["allow_session", "allow_project"]) button(m, decision).click();
  m.find(".rules-form .quiet-button").click();
  await frames(2);
  m.find('[data-form="edit"]').click();
  await frames(2);
  editor(m).value = '{"command": "ls"}';
  editor(m).dispatchEvent(new InputEvent("input", { bubbles: true }));
  await frame();
  expect(button(m, "edit").title).toBe("");
  button(m, "edit").click();
  await frame();
  expect(decisions(m)).toHaveLength(0);
});

test("keys alone edit and allow, and narrow and allow", async () => {
  const m = await mounted(asking());
  await armed(m.root);
  m.find('[data-decision="deny"]').focus();
  await userEvent.keyboard("{Tab}{Tab}{Enter}");
  await frames(2);
  await userEvent.keyboard("# {Enter}");
  await ready(m, "edit");
  await userEvent.keyboard("{Tab}{Tab}{Enter}");
  await frame();
  expect(decisions(m)[0]).toMatchObject({ decision: "edit", args: { code: "# \nprint(1)" } });
  expect(m.root.activeElement).toBe(area(m));

  m.model.deliver(m.model.snapshotMessage(asking({ ...SHELL, pid: "p2" }), 9));
  await frames(2);
  await armed(m.root);
  expect(focused(m).dataset.decision).toBe("deny");
  await userEvent.keyboard("{Tab}{Enter}");
  await frames(2);
  await userEvent.keyboard("{End}{Backspace} -s){Enter}");
  await ready(m, "allow_session");
  expect(decisions(m)).toHaveLength(1);
  await userEvent.keyboard("{Tab}{Tab}{Tab}{Enter}");
  await frame();
  expect(decisions(m)[1]).toMatchObject({
    pid: "p2",
    decision: "allow_session",
    rules: ["bash(git status -s)", "bash(git log *)"],
  });
});
