// The widget as anywidget loads it: `initialize` owns transport and store, `render` mounts a view.

import { type Model, Session } from "./session";
import { mountView } from "./view";

interface Initialize {
  model: Model;
  signal?: AbortSignal;
}

interface Render extends Initialize {
  el: HTMLElement;
}

/** Called by anywidget once for each model. */
export default () => {
  let session: Session | undefined;
  return {
    initialize({ model, signal }: Initialize) {
      const created = new Session(model, signal);
      session = created;
      return created.exports;
    },
    render({ model, el, signal }: Render) {
      session ??= new Session(model);
      let unmount: (() => void) | null = mountView(session, el);
      const cleanup = (): void => {
        unmount?.();
        unmount = null;
      };
      signal?.addEventListener("abort", cleanup, { once: true });
      return cleanup;
    },
  };
};
