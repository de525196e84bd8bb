import { expect, test } from "vitest";
import entry from "../../src/explorer/widget";
import { TestModel } from "../support/model";

const FRAMES = { v: 1, live: true, label: "m", machines: [], steps: [] };

class ExplorerModel extends TestModel {
  override get(name: string): unknown {
    return { frames: FRAMES, at: -1, lane: {} }[name];
  }
}

test("an answer of the kernel that comes before the first drawing has settled is seen", async () => {
  const model = new ExplorerModel();
  const el = document.body.appendChild(document.createElement("div"));
  const widget = entry();
  widget.initialize({ model });
  widget.render({ model, el });
  model.deliver({ kind: "welcome" });
  const source = (): string => el.shadowRoot!.querySelector(".source")!.textContent!;
  await expect.poll(source).toBe("live");
});
