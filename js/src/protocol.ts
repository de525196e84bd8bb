// The wire between kernel and browser, protocol version 1.

export const PROTOCOL = 1;

export type Path = readonly (string | number)[];

export type Mark = "stopped" | "incomplete" | "failed";

export interface SessionView {
  session_id: string;
  status: "idle" | "streaming" | "error";
  phase: string;
  interaction?: { can_send: boolean; revision: number };
  can_stop: boolean;
  can_retry: boolean;
  model: { label: string; offline: boolean; notice: string | null };
  question: Question | null;
  waiting_questions: number;
  error: ErrorView | null;
  notices: Notice[];
  usage: Usage | null;
  /** Calls whose arguments are still arriving. */
  drafts?: Draft[];
  messages: MessageWindow;
}

/** The loaded messages; `items[0]` has the absolute index `first`. */
export interface MessageWindow {
  first: number;
  items: Message[];
}

export interface ErrorView {
  code: string | null;
  message: string;
  advice?: string | null;
}

export interface Draft {
  name: string;
  arguments: string;
}

export interface Notice {
  nid: string;
  code: string;
  message: string;
}

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  requests: number;
}

export interface Message {
  mid: string;
  role: "user" | "assistant";
  parts: Part[];
  mark: Mark | null;
}

export type Part = TextPart | { type: "reasoning" } | ToolPart;

export interface TextPart {
  type: "text";
  text: string;
}

export type ToolState = "running" | "awaiting-confirmation" | "done" | "error" | "cancelled";

export interface ToolPart {
  type: "tool";
  tid: string;
  name: string;
  input: unknown;
  state: ToolState;
  code: { text: string; language: string } | null;
  prompt: string | null;
  progress: string | null;
  live: string | null;
  output: Block[] | null;
  error: { code: string | null; message: string } | null;
  duration_ms: number | null;
  agent: AgentView | null;
}

export interface AgentView {
  name: string;
  status: "idle" | "streaming" | "error";
  messages: Message[];
}

export type Block =
  | { type: "text"; text: string }
  | { type: "image"; mime: string; data: string }
  | { type: "svg"; svg: string }
  | { type: "html"; html: string };

export type Decision = "allow_once" | "allow_session" | "deny";

export interface Question {
  pid: string;
  tid: string;
  tool: string;
  agent: string | null;
  reason: string | null;
  text: string;
  language: string | null;
  options: Decision[];
  session_rule: string | null;
}

/** What the `snapshot` trait holds and what answers `hello`. */
export interface Snapshot {
  protocol: number;
  epoch: string | number;
  seq: number;
  view: SessionView;
}

export interface PatchMessage {
  kind: "patch";
  epoch: string | number;
  seq: number;
  ops: unknown[];
}

export type ReplyMessage =
  | { kind: "reply"; request_id: string; ok: true; message_id?: string }
  | { kind: "reply"; request_id: string; ok: false; code: string; message: string };

export interface HistoryMessage {
  kind: "history";
  request_id: string;
  epoch: string | number;
  first: number;
  items: Message[];
}

export type CommandName = "send" | "stop" | "retry" | "reset" | "decide" | "dismiss";

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The message when it is one of this protocol, else null: what arrives is never trusted to be whole. */
export function parsedMessage(
  raw: unknown,
): (Snapshot & { kind: "snapshot" }) | PatchMessage | ReplyMessage | HistoryMessage | null {
  if (!isRecord(raw)) return null;
  switch (raw.kind) {
    case "snapshot":
      return isSnapshot(raw) ? (raw as unknown as Snapshot & { kind: "snapshot" }) : null;
    case "patch":
      return Number.isInteger(raw.seq) && Array.isArray(raw.ops)
        ? (raw as unknown as PatchMessage)
        : null;
    case "reply":
      return typeof raw.request_id === "string" ? (raw as unknown as ReplyMessage) : null;
    case "history":
      return Array.isArray(raw.items) && Number.isInteger(raw.first)
        ? (raw as unknown as HistoryMessage)
        : null;
    default:
      return null;
  }
}

/** True for a whole snapshot of a protocol this front end speaks. */
export function isSnapshot(raw: unknown): raw is Snapshot {
  if (!isRecord(raw) || raw.protocol !== PROTOCOL || !Number.isInteger(raw.seq)) return false;
  const view = raw.view;
  if (!isRecord(view) || !isRecord(view.messages)) return false;
  return Array.isArray(view.messages.items) && Number.isInteger(view.messages.first);
}

/** Whether the person may send now; a kernel without `interaction` is judged by its status. */
export const canSend = (view: SessionView): boolean =>
  view.interaction ? view.interaction.can_send : view.status !== "streaming";
