import { Fragment, type VNode } from "preact";
import { useContext, useState } from "preact/hooks";
import { memo } from "../memo";
import type { AgentView, Block, ToolPart, ToolState } from "../protocol";
import { plainText } from "../text/ansi";
import { visible } from "../text/escapes";
import { LiveContext, useTools, useWords } from "../ui-state";
import { callStateInWords, durationInWords } from "../words";
import { AgentRun } from "./AgentRun";
import { CodeBlock } from "./CodeBlock";
import { Check, Chevron, Cross, Hand, Slash, Spinner } from "./Icons";
import { LiveOutput, lastLine, Output, TextOutput } from "./Output";

const OPEN_STATES: ToolState[] = ["running", "awaiting-confirmation"];

const STATE_ICONS: Record<ToolState, () => VNode> = {
  running: Spinner,
  "awaiting-confirmation": Hand,
  done: Check,
  error: Cross,
  cancelled: Slash,
};

const SHORT_LINES = 8;
const SHORT_CHARS = 600;

const isShort = (block: Block): boolean =>
  block.type === "text" &&
  block.text.length <= SHORT_CHARS &&
  block.text.split("\n").length <= SHORT_LINES;

/** Whether a card is open before the person says otherwise. */
export function openByDefault(part: ToolPart): boolean {
  if (part.agent && part.agent.messages.length > 0) return true;
  if (part.state === "running") return true;
  if (part.state !== "done") return false;
  const output = part.output ?? [];
  if (output.some((block) => block.type !== "text")) return true;
  return output.length > 0 && output.every(isShort);
}

/** The call in one line: what it runs, or its arguments. */
export function callInOneLine(part: ToolPart): string {
  if (part.code) return part.code.text.trim().split("\n")[0] ?? "";
  if (part.input === null || part.input === undefined) return "";
  if (typeof part.input !== "object" || Array.isArray(part.input))
    return JSON.stringify(part.input);
  return Object.entries(part.input)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(", ");
}

const isShortScalar = (value: unknown): boolean =>
  typeof value !== "object" ? String(value).length <= 200 : value === null;

function Call({ part }: { part: ToolPart }): VNode | null {
  const { code, input } = part;
  if (code) return <CodeBlock text={code.text} language={code.language} />;
  if (input === null || input === undefined) return null;
  const entries = typeof input === "object" && !Array.isArray(input) ? Object.entries(input) : null;
  if (entries === null || !entries.every(([, value]) => isShortScalar(value))) {
    return <CodeBlock text={JSON.stringify(input, null, 2)} language="json" />;
  }
  if (entries.length === 0) return null;
  return (
    <dl class="arguments" dir="ltr">
      {entries.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{visible(name)}</dt>
          <dd>{visible(JSON.stringify(value))}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

// A traceback among the outputs ends with the error's message.
const isToldBy = (output: Block[] | null, message: string): boolean =>
  output?.some((block) => block.type === "text" && plainText(block.text).includes(message)) ??
  false;

/** What went wrong, where neither the state nor the output says it. */
export const untold = ({ error, output, stop }: ToolPart): string =>
  !error || (stop && output) || isToldBy(output, error.message) ? "" : error.message;

/** Whether the last message of the agent in the card ends with that very text. */
const isSaidBy = (agent: AgentView | null, block: Block): boolean => {
  const last = agent?.messages.at(-1)?.parts.at(-1);
  return last?.type === "text" && block.type === "text" && last.text.trim() === block.text.trim();
};

function Body({ part }: { part: ToolPart }): VNode {
  const t = useWords();
  return (
    <div class="card-body">
      {part.agent ? <AgentRun agent={part.agent} prompt={part.prompt} /> : <Call part={part} />}
      {part.live !== null && part.state === "running" && <LiveOutput text={part.live} />}
      {part.output?.map(
        (block, index) =>
          isSaidBy(part.agent, block) || (
            <Output key={index} block={block} alt={t("output.of", { tool: visible(part.name) })} />
          ),
      )}
      {untold(part) && <TextOutput text={untold(part)} />}
    </div>
  );
}

/** One tool call: a summary line that opens and closes, and what the call was given and gave back. */
export const ToolCard = memo(({ part: told }: { part: ToolPart }): VNode => {
  const tools = useTools();
  const t = useWords();
  const live = useContext(LiveContext);
  const part: ToolPart =
    live || !OPEN_STATES.includes(told.state) ? told : { ...told, state: "cancelled", stop: null };
  const [chosen, choose] = useState(tools.expanded.get(part.tid));
  const open = chosen ?? openByDefault(part);
  const Icon = STATE_ICONS[part.state] ?? Spinner;
  const toggle = (): void =>
    tools.keepPlace(() => {
      tools.expanded.set(part.tid, !open);
      choose(!open);
    });
  return (
    <section class={`card ${part.state}`} data-tid={part.tid} data-state={part.state}>
      <button type="button" class="card-head" aria-expanded={open} onClick={toggle}>
        <span class="card-icon">
          <Icon />
        </span>
        <span class="card-name" dir="auto">
          {visible(part.name)}
        </span>
        <span class="card-call" dir="ltr">
          {open ? "" : visible(callInOneLine(part))}
        </span>
        {part.is_edited && <span class="card-edited">{t("card.edited")}</span>}
        <span class="card-state">{callStateInWords(t, part)}</span>
        {part.duration_ms !== null && part.state !== "running" && (
          <span class="card-time">{durationInWords(t, part.duration_ms)}</span>
        )}
        <span class="card-chevron">
          <Chevron />
        </span>
      </button>
      {part.progress && part.state === "running" && (
        <p class="card-line" dir="auto">
          {visible(part.progress)}
        </p>
      )}
      {part.state === "awaiting-confirmation" && <p class="card-line">{t("card.asks")}</p>}
      {!open && part.error && !(part.stop && part.output) && (
        <p class="card-line" dir="auto">
          {visible(lastLine(part.error.message))}
        </p>
      )}
      {open && <Body part={part} />}
    </section>
  );
});
