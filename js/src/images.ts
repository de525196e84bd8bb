// Pictures that go with a message: files of the person as data addresses, within the kernel's bounds.

import { MAX_IMAGE_CHARS, MAX_IMAGES, PAGE_CHARS, PICTURE_CHARS } from "./protocol";
import { visible } from "./text/escapes";
import type { Words } from "./words";

const TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
export const ACCEPTED = TYPES.join();

/** Model servers make what is larger as small as this. */
const MOST_PX = 1568;

/** How many characters base64 needs for so many bytes. */
const charsOf = (bytes: number): number => Math.ceil(bytes / 3) * 4;

/**
 * The picture in a file, null when there is none. One that is too large to be shown in the transcript is
 * made no larger than models see it, as JPEG, which every server takes; animations stay as they are.
 */
async function pictureIn(file: File): Promise<Blob | null> {
  if (!TYPES.includes(file.type)) return null;
  try {
    const bitmap = await createImageBitmap(file);
    if (charsOf(file.size) <= PICTURE_CHARS || file.type === "image/gif") return file;
    const scale = Math.min(1, MOST_PX / Math.max(bitmap.width, bitmap.height));
    const width = Math.max(1, Math.round(bitmap.width * scale));
    const height = Math.max(1, Math.round(bitmap.height * scale));
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext("2d")!;
    context.fillStyle = "#fff";
    context.fillRect(0, 0, width, height);
    context.drawImage(bitmap, 0, 0, width, height);
    const smaller = await canvas.convertToBlob({ type: "image/jpeg", quality: 0.9 });
    return smaller.size < file.size ? smaller : file;
  } catch {
    return null;
  }
}

const addressOf = (picture: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(picture);
  });

/** The pictures in `files` that fit beside those that are `kept`, and in words why one is not among them. */
export async function picturesIn(
  files: File[],
  kept: () => readonly string[],
  t: Words,
): Promise<{ added: string[]; refusal: string | null }> {
  const megabytes = (chars: number): string =>
    t.number((chars * 3) / 4e6, { maximumFractionDigits: 1 });
  const read: string[] = [];
  let refusal: string | null = null;
  for (const file of files) {
    const name = visible(file.name);
    const picture = await pictureIn(file);
    if (!picture) refusal = t("attach.type", { name });
    else if (charsOf(picture.size) > MAX_IMAGE_CHARS) {
      refusal = t("attach.large", { name, size: megabytes(MAX_IMAGE_CHARS) });
    } else read.push(await addressOf(picture));
  }
  const all = new Set(kept());
  let left = PAGE_CHARS - [...all].join("").length;
  const added: string[] = [];
  for (const address of read) {
    if (all.has(address)) continue;
    if (all.size >= MAX_IMAGES || address.length > left) {
      refusal = t("attach.many", { most: MAX_IMAGES, size: megabytes(PAGE_CHARS) });
      break;
    }
    left -= address.length;
    all.add(address);
    added.push(address);
  }
  return { added, refusal };
}
