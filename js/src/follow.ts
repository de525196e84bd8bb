// Follows the tail of a scroller while the reader is at the tail, and only then.

const NEAR_PX = 24;

export class TailFollower {
  following = true;
  #scroller: HTMLElement;
  #changed: () => void;
  #lastTop = 0;
  #held = false;

  /** `changed` is called when `following` changed; everything ends with the signal. */
  constructor(scroller: HTMLElement, content: Element, changed: () => void, signal: AbortSignal) {
    this.#scroller = scroller;
    this.#changed = changed;
    scroller.addEventListener("scroll", this.#onScroll, { signal, passive: true });
    const observer = new ResizeObserver(() => this.stick());
    observer.observe(content);
    observer.observe(scroller);
    signal.addEventListener("abort", () => observer.disconnect(), { once: true });
  }

  get atTail(): boolean {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_PX;
  }

  /** Scrolls to the end when following, unless the reader has text selected. */
  stick(): void {
    if (!this.following || this.#held || this.#selecting()) return;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#lastTop = this.#scroller.scrollTop;
  }

  /** The reader leaves the tail, by other means than scrolling. */
  release(): void {
    this.#set(false);
  }

  /** Goes to the end and follows from now on. */
  jump(): void {
    this.#set(true);
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  /** Makes a change of size whose place on the screen must stay. */
  hold(change: () => void): void {
    this.#held = true;
    change();
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        this.#held = false;
        this.#set(this.atTail);
      }),
    );
  }

  // Only the reader scrolls up; growing content never lowers scrollTop.
  #onScroll = (): void => {
    const top = this.#scroller.scrollTop;
    if (this.atTail) this.#set(true);
    else if (top < this.#lastTop - 1) this.#set(false);
    this.#lastTop = top;
  };

  #set(following: boolean): void {
    if (following === this.following) return;
    this.following = following;
    this.#changed();
  }

  #selecting(): boolean {
    const root = this.#scroller.getRootNode() as ShadowRoot & {
      getSelection?: () => Selection | null;
    };
    const selection = root.getSelection?.() ?? null;
    return (
      selection !== null && !selection.isCollapsed && this.#scroller.contains(selection.anchorNode)
    );
  }
}
