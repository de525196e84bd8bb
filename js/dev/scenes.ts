// What the demo page shows: one view state for each thing worth looking at.

import type {
  Message,
  Part,
  Question,
  QueuedQuestion,
  SessionView,
  Todo,
  ToolPart,
} from "../src/protocol";

export const text = (value: string): Part => ({ type: "text", text: value });

export const tool = (fields: Partial<ToolPart> & { tid: string; name: string }): ToolPart => ({
  type: "tool",
  input: {},
  state: "done",
  code: null,
  prompt: null,
  progress: null,
  live: null,
  output: null,
  error: null,
  duration_ms: null,
  is_edited: false,
  stop: null,
  refusal: null,
  agent: null,
  ...fields,
});

let counter = 0;
export const said = (
  role: "user" | "assistant",
  parts: Part[],
  mark: Message["mark"] = null,
): Message => ({
  mid: `m${counter++}`,
  role,
  parts,
  mark,
  is_steering: false,
  branch: null,
  note: null,
});

const modelOf = (label: string): SessionView["model"] => ({
  label,
  offline: false,
  notice: null,
  alias: label,
  choices: [label, "openai:gpt-5"],
  thinking_levels: label === "offline" ? [] : ["minimal", "low", "medium", "high"],
  thinking: null,
  retry: null,
});

export const viewOf = (items: Message[], fields: Partial<SessionView> = {}): SessionView => ({
  session_id: "demo",
  status: "idle",
  phase: "idle",
  interaction: { can_send: true, revision: 1 },
  can_stop: false,
  can_retry: false,
  model: modelOf("openai:gpt-5-mini"),
  permission: { mode: "default", warning: null },
  question: null,
  queue: [],
  waiting: [],
  input_policy: { while_running: "block", override: null },
  storage: { label: "memory", is_durable: false, trouble: null, read_only: null },
  name: null,
  todos: [],
  error: null,
  notices: [],
  usage: {
    input_tokens: 3_215,
    output_tokens: 842,
    cached_tokens: 9_216,
    requests: 3,
    cost: "0.0142",
    saved: "0.0104",
    currency: "USD",
    context_tokens: 13_273,
    context_window: 400_000,
  },
  messages: { first: 0, items },
  ...fields,
});

export const running: Partial<SessionView> = {
  status: "streaming",
  phase: "streaming",
  interaction: { can_send: false, revision: 2 },
  can_stop: true,
};

const FRAME = `<div><style scoped>.dataframe tbody tr th { vertical-align: top; }</style>
<table border="1" class="dataframe"><thead><tr style="text-align: right;"><th></th><th>species</th><th>count</th><th>mean mass (g)</th><th>std</th><th>flipper (mm)</th><th>share</th></tr></thead>
<tbody>
<tr><th>0</th><td>Adelie</td><td>152</td><td>3700.66</td><td>458.57</td><td>189.95</td><td>44.2%</td></tr>
<tr><th>1</th><td>Chinstrap</td><td>68</td><td>3733.09</td><td>384.34</td><td>195.82</td><td>19.8%</td></tr>
<tr><th>2</th><td>Gentoo</td><td>124</td><td>5076.02</td><td>504.12</td><td>217.19</td><td>36.0%</td></tr>
<tr><th>3</th><td>unknown</td><td>2</td><td>NaN</td><td>NaN</td><td>NaN</td><td>0.6%</td></tr>
</tbody></table><p>4 rows × 6 columns</p></div>`;

const bars = [152, 68, 124]
  .map(
    (count, i) =>
      `<rect x="${60 + i * 90}" y="${170 - count}" width="54" height="${count}" fill="#4c78a8"/><text x="${87 + i * 90}" y="188" text-anchor="middle">${["Adelie", "Chinstrap", "Gentoo"][i]}</text>`,
  )
  .join("");
const PLOT = `<svg xmlns="http://www.w3.org/2000/svg" width="360" height="200" font-family="sans-serif" font-size="11"><rect width="360" height="200" fill="#fff"/><path d="M44 10V170H340" fill="none" stroke="#666"/>${bars}</svg>`;

