// Pictures on their way into a message: pasted, dropped or chosen, shown small until they are sent.

import type { RefObject, VNode } from "preact";
import { useRef } from "preact/hooks";
import { ACCEPTED, picturesIn } from "../images";
import { useTools, useWords, type ViewTools } from "../ui-state";
import type { Words } from "../words";
import type { Sender } from "./fields";
import { Cross, Picture } from "./Icons";

export type Attach = (files: Iterable<File>) => Promise<void>;

/** Adds the pictures in files to the draft, and says what became of them. */
export const attaching =
  (sender: RefObject<Sender>, tools: ViewTools, t: Words): Attach =>
  async (files) => {
    const kept = (): readonly string[] => sender.current!.state.client.draft.attachments;
    const { added, refusal } = await picturesIn([...files], kept, t);
    tools.remark(refusal ?? "");
    if (added.length === 0) return;
    tools.announce(t("images", { count: kept().length + added.length }));
    sender.current!.attach(added);
    tools.focusComposer();
  };

/** What is pasted as pictures: cells of a spreadsheet come as one, too, but are meant as text. */
export function pastedFiles(event: ClipboardEvent): File[] {
  const { files, types } = event.clipboardData!;
  return types.includes("text/plain") && types.includes("text/html") ? [] : [...files];
}

/** The properties of an element that takes dropped files; what is dropped beside it, the browser opens. */
export function dropTarget(attach: Attach) {
  const mark = (event: DragEvent, over: boolean): boolean => {
    if (!event.dataTransfer?.types.includes("Files")) return false;
    event.preventDefault();
    event.stopPropagation();
    (event.currentTarget as Element).classList.toggle("dropping", over);
    return true;
  };
  return {
    onDragOver: (event: DragEvent) => mark(event, true),
    onDragLeave: (event: DragEvent) => mark(event, false),
    onDrop: (event: DragEvent) => mark(event, false) && attach(event.dataTransfer!.files),
  };
}

export function AttachButton({ attach, disabled }: { attach: Attach; disabled: boolean }): VNode {
  const t = useWords();
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        accept={ACCEPTED}
        aria-label={t("attach")}
        multiple
        hidden
        onChange={({ currentTarget }) => {
          const files = [...currentTarget.files!];
          currentTarget.value = ""; // the same file can be chosen again
          void attach(files);
        }}
      />
      <button
        type="button"
        class="icon-button attach"
        aria-label={t("attach")}
        title={t("attach")}
        disabled={disabled}
        onClick={() => input.current!.click()}
      >
        <Picture />
      </button>
    </>
  );
}

interface ThumbnailsProps {
  addresses: readonly string[];
  detach: (address: string) => void;
}

export function Thumbnails({ addresses, detach }: ThumbnailsProps): VNode | null {
  const tools = useTools();
  const t = useWords();
  if (addresses.length === 0) return null;
  return (
    <ul class="thumbnails" aria-label={t("images", { count: addresses.length })}>
      {addresses.map((address, index) => {
        const remove = t("attach.remove", { number: index + 1 });
        return (
          <li key={address}>
            <img src={address} alt={`${t("image")} ${t.number(index + 1)}`} />
            <button
              type="button"
              class="icon-button"
              aria-label={remove}
              title={remove}
              onClick={() => {
                tools.focusComposer();
                tools.announce(t("removed"));
                detach(address);
              }}
            >
              <Cross />
            </button>
          </li>
        );
      })}
    </ul>
  );
}
