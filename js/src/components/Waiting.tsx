import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { memo } from "../memo";
import type { WaitingInput } from "../protocol";
import { visible } from "../text/escapes";
import { useTools, useWords } from "../ui-state";
import { QUEUES, refusalInWords } from "../words";
import { Chevron, Clock, Cross, Pencil } from "./Icons";
import { TextEditor } from "./TextEditor";

interface Props {
  rows: WaitingInput[];
  running: boolean;
  /** False when the kernel takes nothing: then they can only be read. */
  editable: boolean;
}

/** What is stored and waits for its place in the conversation, by when it will be used. */
export const Waiting = memo(({ rows, running, editable }: Props): VNode | null => {
  const t = useWords();
  if (rows.length === 0) return null;
  return (
    <section class="pending" aria-label={t("waiting")}>
      {QUEUES.map((queue) => {
        const own = rows.filter((row) => row.queue === queue);
        if (own.length === 0) return null;
        const title = t(`${running ? "queue" : "later"}.${queue}`);
        return (
          <div key={queue} role="group" aria-label={title}>
            <h3>
              <Clock />
              {title}
            </h3>
            <ul>
              {own.map((row) => (
                <Row key={row.mid} row={row} editable={editable} />
              ))}
            </ul>
          </div>
        );
      })}
    </section>
  );
});

const SHORT_CHARS = 140;
const SHORT_LINES = 2;

const isShort = (text: string): boolean =>
  text.length <= SHORT_CHARS && text.split("\n").length <= SHORT_LINES;

/** Takes a waiting message back; its text goes to the composer when that is empty. */
function useRemoval({ mid, text }: WaitingInput): () => Promise<void> {
  const tools = useTools();
  const t = useWords();
  const isOpen = useRef(false);
  return async () => {
    if (isOpen.current) return;
    isOpen.current = true;
    tools.focusComposer();
    const outcome = await tools.command("remove_waiting", { mid });
    isOpen.current = false;
    if (outcome.ok) {
      tools.giveBack(outcome.text ?? text, false, outcome.images);
      tools.announce(t("removed"));
    } else tools.remark(refusalInWords(t, outcome.code, outcome.message));
  };
}

function Row({ row, editable }: { row: WaitingInput; editable: boolean }): VNode {
  const { mid, text } = row;
  const tools = useTools();
  const t = useWords();
  const remove = useRemoval(row);
  const [editing, setEditing] = useState(false);
  const pencil = useRef<HTMLButtonElement>(null);
  const close = (saved: boolean): void => {
    setEditing(false);
    if (saved) tools.announce(t("saved"));
    requestAnimationFrame(() => pencil.current?.focus());
  };
  if (editing) {
    return (
      <li>
        <TextEditor
          mid={mid}
          text={text}
          label={t("waiting.one")}
          action={t("save")}
          command="edit_waiting"
          stopsFirst={false}
          close={close}
        />
      </li>
    );
  }
  return (
    <li>
      <Text text={visible(text)} />
      {row.images && <span class="quiet">{t("images", { count: row.images })}</span>}
      {editable && (
        <>
          <button
            type="button"
            class="icon-button"
            ref={pencil}
            aria-label={t("waiting.edit")}
            title={t("edit")}
            onClick={() => setEditing(true)}
          >
            <Pencil />
          </button>
          <button
            type="button"
            class="icon-button"
            aria-label={t("waiting.remove")}
            title={t("remove")}
            onClick={remove}
          >
            <Cross />
          </button>
        </>
      )}
    </li>
  );
}

/** A long text is folded until it is opened. */
function Text({ text }: { text: string }): VNode {
  const t = useWords();
  const [whole, setWhole] = useState(false);
  const folds = !isShort(text);
  return (
    <>
      <div class={folds && !whole ? "pending-text folded" : "pending-text"} dir="auto">
        {text}
      </div>
      {folds && (
        <button
          type="button"
          class="icon-button fold"
          aria-expanded={whole}
          aria-label={t("waiting.whole")}
          onClick={() => setWhole(!whole)}
        >
          <Chevron />
        </button>
      )}
    </>
  );
}
