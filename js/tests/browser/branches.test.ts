// Saying an earlier message differently, stepping between its versions, and what the storage forbids.

import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import type { Message, SessionView } from "../../src/protocol";
import { message, STREAMING, text, view } from "../support/model";
import { area, frames, type Mounted, mounted } from "../support/mounted";

const chat = (fields: Partial<SessionView> = {}): SessionView =>
  view([message("u1", [text("plot it")], "user"), message("a1", [text("here")])], fields);

const pencil = (m: Mounted): HTMLElement | null => m.root.querySelector<HTMLElement>(".pencil");
const submit = (m: Mounted): HTMLElement => m.find(".editor .primary");

async function edited(m: Mounted, typed: string): Promise<void> {
  pencil(m)!.focus();
  await userEvent.keyboard(`{Enter}${typed}`);
}

test("a message said at rest can be said differently, as a new branch", async () => {
  const m = await mounted(chat());
  await edited(m, " again");
  expect(m.find(".editor").textContent).toMatch(/variables, files and money are not undone/);
  await userEvent.keyboard("{Enter}");
  expect(m.model.commands("edit")).toEqual([
    expect.objectContaining({ mid: "u1", text: "plot it again" }),
  ]);
  const branch = { index: 1, count: 2 };
  m.patch(
    ["trim", ["messages"], 0],
    ["push", ["messages"], [{ ...message("u2", [text("plot it again")], "user"), branch }]],
  );
  m.model.reply({ ok: true, message_id: "u2" });
  await frames(3);
  expect(m.all(".said").map((said) => said.textContent)).toEqual(["plot it again"]);
  expect(area(m).value).toBe("");
  expect(m.root.activeElement).toBe(area(m));
  expect(m.find(".stepper").textContent).toBe("2/2");
});

