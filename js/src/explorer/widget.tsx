// The explorer as anywidget loads it: `initialize` owns the data, `render` mounts a view.

import { h, render } from "preact";
import { adoptStyles, fenceKeyboard, wearTheme } from "../frame";
import { App } from "./components/App";
import { Explorer, type Model } from "./model";
import { css } from "./styles";

interface Initialize {
  model: Model;
  signal?: AbortSignal;
}

interface Render extends Initialize {
  el: HTMLElement;
}

function mountView(explorer: Explorer, el: HTMLElement): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  const root = el.shadowRoot ?? el.attachShadow({ mode: "open" });
  root.replaceChildren();
  adoptStyles(root, css);
  const frame = document.createElement("div");
  frame.className = "aw aw-explorer";
  root.append(frame);
  wearTheme(frame, el, signal);
  fenceKeyboard(el, root, signal);
  render(h(App, { explorer }), frame);
  return () => {
    controller.abort();
    render(null, frame);
    root.replaceChildren();
    el.removeAttribute("data-lm-suppress-shortcuts");
  };
}

/** Called by anywidget once for each model. */
export default () => {
  let explorer: Explorer | undefined;
  return {
    initialize({ model, signal }: Initialize) {
      explorer = new Explorer(model, signal);
    },
    render({ model, el, signal }: Render) {
      explorer ??= new Explorer(model);
      let unmount: (() => void) | null = mountView(explorer, el);
      const cleanup = (): void => {
        unmount?.();
        unmount = null;
      };
      signal?.addEventListener("abort", cleanup, { once: true });
      return cleanup;
    },
  };
};