const CODE = `summary = (
    penguins.groupby("species", dropna=False)["body_mass_g"]
    .agg(["count", "mean", "std"])
    .round(2)
)
ax = summary["count"].plot.bar(color="#4c78a8")  # one bar a species
ax.set_ylabel("count")
summary`;

const ANSWER = `The three species differ mostly in **mass** and *flipper length*:

| species | mean mass (g) | flipper (mm) |
|:--|--:|--:|
| Adelie | 3,700.66 | 189.95 |
| Chinstrap | 3,733.09 | 195.82 |
| Gentoo | 5,076.02 | 217.19 |

1. Gentoo penguins are about **37 % heavier** than the other two.
2. \`flipper_length_mm\` separates them almost alone:
   - below 205 mm: Adelie or Chinstrap
   - above: Gentoo
3. Two rows have no mass; I left them out.

To check this yourself:

\`\`\`python
penguins.dropna(subset=["body_mass_g"]).groupby("species").body_mass_g.describe()
\`\`\`

It costs $5 and $10 — not maths. See [the data set](https://allisonhorst.github.io/palmerpenguins/).`;

export const doneCards = (): Message[] => [
  said("user", [text("Compare the species by body mass and plot how many there are of each.")]),
  said("assistant", [
    text("I look at the columns first."),
    tool({
      tid: "t1",
      name: "describe_variable",
      input: { name: "penguins" },
      duration_ms: 38,
      output: [
        {
          type: "text",
          text: "DataFrame, 344 rows × 7 columns\nspecies            object    0 missing\nbody_mass_g        float64   2 missing\nflipper_length_mm  float64   2 missing",
        },
      ],
    }),
    tool({
      tid: "t2",
      name: "run_python",
      input: { code: CODE },
      code: { text: CODE, language: "python" },
      duration_ms: 1240,
      output: [
        { type: "html", html: FRAME },
        { type: "svg", svg: PLOT },
      ],
    }),
    text(ANSWER),
  ]),
];

const HARMLESS_LOOKING =
  'import shutil, os\n\n# free some space\npath = "report\u202Egpj.sh"\nfor entry in os.scandir("data/raw"):\n    if entry.name.endswith(".parquet"):\n        shutil.move(entry.path, "archive/")\n\nprint("مرحبا", "שלום")  # stays readable\npenguins = penguins.dropna()\npenguins.to_parquet("penguins_clean.parquet")\n';

const PROJECT_FILE = "/home/ada/penguins/.agent-widget/settings.json";

const question: Question = {
  pid: "p1",
  tid: "t9",
  tool: "run_python",
  agent: null,
  reason: "This runs code in your kernel, where it can change your variables and files.",
  text: HARMLESS_LOOKING,
  language: "python",
  args: { code: HARMLESS_LOOKING },
  options: ["allow_once", "edit", "allow_session", "allow_project", "deny"],
  rules: ["run_python"],
  project_file: PROJECT_FILE,
};

const COMMAND = "git add -A && git commit -m 'Clean data' && python -m pytest tests/ -x --tb=short";

const shellQuestion: Question = {
  ...question,
  tool: "bash",
  reason: "git commit is not among the allowed commands.",
  text: COMMAND,
  language: "bash",
  args: { command: COMMAND, timeout_s: 120 },
  rules: ["bash(git add -A)", "bash(git commit -m *)", "bash(python -m pytest tests/ *)"],
};

const loopQuestion: Question = {
  ...question,
  tool: "bash",
  agent: "statistician",
  reason: "A loop is not covered by any rule.",
  text: 'for f in data/*.csv; do\n  wc -l "$f"\ndone\n',
  language: "bash",
  args: { command: 'for f in data/*.csv; do\n  wc -l "$f"\ndone\n' },
  options: ["allow_once", "edit", "deny"],
  rules: [],
  project_file: null,
};

const PLAN: Todo[] = [
  { content: "Look at the columns and what is missing", status: "completed" },
  { content: "Drop the rows without a mass", status: "completed" },
  { content: "Move the raw files to archive/ and store the cleaned table", status: "in_progress" },
  { content: "Plot the counts by species and island", status: "pending" },
  { content: "Write down what was changed", status: "pending" },
];

