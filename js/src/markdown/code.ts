// A block of code with its label and copy button, which may still be growing.

import { highlighted, languageLabel } from "./highlight";

/** Up to this size growing code is coloured anew at each line; beyond it, each time it grew by a quarter. */
const SMALL_CHARS = 2_000;

const sources = new WeakMap<Element, () => string>();

/** The raw text of the code block around `button`, or null. */
export function codeTextAround(button: Element): string | null {
  const figure = button.closest(".code");
  return (figure && sources.get(figure)?.()) ?? null;
}

export class CodeView {
  readonly element: HTMLElement;
  readonly #code: HTMLElement;
  readonly #language: string;
  readonly #escapes: boolean;
  #text = "";
  #added = "";
  #colouredChars = 0;

  /** `escapes`: characters without a glyph are shown as escapes (the copied text stays raw). */
  constructor(language: string, escapes = false) {
    this.#language = language;
    this.#escapes = escapes;
    this.element = document.createElement("div");
    this.element.className = "code";
    const bar = document.createElement("div");
    bar.className = "code-bar";
    const label = document.createElement("span");
    label.textContent = languageLabel(language);
    const copy = document.createElement("button");
    copy.type = "button";
    copy.className = "copy";
    copy.dataset.copy = "";
    // The words stand in the view around it, which may change its language.
    copy.setAttribute("aria-labelledby", "aw-copy");
    bar.append(label, copy);
    const pre = document.createElement("pre");
    pre.dir = "ltr";
    // A scrollable region must be reachable by keyboard.
    pre.tabIndex = 0;
    pre.setAttribute("aria-labelledby", "aw-code");
    pre.setAttribute("role", "region");
    this.#code = pre.appendChild(document.createElement("code"));
    this.element.append(bar, pre);
    sources.set(this.element, () => this.#text.replace(/\n$/, ""));
  }

  /** Adds text at the end; `flush` shows it. */
  append(text: string): void {
    this.#added += text;
  }

  /** Shows what was added, at a cost that does not grow with the text that is there; false if nothing was. */
  flush(): boolean {
    if (this.#added === "") return false;
    const added = this.#take();
    const total = this.#text.length;
    if (total < SMALL_CHARS || total > this.#colouredChars * 1.25) this.#colour();
    else this.#code.append(highlighted(added, this.#language, this.#escapes));
    return true;
  }

  /** Colours the whole text once more: nothing will be added. */
  settle(): void {
    this.#take();
    if (this.#text.endsWith("\n")) this.#text = this.#text.slice(0, -1);
    this.#colour();
  }

  #take(): string {
    const added = this.#added;
    this.#text += added;
    this.#added = "";
    return added;
  }

  #colour(): void {
    this.#colouredChars = this.#text.length;
    this.#code.replaceChildren(highlighted(this.#text, this.#language, this.#escapes));
  }
}

/** A whole block of code. */
export function codeBlock(text: string, language: string, escapes = false): HTMLElement {
  const view = new CodeView(language, escapes);
  view.append(text);
  view.settle();
  return view.element;
}
