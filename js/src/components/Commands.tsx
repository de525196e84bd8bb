// The commands and attachments that fit what is being typed, to be completed by keyboard or click.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Command } from "../protocol";
import { visible } from "../text/escapes";
import { useWords } from "../ui-state";

const MOST = 8;

export interface Offers {
  list: VNode | null;
  /** Of the active option; undefined when nothing is offered. */
  active: string | undefined;
  /** True when the key was for the list. */
  onKey(event: KeyboardEvent): boolean;
}

/** A slash begins a command at the start of a message, an at sign an attachment anywhere. */
const TYPED = /(?:^\/|(?:^|\s)@)\S*$/;

export function useOffers(
  draft: string,
  commands: Command[],
  onDraft: (draft: string) => void,
): Offers {
  const t = useWords();
  const [index, setIndex] = useState(0);
  const [left, setLeft] = useState("");
  const typed = TYPED.exec(draft)?.[0].trimStart() ?? "";
  const word = typed.toLowerCase();
  const fitting = commands.filter(
    ({ text }) => text[0] === word[0] && text.toLowerCase().includes(word.slice(1)),
  );
  const done = draft === left || fitting.some(({ text }) => text === typed);
  const shown = done ? [] : fitting.slice(0, MOST);
  const at = Math.min(index, shown.length - 1);
  const take = ({ text }: Command): void => {
    setIndex(0);
    const whole = `${draft.slice(0, draft.length - typed.length)}${text} `;
    onDraft(whole);
  };
  return {
    active: shown.length > 0 ? `command-${at}` : undefined,
    onKey({ key, shiftKey, isComposing }) {
      if (shown.length === 0 || shiftKey || isComposing) return false;
      const step = { ArrowDown: 1, ArrowUp: -1 }[key];
      if (step) setIndex((at + step + shown.length) % shown.length);
      else if (key === "Enter" || key === "Tab") take(shown[at]!);
      else if (key === "Escape") setLeft(draft);
      else return false;
      return true;
    },
    list:
      shown.length === 0 ? null : (
        <div class="menu commands" id="commands" role="listbox" aria-label={t("commands")}>
          {shown.map((each, place) => (
            <button
              type="button"
              key={each.text}
              id={`command-${place}`}
              role="option"
              tabIndex={-1}
              aria-selected={place === at}
              onMouseDown={(event) => {
                event.preventDefault();
                take(each);
              }}
            >
              {visible(each.text)} <span class="quiet">{visible(each.hint)}</span>
            </button>
          ))}
        </div>
      ),
  };
}
