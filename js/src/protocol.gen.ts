// Made from agent_widget/view/protocol.py by `python -m tests.support.typescript`; do not edit.

export const PROTOCOL = 1;
export const PICTURE_CHARS = 700000;
export const PAGE_CHARS = 9200000;
export const MAX_IMAGES = 10;
export const MAX_IMAGE_CHARS = 5242880;

export type DecisionWord = "allow_once" | "edit" | "allow_session" | "allow_project" | "deny";

export type CommandName = "send" | "stop" | "retry" | "reset" | "compact" | "decide" | "dismiss" | "edit" | "branch" | "edit_waiting" | "remove_waiting" | "set_input_policy" | "stop_servers" | "take_over" | "fork" | "set_model" | "set_thinking" | "set_key" | "list_models";

export type Status = "idle" | "streaming" | "error";

export type Phase = "idle" | "error" | "preparing" | "streaming" | "tooling" | "awaiting_confirmation" | "retrying" | "compacting" | "summarizing" | "stopping" | "failed" | "closed";

export type Mark = "stopped" | "incomplete" | "failed";

export type ToolState = "running" | "awaiting-confirmation" | "done" | "error" | "cancelled";

export type CallStop = "asked" | "running_on" | "finished" | "stopped" | "unknown";

export type Block = TextBlock | ImageBlock | SvgBlock | HtmlBlock | UnavailableBlock;

export type Part = TextPart | ReasoningPart | ToolPart | ImageBlock | SvgBlock | UnavailableBlock;

export type ReplyMessage = Receipt | Refusal;

export interface TextBlock {
  type: "text";
  text: string;
}

/** `data` is base64. */
export interface ImageBlock {
  type: "image";
  mime: string;
  data: string;
}

export interface SvgBlock {
  type: "svg";
  svg: string;
}

export interface HtmlBlock {
  type: "html";
  html: string;
}

/** A picture that was kept and cannot be shown any more: its file is lost or damaged. */
export interface UnavailableBlock {
  type: "unavailable";
  mime: string;
  artifact_unavailable: true;
}

export interface TextPart {
  type: "text";
  text: string;
}

/** Named only: reasoning is kept for the model and never rendered. */
export interface ReasoningPart {
  type: "reasoning";
}

/** What a call will run, and the language to show it in. */
export interface Code {
  text: string;
  language: string;
}

export interface ToolErrorView {
  code: string | null;
  message: string;
}

/** A tool call; `live` is its output so far while it runs, `stop` how it took a Stop. `refusal`: it did not run because somebody, or a rule, said no, or a hook stood in its way. */
export interface ToolPart {
  type: "tool";
  tid: string;
  name: string;
  input: unknown;
  state: ToolState;
  code: Code | null;
  prompt: string | null;
  progress: string | null;
  live: string | null;
  output: Block[] | null;
  error: ToolErrorView | null;
  duration_ms: number | null;
  is_edited: boolean;
  stop: CallStop | null;
  refusal: "denied" | "blocked" | null;
  agent: AgentView | null;
}

/** The message is number `index` (from 0) of `count` siblings. */
export interface Branch {
  index: number;
  count: number;
}

/** The message is context that nobody typed; a page shows it if `is_shown`. */
export interface Note {
  kind: string;
  is_shown: boolean;
}

/** `is_steering`: it came while the run was under way, after the message before it. */
export interface Message {
  mid: string;
  role: "user" | "assistant";
  parts: Part[];
  mark: Mark | null;
  is_steering: boolean;
  branch: Branch | null;
  note: Note | null;
}

/** The nested run of a sub-agent. */
export interface AgentView {
  name: string;
  status: Status;
  messages: Message[];
}

/** The loaded messages; `items[0]` has the absolute index `first`. */
export interface MessageWindow {
  first: number;
  items: Message[];
}

export interface Interaction {
  can_send: boolean;
  revision: number;
}

/** A model call that failed, for `reason`, and is made again after `delay_ms`. */
export interface Retry {
  attempt: number;
  max_attempts: number;
  delay_ms: number;
  reason: string;
}

/** `thinking_levels` is empty for a model that does not reason; `thinking` null is its own default; `choices` are the models to choose from, `alias` is the name of this one. */
export interface ModelView {
  label: string;
  offline: boolean;
  notice: string | null;
  alias: string;
  choices: string[];
  thinking_levels: string[];
  thinking: string | null;
  retry: Retry | null;
}

