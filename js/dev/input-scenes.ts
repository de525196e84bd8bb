// What the demo page shows of messages sent into a run, of branches and of the storage.

import type { SessionView } from "../src/protocol";
import { doneCards, running, said, text, tool, viewOf } from "./scenes";

const BLOCK: SessionView["input_policy"] = { while_running: "block", override: null };

const working = (fields: Partial<SessionView>): SessionView =>
  viewOf(
    [
      said("user", [text("Clean the data, then fit a model of the mass.")]),
      said("assistant", [
        text("I look at what is missing first."),
        tool({
          tid: "w1",
          name: "run_python",
          state: "running",
          code: { text: "penguins.isna().sum()", language: "python" },
        }),
      ]),
    ],
    {
      ...running,
      phase: "tooling",
      interaction: { can_send: true, revision: 3 },
      input_policy: { while_running: "steer", override: "steer" },
      ...fields,
    },
  );

const STEERING: SessionView["waiting"] = [
  { mid: "p1", queue: "steering", text: "Keep the rows without a sex, they are fine." },
  {
    mid: "p2",
    queue: "steering",
    text: "For the model use only what was measured:\n- flipper length\n- bill length and depth\n- the island, as a category\n\nand leave the year out. It was only three seasons, so nothing can be told from it anyway.",
  },
];

const FOLLOW_UPS: SessionView["waiting"] = [
  { mid: "p3", queue: "follow_up", text: "Then write the summary as a table to summary.md" },
];

const steered = (): SessionView =>
  viewOf([
    said("user", [text("Clean the data, then fit a model of the mass.")]),
    said("assistant", [
      text("I look at what is missing first."),
      tool({
        tid: "w1",
        name: "run_python",
        code: { text: "penguins.isna().sum()", language: "python" },
        duration_ms: 31,
      }),
    ]),
    { ...said("user", [text("Keep the rows without a sex, they are fine.")]), is_steering: true },
    { ...said("user", [text("And leave the year out.")]), is_steering: true },
    said("assistant", [text("Kept. The model uses flipper length, bill and island.")]),
  ]);

const branches = (): SessionView =>
  viewOf([
    { ...said("user", [text("Plot the mass by species.")]), branch: { index: 1, count: 3 } },
    { ...said("assistant", [text("Here is the plot.")]), branch: { index: 0, count: 2 } },
    said("user", [
      text(
        "Now the same by island, with one panel for each year and the same scale on all axes, so that they can be compared; and please use the colours of the plot above.",
      ),
    ]),
    said("assistant", [text("Three panels, one scale.")]),
  ]);

const FILE: SessionView["storage"] = {
  label: "~/penguins/.agent-widget/sessions.db",
  is_durable: true,
  trouble: null,
  read_only: null,
};

export const inputScenes: Record<string, () => SessionView> = {
  steering: () => working({ waiting: STEERING }),
  followup: () => working({ waiting: [...STEERING, ...FOLLOW_UPS] }),
  blocked: () => working({ interaction: { can_send: false, revision: 2 }, input_policy: BLOCK }),
  pendingrest: () => viewOf(doneCards(), { waiting: [...STEERING, ...FOLLOW_UPS] }),
  steered,
  branches,
  readonly: () =>
    viewOf(doneCards(), {
      interaction: { can_send: false, revision: 2 },
      name: "Penguins by species",
      storage: {
        ...FILE,
        read_only: "another kernel (process 4711 on ada-laptop) has this session open.",
      },
    }),
  notsaved: () =>
    viewOf(doneCards(), {
      name: "Penguins by species",
      storage: { ...FILE, trouble: "the database is locked by another program." },
    }),
  over: () =>
    viewOf(doneCards(), {
      status: "error",
      phase: "failed",
      interaction: { can_send: false, revision: 2 },
      error: {
        code: null,
        message: "OSError: [Errno 28] No space left on device",
        advice: "Free some space, then run the cell again.",
      },
    }),
};
