// The copy buttons of code blocks, wherever in a view they stand.

import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { codeTextAround } from "../markdown/code";
import type { Words } from "../words";

const COPIED_MS = 1500;

/** Makes the copy buttons inside `panel` work and tells what came of it. */
export function useCopyButtons(
  panel: RefObject<HTMLElement | null>,
  t: Words,
  announce: (text: string) => void,
): void {
  useEffect(() => {
    const element = panel.current;
    const copy = async (event: Event): Promise<void> => {
      const button = (event.target as Element).closest<HTMLButtonElement>("button[data-copy]");
      const text = button && codeTextAround(button);
      if (!button || text === null) return;
      const told = t((await copied(text)) ? "copy.done" : "copy.failed");
      announce(told);
      button.style.setProperty("--copy", JSON.stringify(told));
      setTimeout(() => {
        button.style.removeProperty("--copy");
      }, COPIED_MS);
    };
    element?.addEventListener("click", copy);
    return () => element?.removeEventListener("click", copy);
  }, [panel, t, announce]);
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