/** The one open permission question; `text` is exactly what will run. `options` are the answers on offer, `rules` what allowing for the session or the project adds (a person may narrow them), `project_file` where the latter are written. With `is_form` a running call asks for what is in `args`, and `tool` names who asks. */
export interface Question {
  pid: string;
  tid: string;
  tool: string;
  agent: string | null;
  reason: string | null;
  text: string;
  language: string | null;
  args: unknown;
  options: DecisionWord[];
  rules: string[];
  project_file: string | null;
  is_form?: boolean;
}

/** A call that will ask once the open question is answered. */
export interface QueuedQuestion {
  tid: string;
  tool: string;
  agent: string | null;
  text: string;
}

/** The mode, and a warning that stays in sight while it lets everything run. */
export interface Permission {
  mode: string;
  warning: string | null;
}

/** A stored message that is not part of the conversation yet; `images` counts its pictures. */
export interface WaitingInput {
  mid: string;
  text: string;
  queue: "steering" | "follow_up";
  images?: number;
}

/** `while_running` holds now; `override` is the session's own setting. */
export interface InputPolicy {
  while_running: "block" | "steer";
  override: "block" | "steer" | null;
}

/** `trouble`: why records are not stored yet; `read_only`: why nothing can be sent. */
export interface Storage {
  label: string;
  is_durable: boolean;
  trouble: string | null;
  read_only: string | null;
}

export interface Todo {
  content: string;
  status: "pending" | "in_progress" | "completed";
}

export interface ErrorView {
  code: string | null;
  message: string;
  advice: string | null;
}

export interface Notice {
  nid: string;
  code: string;
  message: string;
}

/** `cost`, and what caches `saved`, are decimal numbers in `currency`; null where not all of it is known. */
export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  requests: number;
  cost: string | null;
  saved: string | null;
  currency: string | null;
  context_tokens: number | null;
  context_window: number | null;
}

/** What can be typed for a prompt or a resource. */
export interface Command {
  text: string;
  hint: string;
}

/** An MCP server. */
export interface Server {
  name: string;
  state: "starting" | "connected" | "failed" | "closed";
  message: string | null;
  tool_count: number;
  commands: Command[];
}

/** A call whose arguments are still arriving. */
export interface Draft {
  name: string;
  arguments: string;
}

/** What changes rarely: everything but messages and drafts. */
export interface Top {
  session_id: string;
  status: Status;
  phase: Phase;
  interaction?: Interaction;
  can_stop: boolean;
  can_retry: boolean;
  model: ModelView;
  permission: Permission;
  question: Question | null;
  queue: QueuedQuestion[];
  waiting: WaitingInput[];
  input_policy: InputPolicy;
  storage: Storage;
  name: string | null;
  todos: Todo[];
  error: ErrorView | null;
  notices: Notice[];
  servers?: Server[];
  usage: Usage | null;
}

/** The whole view. */
export interface SessionView {
  session_id: string;
  status: Status;
  phase: Phase;
  interaction?: Interaction;
  can_stop: boolean;
  can_retry: boolean;
  model: ModelView;
  permission: Permission;
  question: Question | null;
  queue: QueuedQuestion[];
  waiting: WaitingInput[];
  input_policy: InputPolicy;
  storage: Storage;
  name: string | null;
  todos: Todo[];
  error: ErrorView | null;
  notices: Notice[];
  servers?: Server[];
  usage: Usage | null;
  drafts?: Draft[];
  messages: MessageWindow;
}

/** What the `snapshot` trait holds, and what answers `hello`. */
export interface Snapshot {
  protocol: number;
  epoch: string;
  seq: number;
  view: SessionView;
}

/** `seq` is exactly one more than that of the patch before. */
export interface PatchMessage {
  kind: "patch";
  epoch: string;
  seq: number;
  ops: unknown[];
}

/** A command was carried out. `text` and `images` (data addresses) are what it took back. */
export interface Receipt {
  kind: "reply";
  request_id: string;
  ok: true;
  message_id?: string;
  queue?: "steering" | "follow_up";
  text?: string;
  images?: string[];
  models?: string[];
}

/** A command was not carried out, and why. */
export interface Refusal {
  kind: "reply";
  request_id: string;
  ok: false;
  code: string;
  message: string;
}

/** The events of the session, for a page that greeted with `"events": true`: as code reads them, each once and in order. */
export interface EventsMessage {
  kind: "events";
  epoch: string;
  events: unknown[];
}

/** Older messages; `items[0]` has the absolute index `first`. */
export interface HistoryMessage {
  kind: "history";
  request_id: string;
  epoch: string;
  first: number;
  items: Message[];
}
