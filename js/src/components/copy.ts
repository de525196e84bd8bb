// The copy buttons of code blocks, wherever in a view they stand.

import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { codeTextAround } from "../markdown/code";

const COPIED_MS = 1500;

/** Makes the copy buttons inside `panel` work and tells what came of it. */
export function useCopyButtons(
  panel: RefObject<HTMLElement | null>,
  announce: (text: string) => void,
): void {
  useEffect(() => {
    const element = panel.current;
    const copy = async (event: Event): Promise<void> => {
      const button = (event.target as Element).closest<HTMLButtonElement>("button[data-copy]");
      const text = button && codeTextAround(button);
      if (!button || text === null) return;
      const told = (await copied(text)) ? "Copied" : "Not copied";
      announce(told);
      button.textContent = told;
      setTimeout(() => {
        button.textContent = "Copy";
      }, COPIED_MS);
    };
    element?.addEventListener("click", copy);
    return () => element?.removeEventListener("click", copy);
  }, [panel, announce]);
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
