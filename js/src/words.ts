// What the view says in words for the codes and states of the kernel.

import type { ConnectionState } from "./connection";
import type { CallStop, DecisionWord, Queue, SessionView, ToolPart, ToolState } from "./protocol";

const ERRORS: Record<string, string> = {
  chat_disabled:
    "The model server does not accept this chat: the API key is missing or not valid, or this feature is switched off for it.",
  rate_limited:
    "The model server takes no more requests for the moment. Wait a little, then retry.",
  bad_request: "The model server refused the request as it was made.",
  network: "The model server could not be reached, or the connection broke off.",
};

/** The error's code in words. */
export const errorInWords = (code: string | null): string =>
  (code && ERRORS[code]) || "The run ended with an error.";

const REFUSALS: Record<string, string> = {
  INPUT_BLOCKED: "Not sent: the assistant is still working. Stop it or wait until it is done.",
  SESSION_NOT_RUNNING: "Nothing is running that could be stopped.",
  SESSION_BUSY: "The chat is busy with something else. Try again in a moment.",
  QUESTION_CLOSED: "This question is no longer open: it was answered or withdrawn meanwhile.",
  STORAGE_ERROR: "The chat could not be stored, so nothing was done.",
  SESSION_CLOSED: "This chat is closed. Run its cell again.",
  DISCONNECTED: "Not sent: the kernel of this chat cannot be reached.",
  UNANSWERED: "Not confirmed: the kernel of this chat is gone.",
};

/** Why a command was refused, in words. */
export function refusalInWords(code: string, message: string): string {
  if (code.startsWith("INVALID_") && message) return message;
  return REFUSALS[code] ?? (message || "The kernel refused this.");
}

export const UNCONFIRMED =
  "Not confirmed: the message may or may not have arrived. Sending it again may duplicate it.";

interface QueueWords {
  queue: Queue;
  /** When its messages are used while a run is under way, and when none is. */
  used: string;
  usedAtRest: string;
}

export const QUEUES: readonly QueueWords[] = [
  { queue: "steering", used: "Before the next step", usedAtRest: "With your next message" },
  { queue: "follow_up", used: "After this run", usedAtRest: "After the next run" },
];

const PHASES: Record<string, string> = {
  preparing: "Preparing",
  tooling: "Running a tool",
  awaiting_confirmation: "Waiting for your answer",
  retrying: "Trying again",
  compacting: "Shortening the conversation",
  stopping: "Stopping",
  closed: "Closed",
  failed: "Failed",
};

/** The phases that are no run, and not simply rest. */
const ENDED = new Set(["closed", "failed"]);

/** One or two words for what the session does now. */
export function statusInWords(view: SessionView): string {
  const phase = PHASES[view.phase];
  if (phase && (view.status === "streaming" || ENDED.has(view.phase))) return phase;
  if (view.status === "streaming") return "Answering";
  return view.status === "error" ? "Failed" : "Ready";
}

export const CONNECTIONS: Record<ConnectionState, string> = {
  connecting: "Connecting to the kernel…",
  live: "",
  waiting: "Waiting for the kernel…",
  reconnecting: "Connection lost. Reconnecting…",
  disconnected: "The kernel of this chat is gone. Run the cell again to continue.",
  saved: "Saved conversation, read-only. Run the cell to continue.",
};

const TOOL_STATES: Record<ToolState, string> = {
  running: "Running",
  "awaiting-confirmation": "Needs approval",
  done: "Done",
  error: "Failed",
  cancelled: "Cancelled",
};

const STOPS: Record<CallStop, string> = {
  asked: "Stop asked",
  running_on: "Stop asked; still running in its thread",
  finished: "Finished anyway, after the Stop",
  stopped: "Stopped",
  unknown: "Stop asked; outcome unknown",
};

const REFUSED = { denied: "Denied", blocked: "Blocked" };

/** How a call is doing, or how it took a Stop. */
export const callStateInWords = ({ state, stop, refusal }: ToolPart): string =>
  (stop && STOPS[stop]) || (refusal && REFUSED[refusal]) || (TOOL_STATES[state] ?? state);

export const DECISIONS: Record<DecisionWord, string> = {
  allow_once: "Allow once",
  edit: "Edit and allow",
  allow_session: "Allow for this session",
  allow_project: "Always in this project",
  deny: "Deny",
};

/** The sentence without its full stop. */
export const unended = (sentence: string): string => sentence.replace(/[.\s]+$/, "");

/** Where a session is kept, in words. */
export const storageInWords = ({ label, is_durable }: SessionView["storage"]): string =>
  is_durable ? `Kept in ${label}` : "Kept in memory only until the kernel ends";

/** A duration for people: "40 ms", "0.4 s", "12 s", "3 min 05 s". */
export function durationInWords(milliseconds: number): string {
  if (milliseconds < 100) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  return `${minutes} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
}

/** 950, 12.4k, 1.2M. */
export function countInWords(count: number): string {
  if (count < 1000) return String(count);
  if (count < 999_500) return `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}