const asking = (asked = question, fields: Partial<SessionView> = {}): SessionView =>
  viewOf(
    [
      said("user", [text("Clean the data and store it.")]),
      said("assistant", [
        text("I will move the raw files away and write a cleaned copy."),
        tool({
          tid: "t9",
          name: asked.tool,
          state: "awaiting-confirmation",
          code: { text: asked.text, language: asked.language ?? "plaintext" },
          input: asked.args,
        }),
      ]),
    ],
    { ...running, phase: "awaiting_confirmation", question: asked, ...fields },
  );

const QUEUE: QueuedQuestion[] = [
  { tid: "q1", tool: "bash", agent: null, text: "git status --short && git log -3" },
  {
    tid: "q2",
    tool: "write_file",
    agent: "statistician",
    text: '{"path": "notes.md", "content": "# What was changed\\n\\n- two rows without a mass were left out"}',
  },
];

const edited = (): SessionView =>
  viewOf(
    [
      said("user", [text("Clean the data and store it.")]),
      said("assistant", [
        tool({
          tid: "e1",
          name: "run_python",
          is_edited: true,
          code: { text: 'penguins.dropna().to_parquet("clean.parquet")', language: "python" },
          duration_ms: 310,
          output: [{ type: "text", text: "342 rows written" }],
        }),
        tool({
          tid: "e2",
          name: "bash",
          state: "running",
          is_edited: true,
          code: { text: "git status --short", language: "bash" },
          live: " M clean.parquet\n",
        }),
      ]),
    ],
    { ...running, phase: "tooling", todos: PLAN },
  );

const TRACEBACK = `\u001b[0;31m---------------------------------------------------------------------------\u001b[0m
\u001b[0;31mKeyError\u001b[0m                                  Traceback (most recent call last)
Cell \u001b[0;32mIn[7], line 2\u001b[0m
\u001b[1;32m      1\u001b[0m df = penguins
\u001b[0;32m----> 2\u001b[0m df[\u001b[38;5;124m"body_mass"\u001b[39m].mean()

\u001b[0;31mKeyError\u001b[0m: 'body_mass'`;

const fiveStates = (): SessionView =>
  viewOf(
    [
      said("user", [text("Show me every state of a card.")]),
      said("assistant", [
        tool({
          tid: "s1",
          name: "run_python",
          state: "running",
          code: { text: "for epoch in range(20):\n    train(epoch)", language: "python" },
          progress: "Waiting for the running cell to finish",
          live: "epoch 1  loss \u001b[32m0.913\u001b[0m\nepoch 2  loss \u001b[32m0.802\u001b[0m\nepoch 3  loss \u001b[31m0.941\u001b[0m",
        }),
        tool({
          tid: "s2",
          name: "run_python",
          state: "awaiting-confirmation",
          code: { text: "penguins.to_csv('out.csv')", language: "python" },
        }),
        tool({
          tid: "s3",
          name: "list_variables",
          duration_ms: 12,
          output: [
            {
              type: "text",
              text: Array.from(
                { length: 60 },
                (_, i) => `variable_${i}  DataFrame  (344, ${i})`,
              ).join("\n"),
            },
          ],
        }),
        tool({
          tid: "s4",
          name: "run_python",
          state: "error",
          code: { text: 'df["body_mass"].mean()', language: "python" },
          duration_ms: 87,
          error: { code: "KeyError", message: TRACEBACK },
        }),
        tool({
          tid: "s5",
          name: "run_python",
          state: "cancelled",
          code: { text: "time.sleep(600)", language: "python" },
          duration_ms: 61_000,
        }),
      ]),
    ],
    {
      ...running,
      phase: "tooling",
      notices: [
        {
          nid: "n1",
          code: "duplicate_tool",
          message: "Two tools are named describe; the first one is used.",
        },
      ],
    },
  );

