// What one view remembers by itself: not shared with other views, not known to the kernel.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Outcome, Waits } from "./commands";
import type { CommandName } from "./protocol";
import { type Words, wordsOf } from "./words";

/** Stable for the life of a view, so that passing it down re-renders nothing. */
export interface ViewTools {
  /** Cards the person opened or closed, by tool call. */
  expanded: Map<string, boolean>;
  /** The button of a stepper through versions that was used last, until the version came. */
  stepping: { current: { from: string; button: string } | null };
  command(name: CommandName, fields?: object, waits?: Waits): Promise<Outcome>;
  /** Stops the run; resolves when it has ended, or with what was in the way. */
  stopped(): Promise<Outcome>;
  announce(text: string): void;
  /** Says something next to the composer, until there is something newer to say. */
  remark(text: string): void;
  focusComposer(): void;
  /** Puts a text and pictures into the composer when that has no text, or `always`. */
  giveBack(text: string, always: boolean, attachments?: readonly string[]): void;
  /** Keeps what is shown in place (or the tail in sight) when content above or below changes size. */
  keepPlace(change: () => void): void;
}

export const ToolsContext = createContext<ViewTools | null>(null);

export const useTools = (): ViewTools => useContext(ToolsContext)!;

export const WordsContext = createContext<Words>(wordsOf(null));

/** The strings of the view, in its language. */
export const useWords = (): Words => useContext(WordsContext);

/** False in a view whose kernel is gone: nothing runs there any more. */
export const LiveContext = createContext(true);

const isEnter = (event: KeyboardEvent): boolean =>
  event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229;

/** True for the Enter that sends: not with Shift, not the one that ends an input method's composition. */
export const isSendKey = (event: KeyboardEvent): boolean => isEnter(event) && !event.altKey;

/** True for the Alt+Enter that sends for later. */
export const isLaterKey = (event: KeyboardEvent): boolean => isEnter(event) && event.altKey;

/** True for the Escape that leaves a form, not the one that ends an input method's composition. */
export const isLeaveKey = (event: KeyboardEvent): boolean =>
  event.key === "Escape" && !event.isComposing;

const EDITING_KEYS = new Set("acvxzyAZ".split(""));
const NAVIGATION_KEYS = /^(?:Enter|Escape|Tab|Backspace|Delete|Home|End|Page|Arrow| )/;

/** True for a key combination meant for the host (Ctrl+S and the like), false for what is typed here. */
export const isHostShortcut = (event: KeyboardEvent): boolean => {
  if (/^F\d+$/.test(event.key)) return true;
  if (!(event.ctrlKey || event.metaKey)) return false;
  return !NAVIGATION_KEYS.test(event.key) && !EDITING_KEYS.has(event.key);
};
