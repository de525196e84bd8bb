// All that the explorer says.

import type { Lane, Move, Step } from "./protocol";

export const WORDS = {
  title: "Session explorer",
  live: "live",
  recorded: "recorded",
  empty: "Nothing has happened in this session yet.",
  unreadable: "This session cannot be shown: the page and the package are of different versions.",
  first: "First step",
  back: "Step back",
  forward: "Step forward",
  last: "Last step",
  play: "Play",
  pause: "Pause",
  slider: "Step",
  steps: "Steps",
  filter: "Filter steps",
  onlyChanges: "Only what changes the state",
  noneFound: "No step fits.",
  machines: "State machines",
  detail: "Detail of the step",
  tabs: { state: "State", request: "Request", event: "Event", whatif: "What if…" },
  sessionMachine: "Session",
  callMachine: "Tool calls",
  tree: "State after this step",
  laneTree: "State, had it gone otherwise",
  noChange: "This step changes nothing in the state.",
  whichState: "Which state",
  asRecorded: "As recorded",
  asWhatIf: "What if",
  laneSame: "The same as recorded.",
  noRequest: "No request had been sent to the model by this step.",
  requestBefore: "Request before",
  requestAfter: "Next request",
  system: "System text",
  noSystem: "No system text.",
  tools: "Tools",
  noTools: "No tools.",
  messages: "Messages",
  notKept:
    "A journal keeps the conversation, not the system text and the tools: open the explorer on the running chat to see them.",
  isNew: "new",
  seenBefore: "as in the request before",
  parameters: "Parameters",
  reasoning: "reasoning, sent back as its vendor wants it",
  actions: "Actions: what the reducer got",
  noActions: "This event is no action of the reducer.",
  event: "Event: what the session told",
  whatIfNeedsKernel:
    "What if needs a running kernel: it folds the session again in Python. All else works without one.",
  whatIfNothing:
    "This step folds no action, so nothing in it can go otherwise. Choose a step with an action.",
  whatIfIntro: "The fold begins again at this step. The session itself stays as it is.",
  whatIfLabel: "The actions of this step, as JSON",
  foldAgain: "Fold again from here",
  leaveOut: "Leave this step out",
  denyInstead: "Deny instead",
  allowInstead: "Allow instead",
  reason: "Reason the model reads",
  output: "Output the call would give",
  removeLane: "Remove the what-if lane",
  badJson: "This is not JSON: ",
  noAnswer: "The kernel has not answered. It may be busy with a cell, or gone.",
  noDifference: "Nothing comes out differently.",
  goThere: "Go there",
  unlisted: "more, not listed",
  keys: "← → step, Home first, End last",
} as const;

export const stepInWords = (at: number, count: number, step: Step | undefined): string =>
  step ? `Step ${at + 1} of ${count}: ${headline(step)}` : WORDS.empty;

/** What a step is called in a list: its action, or the event where it has none. */
export const headline = (step: Step): string =>
  step.actions.length ? step.actions.map(actionName).join(", ") : step.type;

export const actionName = (action: Record<string, unknown>): string => {
  const part = action.part as { type?: string } | undefined;
  return part?.type ?? (action.type as string);
};

export const moveInWords = (move: Move): string => {
  const who = move.name ? `${move.name}: ` : "";
  if (move.from === move.to) return `${who}${move.by} leaves it ${move.to}`;
  return `${who}${move.by} takes it from ${move.from} to ${move.to}`;
};

export const stayedInWords = (step: Step | undefined): string =>
  step?.actions.length ? `${headline(step)} changes no status` : "no action in this step";

export const timeInWords = (ms: number): string =>
  ms < 1000 ? `+${ms} ms` : `+${(ms / 1000).toFixed(1)} s`;

export const piecesInWords = (count: number): string => `in ${count} pieces`;

export const requestInWords = (index: number, count: number, at: number): string =>
  `Request ${index + 1} of ${count}, sent before step ${at + 1}`;

export const laneInWords = (lane: Lane): string => {
  const begun = `Folded again from step ${lane.at + 1}.`;
  if (lane.first === null) return `${begun} ${WORDS.noDifference}`;
  return `${begun} First difference: step ${lane.first + 1}.`;
};

export const answeredInWords = (at: number): string =>
  `From step ${at + 1} on the model's answers are as recorded: it was not asked again.`;

export const rejoinedInWords = (at: number): string =>
  `At step ${at + 1} the session went to another branch: from there on both lanes are one.`;

export const differencesInWords = (count: number): string =>
  count === 1
    ? "1 difference from what was recorded"
    : `${count} differences from what was recorded`;
