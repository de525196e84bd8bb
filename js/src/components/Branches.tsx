// What a message of the conversation can be made to branch into, and the way between its versions.

import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Branch, Message } from "../protocol";
import { useTools, useWords } from "../ui-state";
import { refusalInWords } from "../words";
import { Chevron, Pencil } from "./Icons";
import { TextEditor } from "./TextEditor";

const textOf = (message: Message): string =>
  message.parts.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n");

/** What a person said, and at rest the way to say it differently. */
export function Said({ message, atRest }: { message: Message; atRest: boolean }): VNode {
  const tools = useTools();
  const t = useWords();
  const [editing, setEditing] = useState(false);
  const pencil = useRef<HTMLButtonElement>(null);
  const text = textOf(message);
  if (editing) {
    return (
      <TextEditor
        mid={message.mid}
        text={text}
        label={t("edit.message")}
        action={t("edit.send")}
        note={t("edit.note")}
        command="edit"
        stopsFirst={!atRest}
        close={(saved) => {
          tools.keepPlace(() => setEditing(false));
          if (saved) tools.focusComposer();
          else requestAnimationFrame(() => pencil.current?.focus({ preventScroll: true }));
        }}
      />
    );
  }
  return (
    <div class="said-holder">
      {text && (
        <div class="said" dir="auto">
          {text}
        </div>
      )}
      {atRest && (
        <button
          type="button"
          class="icon-button pencil"
          ref={pencil}
          aria-label={t("edit.message")}
          title={t("edit.branch")}
          onClick={() => tools.keepPlace(() => setEditing(true))}
        >
          <Pencil />
        </button>
      )}
    </div>
  );
}

interface StepperProps {
  mid: string;
  branch: Branch;
  atRest: boolean;
}

/** Steps between the versions of a message; with each comes all that followed it. */
export function Stepper({ mid, branch, atRest }: StepperProps): VNode {
  const { index, count } = branch;
  const tools = useTools();
  const t = useWords();
  const holder = useRef<HTMLSpanElement>(null);
  // Another version is another row: the first stepper of what came has the place of the one that was used.
  useLayoutEffect(() => {
    const { stepping } = tools;
    if (stepping.current === null || stepping.current.from === mid) return;
    const used = holder.current!.querySelector<HTMLElement>(`.${stepping.current.button}`);
    stepping.current = null;
    if (!(holder.current!.getRootNode() as ShadowRoot).activeElement) {
      used?.focus({ preventScroll: true });
    }
  }, [tools, mid]);
  const step = async (to: number, button: string): Promise<void> => {
    tools.stepping.current = { from: mid, button };
    const outcome = await tools.command("branch", { mid, index: to });
    if (outcome.ok) {
      tools.announce(t("version.at", { index: to + 1, count }));
      return;
    }
    tools.stepping.current = null;
    tools.remark(refusalInWords(t, outcome.code, outcome.message));
  };
  const button = (way: "previous" | "next", to: number): VNode => {
    const possible = atRest && to >= 0 && to < count;
    return (
      <button
        type="button"
        class={`icon-button ${way}`}
        aria-label={t(`version.${way}`)}
        aria-disabled={!possible}
        title={t(atRest ? `version.${way}` : "version.busy")}
        onClick={() => possible && step(to, way)}
      >
        <Chevron />
      </button>
    );
  };
  return (
    <span class="stepper" role="group" aria-label={t("versions")} ref={holder}>
      {button("previous", index - 1)}
      <span>
        {index + 1}/{count}
      </span>
      {button("next", index + 1)}
    </span>
  );
}
