// What a view shows besides the conversation: queue, warning, plan, edited calls.

import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import { message, tool, view } from "../support/model";
import { asking, frames, mounted, mountedSaved } from "../support/mounted";

test("the waiting calls are named, and listed on demand in their order", async () => {
  const m = await mounted(asking());
  const queue = m.find<HTMLDetailsElement>(".queue");
  expect(queue.open).toBe(false);
  expect(queue.querySelector("summary")!.textContent).toBe("2 more waiting: bash, write_file");
  queue.querySelector("summary")!.focus();
  await userEvent.keyboard("{Enter}");
  await frames(2);
  expect(queue.open).toBe(true);
  expect(m.all(".queue li").map((item) => item.textContent)).toEqual([
    "bash git status",
    "helper: write_file notes.md",
  ]);
  m.patch(["set", ["queue"], []]);
  await frames(2);
  expect(m.all(".queue")).toHaveLength(0);
});

test("a warning of the permission mode stays in the header as long as it lasts", async () => {
  const warning = "Everything is allowed\u202E.";
  const permission = { mode: "allow_all", warning };
  const m = await mounted(view([], { permission }));
  const alarm = m.find(".header .alarm");
  expect(alarm.textContent).toBe("Everything is allowed\\u202E.");
  expect(alarm.getAttribute("role")).toBe("alert");
  const [red = 0, green = 0] = getComputedStyle(alarm)
    .backgroundColor.match(/[\d.]+/g)!
    .map(Number);
  expect(red).toBeGreaterThan(2 * green);
  m.host.style.width = "400px";
  await frames(2);
  const { width, right } = alarm.getBoundingClientRect();
  expect(width).toBeGreaterThan(390);
  expect(right).toBeLessThanOrEqual(m.host.getBoundingClientRect().right);
  m.patch(["set", ["permission"], { mode: "default", warning: null }]);
  await frames(2);
  expect(m.all(".alarm")).toHaveLength(0);
  const saved = await mountedSaved(view([], { permission }));
  expect(saved.querySelector(".alarm")).toBeNull();
});

test("the plan is a checklist that tells how far it is, closes, and goes when it is empty", async () => {
  const m = await mounted(view([message("a", [])]));
  expect(m.all(".todos")).toHaveLength(0);
  m.patch([
    "set",
    ["todos"],
    [
      { content: "look", status: "completed" },
      { content: "clean", status: "in_progress" },
      { content: "plot", status: "pending" },
    ],
  ]);
  await frames(2);
  const head = m.find(".todos-head");
  expect(head.textContent).toBe("Plan: 1 of 3 done");
  expect(m.all(".todos li").map((item) => item.textContent)).toEqual([
    "look(done)",
    "clean(in progress)",
    "plot(to do)",
  ]);
  head.focus();
  await userEvent.keyboard("{Enter}");
  await frames(2);
  expect(m.all(".todos li")).toHaveLength(0);
  expect(head.getAttribute("aria-expanded")).toBe("false");
  expect(head.textContent).toBe("Plan: 1 of 3 doneclean");
  m.patch(["set", ["todos"], []]);
  await frames(2);
  expect(m.all(".todos")).toHaveLength(0);
});

test("a question gets the space of the plan, until the person wants it", async () => {
  const todos = [{ content: "look", status: "pending" as const }];
  const m = await mounted({ ...asking(), todos });
  expect(m.all(".todos li")).toHaveLength(0);
  m.find(".todos-head").click();
  await frames(2);
  expect(m.all(".todos li")).toHaveLength(1);
});

test("a call whose arguments the person edited says so", async () => {
  const m = await mounted(
    view([
      message("a", [
        tool({ tid: "t1", state: "done", is_edited: true }),
        tool({ tid: "t2", state: "done" }),
      ]),
    ]),
  );
  expect(m.all(".card-edited").map((badge) => badge.textContent)).toEqual(["edited by you"]);
  expect(m.find('[data-tid="t1"] .card-edited')).not.toBeNull();
});

test("a call that goes on after a Stop says so in its card, also a narrow one, and then how it ended", async () => {
  const at = ["messages", 0, "parts", 0];
  const m = await mounted(view([message("a", [tool({ state: "cancelled", stop: "running_on" })])]));
  m.host.style.width = "320px";
  const state = m.find(".card-state");
  expect(state.textContent).toBe("Stop asked; still running in its thread");
  await frames(2);
  const card = m.find(".card");
  expect(card.scrollWidth).toBeLessThanOrEqual(card.clientWidth);
  m.patch(
    ["set", [...at, "stop"], "finished"],
    ["set", [...at, "output"], [{ type: "text", text: "42" }]],
  );
  await frames(2);
  expect(state.textContent).toBe("Finished anyway, after the Stop");
  m.find(".card-head").click();
  await frames(2);
  expect(m.find(".card-body").textContent).toContain("42");
});

test("the card stays inside a narrow and low view, whatever is open in it", async () => {
  const m = await mounted(
    asking({ text: "x = 1\n".repeat(60), args: { code: "x = 1\n".repeat(60) } }),
  );
  m.host.style.width = "400px";
  await expect.poll(() => m.find(".question").classList.contains("open")).toBe(true);
  for (const form of ["rules", "edit"]) {
    m.find(`[data-form="${form}"]`).click();
    await frames(2);
    const card = m.find(".question").getBoundingClientRect();
    for (const inside of m.all(".question form button")) {
      inside.scrollIntoView({ block: "nearest" });
      const box = inside.getBoundingClientRect();
      expect(box.bottom).toBeLessThanOrEqual(card.bottom + 1);
      expect(box.right).toBeLessThanOrEqual(card.right);
    }
    m.find(".question form .quiet-button").click();
    await frames(2);
  }
});

test("sums of money have the digits that tell them, and none where there is nothing to tell", async () => {
  const usage = (cost: string | null, saved: string | null) =>
    view([message("a", [tool({ state: "done" })])], {
      usage: {
        input_tokens: 10,
        output_tokens: 2,
        cached_tokens: 0,
        requests: 1,
        cost,
        saved,
        currency: "USD",
        context_tokens: null,
        context_window: null,
      },
    });
  const shown = async (cost: string | null, saved: string | null) => {
    const m = await mounted(usage(cost, saved));
    return m.find(".usage [aria-hidden]").textContent.split(" · ").slice(2);
  };
  expect(await shown("1.2", "12.3456")).toEqual(["$1.20", "$12.35 saved"]);
  expect(await shown("0.0034216", null)).toEqual(["$0.0034"]);
  expect(await shown("0", null)).toEqual([]);
  expect(await shown(null, null)).toEqual([]);
});
