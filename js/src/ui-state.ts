// What one view remembers by itself: not shared with other views, not known to the kernel.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Outcome } from "./commands";
import type { CommandName } from "./protocol";

/** Stable for the life of a view, so that passing it down re-renders nothing. */
export interface ViewTools {
  /** Cards the person opened or closed, by tool call. */
  expanded: Map<string, boolean>;
  command(name: CommandName, fields?: object, onSlow?: () => void): Promise<Outcome>;
  announce(text: string): void;
  focusComposer(): void;
  /** Keeps what is shown in place (or the tail in sight) when content above or below changes size. */
  keepPlace(change: () => void): void;
}

export const ToolsContext = createContext<ViewTools | null>(null);

export const useTools = (): ViewTools => useContext(ToolsContext)!;

/** False in a view whose kernel is gone: nothing runs there any more. */
export const LiveContext = createContext(true);

export interface Sending {
  text: string;
  slow: boolean;
  /** Number of messages there were when it was sent: its message is a later one. */
  after: number;
}

/** What the composer holds: the draft, the text on its way, and why the last one was not taken. */
export interface ComposerState {
  draft: string;
  sending: Sending | null;
  refusal: string | null;
}

export type ComposerEvent =
  | { type: "typed"; draft: string }
  | { type: "sent"; text: string; after: number }
  | { type: "slow" }
  | { type: "accepted" }
  | { type: "refused"; reason: string };

export const emptyComposer: ComposerState = { draft: "", sending: null, refusal: null };

/** The next composer state; a text that was not taken comes back before what was typed since. */
export function composed(state: ComposerState, event: ComposerEvent): ComposerState {
  switch (event.type) {
    case "typed":
      return { ...state, draft: event.draft, refusal: null };
    case "sent":
      return {
        draft: "",
        sending: { text: event.text, slow: false, after: event.after },
        refusal: null,
      };
    case "slow":
      return state.sending ? { ...state, sending: { ...state.sending, slow: true } } : state;
    case "accepted":
      return { ...state, sending: null };
    case "refused": {
      const text = state.sending?.text ?? "";
      const draft = text && state.draft ? `${text}\n${state.draft}` : text || state.draft;
      return { draft, sending: null, refusal: event.reason };
    }
  }
}

/** True for the Enter that sends: not with Shift, not the one that ends an input method's composition. */
export const isSendKey = (event: KeyboardEvent): boolean =>
  event.key === "Enter" &&
  !event.shiftKey &&
  !event.altKey &&
  !event.isComposing &&
  event.keyCode !== 229;

const EDITING_KEYS = new Set("acvxzyAZ".split(""));
const NAVIGATION_KEYS = /^(?:Enter|Escape|Tab|Backspace|Delete|Home|End|Page|Arrow| )/;

/** True for a key combination meant for the host (Ctrl+S and the like), false for what is typed here. */
export const isHostShortcut = (event: KeyboardEvent): boolean => {
  if (/^F\d+$/.test(event.key)) return true;
  if (!(event.ctrlKey || event.metaKey)) return false;
  return !NAVIGATION_KEYS.test(event.key) && !EDITING_KEYS.has(event.key);
};
