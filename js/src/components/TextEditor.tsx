import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isUnconfirmed } from "../composer";
import type { CommandName } from "../protocol";
import { isLeaveKey, isSendKey, useTools, useWords } from "../ui-state";
import { refusalInWords } from "../words";
import { useFittingHeight, useSender } from "./fields";

interface Props {
  mid: string;
  text: string;
  label: string;
  action: string;
  note?: string;
  command: CommandName;
  /** The command is for a session at rest, and this one is not: the run is stopped first. */
  stopsFirst: boolean;
  /** `saved` tells whether the kernel has the text, or the person gave it up. */
  close: (saved: boolean) => void;
}

interface Editing {
  draft: string;
  type: (text: string) => void;
  /** What is being waited for, in words; null when the text can be changed and sent. */
  busy: string | null;
  stops: boolean;
  isReady: boolean;
  isUnconfirmed: boolean;
  refusal: string | null;
  submit: () => Promise<void>;
  leave: (saved: boolean) => void;
}

function useEditing({ mid, text, command, stopsFirst, close }: Props): Editing {
  const tools = useTools();
  const t = useWords();
  const { state, type, send } = useSender(text);
  const { draft, delivery, error } = state.client;
  const [stopping, setStopping] = useState(false);
  const busy = stopping ? t("stopping.run") : delivery === "waiting" ? t("sending") : null;
  const isReady = busy === null && draft.text.trim() !== "";
  const isBusyThere = error?.code === "SESSION_BUSY";
  const stops = stopsFirst || isBusyThere;
  /** `left`: the person closed it; `lost`: what it belongs to has gone. */
  const fate = useRef<"open" | "left" | "lost">("open");
  /** The text that would be lost with the field. */
  const unsaved = useRef<string | null>(null);
  unsaved.current = draft.text === text || busy !== null ? null : draft.text;
  useEffect(
    () => () => {
      if (fate.current === "left") return;
      fate.current = "lost";
      if (unsaved.current !== null) tools.giveBack(unsaved.current, true);
    },
    [tools],
  );

  const leave = (saved: boolean): void => {
    fate.current = "left";
    close(saved);
  };
  const isTaken = async (): Promise<boolean> => {
    if (stops) {
      setStopping(true);
      const stopped = await tools.stopped();
      setStopping(false);
      if (!stopped.ok) tools.remark(refusalInWords(t, stopped.code, stopped.message));
      if (!stopped.ok || fate.current !== "open") return false;
    }
    return (await send(tools.command, command, { mid })).ok;
  };
  const submit = async (): Promise<void> => {
    if (!isReady) return;
    const taken = await isTaken();
    if (taken && fate.current === "open") leave(true);
    if (fate.current !== "lost") return;
    if (!taken) tools.giveBack(draft.text, true);
    tools.focusComposer();
  };
  return {
    draft: draft.text,
    type,
    busy,
    stops,
    isReady,
    isUnconfirmed: isUnconfirmed(state.client),
    refusal: error && !isBusyThere ? refusalInWords(t, error.code, error.message) : null,
    submit,
    leave,
  };
}

const MOST_PX = 160;

/** Changes a text in its place: Enter sends it, Escape leaves. A changed text that loses its place is given back. */
export function TextEditor(props: Props): VNode {
  const t = useWords();
  const { label, action, note } = props;
  const { draft, type, submit, leave, ...editing } = useEditing(props);
  const field = useRef<HTMLTextAreaElement>(null);
  useFittingHeight(field, draft, MOST_PX);
  useLayoutEffect(() => {
    const area = field.current!;
    area.focus({ preventScroll: true });
    area.setSelectionRange(area.value.length, area.value.length);
    area.form!.scrollIntoView({ block: "nearest" });
  }, []);
  const word = editing.isUnconfirmed ? t("send.again") : editing.stops ? t("stop.send") : action;
  return (
    <form
      class="editor"
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={(event) => isLeaveKey(event) && leave(false)}
    >
      <textarea
        ref={field}
        rows={1}
        dir="auto"
        value={draft}
        readOnly={editing.busy !== null}
        aria-label={label}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (!isSendKey(event)) return;
          event.preventDefault();
          void submit();
        }}
      />
      {note && <p class="edit-note">{note}</p>}
      {editing.stops && (
        <p class="edit-note" role="status">
          {t("stop.first")}
        </p>
      )}
      {editing.refusal && (
        <p class="refusal" role="alert">
          {editing.refusal}
        </p>
      )}
      {editing.isUnconfirmed && (
        <p class="refusal unconfirmed" role="alert">
          {t("unconfirmed")}
        </p>
      )}
      <div class="answers">
        {editing.busy && <span class="quiet">{editing.busy}</span>}
        <button type="button" class="quiet-button" onClick={() => leave(false)}>
          {t("cancel")}
        </button>
        <button
          type="button"
          class="answer primary"
          aria-disabled={!editing.isReady}
          onClick={submit}
        >
          {word}
        </button>
      </div>
    </form>
  );
}
