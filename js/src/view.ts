// One view of a session: a shadow root on the host's element, its keyboard fence, theme and height.

import { h, render } from "preact";
import { App } from "./components/App";
import { adoptStyles, fenceKeyboard, wearTheme } from "./frame";
import type { Session } from "./session";
import { css } from "./styles";

const LEAST_HEIGHT_PX = 200;

/** Mounts a view on `el`; the result unmounts it and removes all it registered. */
export function mountView(session: Session, el: HTMLElement): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  const root = el.shadowRoot ?? el.attachShadow({ mode: "open" });
  root.replaceChildren();
  adoptStyles(root, css);
  const frame = document.createElement("div");
  frame.className = "aw";
  const mount = document.createElement("div");
  mount.className = "mount";
  const handle = heightHandle(frame, session, signal);
  frame.append(mount, handle);
  root.append(frame);

  wearTheme(frame, el, signal);
  fenceKeyboard(el, root, signal);

  const applyWords = (): void => {
    const { words } = session;
    if (frame.lang === words.locale) return;
    frame.lang = words.locale;
    frame.dir = words.direction;
    handle.setAttribute("aria-label", words("height"));
  };
  applyWords();
  const unsubscribe = session.subscribe(applyWords);

  const close = session.openView();
  const checkHost = (): void => {
    if (el.closest(".jupyter-widgets-disconnected")) session.reportDead();
  };
  const timer = setTimeout(checkHost);
  const observer = new MutationObserver(checkHost);
  observer.observe(el, { attributes: true, attributeFilter: ["class"] });

  render(h(App, { session }), mount);
  return () => {
    controller.abort();
    clearTimeout(timer);
    observer.disconnect();
    unsubscribe();
    render(null, mount);
    root.replaceChildren();
    el.removeAttribute("data-lm-suppress-shortcuts");
    close();
  };
}

/** The strip at the lower edge that makes the view taller: by pointer, arrow keys, double click resets. */
function heightHandle(frame: HTMLElement, session: Session, signal: AbortSignal): HTMLElement {
  const handle = document.createElement("div");
  handle.className = "height-handle";
  handle.tabIndex = 0;
  handle.setAttribute("role", "separator");
  handle.setAttribute("aria-orientation", "horizontal");
  handle.setAttribute("aria-valuemin", String(LEAST_HEIGHT_PX));
  const heights = new ResizeObserver(() => {
    handle.setAttribute("aria-valuenow", String(frame.offsetHeight));
    handle.setAttribute("aria-valuemax", String(Math.max(frame.offsetHeight, screen.height)));
    handle.setAttribute("aria-valuetext", session.words("pixels", { count: frame.offsetHeight }));
  });
  heights.observe(frame);
  signal.addEventListener("abort", () => heights.disconnect(), { once: true });
  const setHeight = (height: number): void => {
    frame.style.height = `${Math.max(LEAST_HEIGHT_PX, height)}px`;
    frame.style.maxHeight = "none";
  };
  handle.addEventListener(
    "pointerdown",
    (down) => {
      const from = frame.offsetHeight - down.clientY;
      handle.setPointerCapture(down.pointerId);
      const move = (event: PointerEvent): void => setHeight(from + event.clientY);
      handle.addEventListener("pointermove", move, { signal });
      const end = (): void => handle.removeEventListener("pointermove", move);
      handle.addEventListener("lostpointercapture", end, { signal, once: true });
      down.preventDefault();
    },
    { signal },
  );
  handle.addEventListener(
    "keydown",
    (event) => {
      const step = { ArrowDown: 40, ArrowUp: -40 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      setHeight(frame.offsetHeight + step);
    },
    { signal },
  );
  handle.addEventListener("dblclick", () => frame.removeAttribute("style"), { signal });
  return handle;
}
