// What every view of ours needs around it: its style sheet, the host's theme, and its keyboard to itself.

import { isDark, watchTheme } from "./theme";
import { isHostShortcut } from "./ui-state";

/** The theme's class on `frame`, kept right until the signal aborts. */
export function wearTheme(frame: HTMLElement, el: Element, signal: AbortSignal): void {
  const applyTheme = (): void => {
    const dark = isDark(el);
    frame.classList.toggle("dark", dark);
    frame.classList.toggle("light", !dark);
  };
  applyTheme();
  watchTheme(applyTheme, signal);
}

export function adoptStyles(root: ShadowRoot, css: string): void {
  try {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    root.adoptedStyleSheets = [sheet];
  } catch {
    const style = document.createElement("style");
    style.textContent = css;
    root.append(style);
  }
}

// Notebook hosts treat single keys as commands and listen in the capture phase, before this view. The
// attribute makes JupyterLab's registry skip this element; it is lifted for the host's own shortcuts.
export function fenceKeyboard(el: HTMLElement, root: ShadowRoot, signal: AbortSignal): void {
  const suppress = (on: boolean): void => {
    if (on) el.setAttribute("data-lm-suppress-shortcuts", "true");
    else el.removeAttribute("data-lm-suppress-shortcuts");
  };
  suppress(true);
  const early = (event: KeyboardEvent): void => suppress(!isHostShortcut(event));
  root.addEventListener("focusin", () => addEventListener("keydown", early, true), { signal });
  root.addEventListener("focusout", () => removeEventListener("keydown", early, true), { signal });
  signal.addEventListener("abort", () => removeEventListener("keydown", early, true), {
    once: true,
  });
  const keep = (event: Event): void => {
    if (!isHostShortcut(event as KeyboardEvent)) event.stopPropagation();
  };
  for (const type of ["keydown", "keypress", "keyup"])
    root.addEventListener(type, keep, { signal });
}