test("images stand over what is said of them, which alone is edited", async () => {
  const dot = {
    type: "image",
    mime: "image/gif",
    data: "R0lGODlhAQABAAAAACwAAAAAAQABAAA=",
  } as const;
  const m = await mounted(view([message("u1", [dot, text("plot it")], "user")]));
  const image = m.find(".msg.user .out-image img");
  expect(image.getAttribute("alt")).toBe("Image");
  const order = image.compareDocumentPosition(m.find(".said"));
  expect(order & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
  await edited(m, " again{Enter}");
  expect(m.model.commands("edit")).toEqual([expect.objectContaining({ text: "plot it again" })]);
});

test("Cancel and Escape leave the message as it was", async () => {
  const m = await mounted(chat());
  await edited(m, "!{Escape}");
  await frames(3);
  expect(m.all(".editor")).toHaveLength(0);
  expect(m.root.activeElement).toBe(pencil(m));
  expect(m.find(".said").textContent).toBe("plot it");
  expect(m.model.commands()).toHaveLength(0);
});

test("a refused branch says why and keeps the text", async () => {
  const m = await mounted(chat());
  await edited(m, "!{Enter}");
  m.model.reply({ ok: false, code: "STORAGE_ERROR", message: "" });
  await frames(2);
  expect(m.find(".editor .refusal").textContent).toMatch(/could not be stored/);
  expect(m.find<HTMLTextAreaElement>(".editor textarea").value).toBe("plot it!");
});

test("a run that is under way is stopped first, when the person says so", async () => {
  const m = await mounted(chat());
  await edited(m, "!");
  await userEvent.keyboard("{Enter}");
  m.model.reply({ ok: false, code: "SESSION_BUSY", message: "" });
  await frames(2);
  expect(submit(m).textContent).toBe("Stop and send");
  m.patch(["set", ["status"], "streaming"], ["set", ["interaction"], STREAMING.interaction]);
  await frames(2);
  submit(m).click();
  expect(m.model.commands("stop")).toHaveLength(1);
  m.model.reply();
  await frames(2);
  expect(m.model.commands("edit")).toHaveLength(1);
  m.patch(["set", ["status"], "idle"]);
  await frames(2);
  expect(m.model.commands("edit")).toHaveLength(2);
});

test("an edit given up while the run is being stopped is not sent", async () => {
  const m = await mounted(chat());
  await edited(m, "!");
  m.patch(["set", ["status"], "streaming"]);
  await frames(2);
  submit(m).click();
  m.model.reply();
  await userEvent.keyboard("{Escape}");
  m.patch(["set", ["status"], "idle"]);
  await frames(3);
  expect(m.model.commands("edit")).toHaveLength(0);
  expect(area(m).value).toBe("");
});

const versions = (mid: string, index: number): Message => ({
  ...message(mid, [text(`version ${index}`)], "user"),
  branch: { index, count: 3 },
});

test("versions are stepped through, and the focus stays on the step", async () => {
  const m = await mounted(view([message("a0", [text("hello")]), versions("v1", 1)]));
  const labels = m.all(".stepper button").map((button) => button.ariaLabel);
  expect(labels).toEqual(["Previous version", "Next version"]);
  m.find(".stepper .next").focus();
  await userEvent.keyboard("{Enter}");
  expect(m.model.commands("branch")[0]).toMatchObject({ mid: "v1", index: 2 });
  m.patch(["trim", ["messages"], 1], ["push", ["messages"], [versions("v2", 2)]]);
  m.model.reply();
  await frames(3);
  expect(m.find(".stepper").textContent).toBe("3/3");
  expect(m.root.activeElement).toBe(m.find(".stepper .next"));
  await userEvent.keyboard("{Enter}");
  expect(m.model.commands("branch")).toHaveLength(1);
});

test("while a run is under way nothing can be made to branch", async () => {
  const m = await mounted(view([versions("v1", 1), message("a", [text("x")])], STREAMING));
  for (const button of m.all(".stepper button")) button.click();
  expect(m.model.commands()).toHaveLength(0);
  expect(pencil(m)).toBeNull();
});

test("a session that is read-only here can be read, not changed, and says why", async () => {
  const storage = { label: "chats.db", is_durable: true, trouble: null, read_only: "It is open." };
  const m = await mounted(chat({ storage, name: "Penguins" }));
  expect(m.find(".connection span").textContent).toBe("Read-only here: It is open.");
  expect(m.find(".header").textContent).toMatch(/^Penguins.*Kept in chats\.db/);
  expect(area(m).readOnly).toBe(true);
  expect(m.find(".composer-hint").textContent).toBe("This chat can only be read here.");
  expect(m.find(".send").ariaDisabled).toBe("true");
  expect(pencil(m)).toBeNull();
});

test("a read-only session can be taken over or forked, and the kernel's refusal is read", async () => {
  const storage = { label: "chats.db", is_durable: true, trouble: null, read_only: "It is open." };
  const m = await mounted(chat({ storage }));
  for (const name of ["take_over", "fork"]) {
    m.all(".connection button")[name === "fork" ? 1 : 0]!.click();
    await frames(2);
    expect(m.model.commands(name)).toHaveLength(1);
  }
  m.model.reply({ ok: false, code: "SESSION_IN_USE", message: "Process 7 has it." });
  await frames(2);
  expect(m.find(".connection span").textContent).toBe("Process 7 has it.");
});

test("records that cannot be written are told about until they are", async () => {
  const m = await mounted(chat());
  expect(m.find(".kept").textContent).toBe("Kept in memory only until the kernel ends");
  m.patch(["set", ["storage", "trouble"], "the disk is full."]);
  await frames(2);
  expect(m.find(".trouble").textContent).toBe(
    "Not saved: the disk is full; it is written once the store works again.",
  );
  expect(area(m).readOnly).toBe(false);
  m.patch(["set", ["storage", "trouble"], null]);
  await frames(2);
  expect(m.all(".trouble")).toHaveLength(0);
});
