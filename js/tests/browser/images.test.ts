import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import { MAX_IMAGES, PICTURE_CHARS } from "../../src/protocol";
import { STREAMING, view } from "../support/model";
import { area, frame, frames, type Mounted, mounted } from "../support/mounted";

/** A picture that no other one is like; noise of `size` pixels a side cannot be packed. */
async function picture(size = 2, type = "image/png"): Promise<File> {
  const canvas = new OffscreenCanvas(size, size);
  const context = canvas.getContext("2d")!;
  const pixels = context.createImageData(size, size);
  for (let at = 0; at < pixels.data.length; at += 65_536) {
    crypto.getRandomValues(pixels.data.subarray(at, at + 65_536));
  }
  for (let at = 3; at < pixels.data.length; at += 4) pixels.data[at] = 255;
  context.putImageData(pixels, 0, 0);
  return new File([await canvas.convertToBlob({ type })], "shot.png", { type });
}

const transferOf = (files: File[], texts: Record<string, string> = {}): DataTransfer => {
  const transfer = new DataTransfer();
  for (const file of files) transfer.items.add(file);
  for (const [type, text] of Object.entries(texts)) transfer.setData(type, text);
  return transfer;
};

/** Whether the paste was taken as pictures. */
const paste = (m: Mounted, clipboardData: DataTransfer): boolean =>
  !area(m).dispatchEvent(
    new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
  );

const drag = (target: Element, type: string, dataTransfer: DataTransfer): boolean =>
  !target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));

const thumbnails = (m: Mounted): string[] =>
  m.all(".thumbnails img").map((image) => (image as HTMLImageElement).src);

const shown = (m: Mounted, count: number): Promise<void> =>
  expect.poll(() => m.all(".thumbnails img").length).toBe(count) as never;

test("pasted pictures stay in the composer until the receipt, those added since longer", async () => {
  const m = await mounted(view());
  await userEvent.click(area(m));
  expect(paste(m, transferOf([await picture(), await picture()]))).toBe(true);
  await shown(m, 2);
  expect(m.find(".thumbnails").getAttribute("aria-label")).toBe("2 images");
  const sent = thumbnails(m);
  await userEvent.keyboard("{Enter}");
  expect(m.model.commands("send")[0]).toMatchObject({ text: "", images: sent });
  m.model.reply({ ok: false, code: "INVALID_INPUT", message: "An image is damaged." });
  await frames(2);
  expect(m.find(".dock .refusal").textContent).toBe("An image is damaged.");
  expect(thumbnails(m)).toEqual(sent);
  await userEvent.keyboard("see{Enter}");
  paste(m, transferOf([await picture()]));
  await shown(m, 3);
  const later = thumbnails(m).slice(2);
  m.model.reply({ ok: true, message_id: "u1" });
  await frames(2);
  expect([area(m).value, thumbnails(m)]).toEqual(["", later]);
});

test("a picture is taken out again by keyboard, and nothing is left to send", async () => {
  const m = await mounted(view());
  await userEvent.click(area(m));
  paste(m, transferOf([await picture()]));
  await shown(m, 1);
  expect(m.root.activeElement).toBe(area(m));
  await userEvent.keyboard("{Shift>}{Tab}{/Shift}");
  expect(m.root.activeElement?.getAttribute("aria-label")).toBe("Remove image 1");
  await userEvent.keyboard("{Enter}");
  await shown(m, 0);
  expect(m.root.activeElement).toBe(area(m));
  await userEvent.keyboard("{Enter}");
  expect(m.model.commands("send")).toEqual([]);
});

test("files are dropped anywhere on the chat; texts are left to the browser", async () => {
  const m = await mounted(view());
  const transcript = m.find(".panel > *");
  expect(drag(transcript, "dragover", transferOf([], { "text/plain": "x" }))).toBe(false);
  const files = transferOf([await picture()]);
  expect(drag(transcript, "dragover", files)).toBe(true);
  expect(m.find(".dropping")).not.toBeNull();
  expect(drag(transcript, "drop", files)).toBe(true);
  await shown(m, 1);
  expect(m.find(".dropping")).toBeNull();
});