const nested = (): SessionView =>
  viewOf(
    [
      said("user", [text("Ask the statistics helper whether the difference is significant.")]),
      said("assistant", [
        tool({
          tid: "d1",
          name: "delegate_to_statistician",
          state: "running",
          input: { task: "Is the mass difference between Adelie and Gentoo significant?" },
          prompt: "Is the mass difference between Adelie and Gentoo significant?",
          agent: {
            name: "statistician",
            status: "streaming",
            messages: [
              said("assistant", [
                text("A Welch t-test fits: the variances differ."),
                tool({
                  tid: "d2",
                  name: "run_python",
                  code: { text: "ttest_ind(a, g, equal_var=False)", language: "python" },
                  duration_ms: 210,
                  output: [
                    {
                      type: "text",
                      text: "TtestResult(statistic=-23.39, pvalue=1.2e-65, df=249.6)",
                    },
                  ],
                }),
                tool({
                  tid: "d3",
                  name: "delegate_to_reviewer",
                  state: "running",
                  prompt: "Check the assumptions.",
                  agent: {
                    name: "reviewer",
                    status: "streaming",
                    messages: [
                      said("assistant", [
                        text(
                          "Normality looks fine in both groups; sample sizes are **152** and **124**.",
                        ),
                      ]),
                    ],
                  },
                }),
              ]),
            ],
          },
        }),
      ]),
    ],
    running,
  );

const failed = (): SessionView =>
  viewOf(
    [
      said("user", [text("Summarise the table in two sentences.")]),
      said(
        "assistant",
        [text("The table holds 344 penguins of three species, measured on three islands between")],
        "incomplete",
      ),
    ],
    {
      status: "error",
      phase: "error",
      can_retry: true,
      error: {
        code: "network",
        message:
          "ConnectError: [Errno 111] Connection refused (http://localhost:8000/v1/chat/completions)",
        advice:
          "Check base_url and that the server runs, then press Retry. What was received is kept.",
      },
    },
  );

const offline = (items: Message[]): SessionView =>
  viewOf(items, {
    usage: null,
    model: {
      ...modelOf("offline"),
      offline: true,
      notice:
        'Offline model: it is not an LLM and knows a handful of requests. For a real one: AgentWidget("openai:gpt-5-mini") with OPENAI_API_KEY set.',
    },
  });

const long = (): SessionView => {
  const items: Message[] = [];
  for (let i = 0; i < 2500; i++) {
    items.push(said("user", [text(`Question ${i}: what is the mean of column ${i % 7}?`)]));
    items.push(
      said("assistant", [
        text(
          `The mean of column \`c${i % 7}\` is **${(i * 1.37).toFixed(2)}**. It has ${i % 5} missing values.\n\n- minimum ${i}\n- maximum ${i * 3}`,
        ),
      ]),
    );
  }
  return viewOf(items);
};

const rtl = (): SessionView =>
  viewOf([
    said("user", [text("احذف المجلد القديم باستخدام rm -r dir من فضلك")]),
    said("assistant", [
      text(
        "لحذف المجلد استخدم `rm -r dir` بحذر:\n\n- تحقق من المسار أولا\n- ثم نفذ `ls dir`\n\nThis line is English.",
      ),
    ]),
  ]);

export const scenes: Record<string, () => SessionView> = {
  done: () => viewOf(doneCards()),
  question: () => asking(question, { queue: QUEUE, todos: PLAN }),
  shell: () => asking(shellQuestion),
  loop: () => asking(loopQuestion, { queue: QUEUE.slice(1) }),
  edited,
  plan: () => viewOf(doneCards(), { todos: PLAN }),
  alarm: () =>
    viewOf(doneCards(), {
      permission: {
        mode: "allow_all",
        warning: "Everything is allowed: tools run without asking, with all rights of your user.",
      },
    }),
  states: fiveStates,
  nested,
  error: failed,
  stopped: () =>
    viewOf(
      [
        said("user", [text("Count slowly to 100.")]),
        said("assistant", [text("1, 2, 3, 4, 5,")], "stopped"),
      ],
      { can_retry: true },
    ),
  empty: () => offline([]),
  long,
  rtl,
  streaming: () =>
    viewOf(
      [...doneCards(), said("user", [text("And in words?")]), said("assistant", [text("")])],
      running,
    ),
};

export const STREAMED = `${ANSWER}\n\n## A longer part\n\n${"The difference stays when islands are compared one by one. ".repeat(12)}\n\n${ANSWER}`;