test("the button opens the choice of files, which come like the others", async () => {
  const m = await mounted(view());
  const input = m.find<HTMLInputElement>("input[type=file]");
  let opened = 0;
  input.addEventListener("click", (event) => {
    event.preventDefault();
    opened++;
  });
  m.find("button[aria-label='Attach images']").focus();
  await userEvent.keyboard("{Enter}");
  expect(opened).toBe(1);
  input.files = transferOf([await picture()]).files;
  input.dispatchEvent(new Event("change"));
  await shown(m, 1);
});

test("what is no picture, or damaged, or one too many is refused in words and loses nothing", async () => {
  const m = await mounted(view());
  await userEvent.click(area(m));
  await userEvent.keyboard("draft");
  const refusal = (): string => m.root.querySelector(".dock .refusal")?.textContent ?? "";
  paste(m, transferOf([new File(["%PDF"], "a\u202eb.pdf", { type: "application/pdf" })]));
  await expect.poll(refusal).toContain(".pdf is no PNG, JPEG, WebP or GIF image.");
  expect(refusal()).not.toContain("\u202e");
  paste(m, transferOf([await picture(), new File(["x"], "bad.png", { type: "image/png" })]));
  await expect.poll(refusal).toBe("bad.png is no PNG, JPEG, WebP or GIF image.");
  expect(thumbnails(m)).toHaveLength(1);
  const many = await Promise.all(Array.from({ length: MAX_IMAGES }, () => picture()));
  paste(m, transferOf(many));
  await expect.poll(refusal).toBe("A message takes at most 10 images, of 6.9 MB together.");
  expect(thumbnails(m)).toHaveLength(MAX_IMAGES);
  expect(area(m).value).toBe("draft");
});

test("cells of a spreadsheet are text, whatever picture comes with them", async () => {
  const m = await mounted(view());
  const cells = { "text/plain": "1\t2", "text/html": "<table><tr><td>1<td>2</table>" };
  expect(paste(m, transferOf([await picture()], cells))).toBe(false);
  await frames(2);
  expect(thumbnails(m)).toEqual([]);
});

test("a picture too large for the transcript goes as small as models see it", async () => {
  const m = await mounted(view());
  const large = await picture(1800);
  expect(large.size).toBeGreaterThan(PICTURE_CHARS);
  paste(m, transferOf([large]));
  await shown(m, 1);
  expect(thumbnails(m)[0]).toMatch(/^data:image\/jpeg;base64,/);
  const image = m.find<HTMLImageElement>(".thumbnails img");
  await image.decode();
  expect([image.naturalWidth, image.naturalHeight]).toEqual([1568, 1568]);
});

test("a waiting message names its pictures; taken back, they are in the composer again", async () => {
  const waiting = [{ mid: "w", text: "", queue: "steering" as const, images: 1 }];
  const m = await mounted(view([], { ...STREAMING, waiting }));
  expect(m.find(".pending li").textContent).toBe("1 image");
  m.find("[aria-label='Remove waiting message']").click();
  await frame();
  const images = ["data:image/gif;base64,R0lGODlhAQABAAAAACw="];
  m.model.reply({ ok: true, text: "", images });
  await shown(m, 1);
  expect(thumbnails(m)).toEqual(images);
});

test("a chat that can only be read takes no pictures", async () => {
  const storage = { label: "x", is_durable: true, trouble: null, read_only: "elsewhere" };
  const m = await mounted(view([], { storage }));
  const files = transferOf([await picture()]);
  expect([paste(m, files), drag(m.find(".panel"), "dragover", files)]).toEqual([false, false]);
  expect(m.find<HTMLButtonElement>(".attach").disabled).toBe(true);
});
