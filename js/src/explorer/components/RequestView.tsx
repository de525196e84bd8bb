import type { VNode } from "preact";
import { visible } from "../../text/escapes";
import { messagesFor, same } from "../fold";
import type { Explorer } from "../model";
import type { Json, JsonObject, Request } from "../protocol";
import { requestInWords, WORDS } from "../words";

const pretty = (value: Json): string =>
  typeof value === "string" ? value : JSON.stringify(value, null, 1);

const messagesOfRequest = (explorer: Explorer, request: Request): JsonObject[] =>
  (request.messages as JsonObject[] | null) ??
  messagesFor(explorer.stateBefore(request.at), request.agent);

/** What a tool gave back, as the model reads it: its texts. */
function outputText(part: JsonObject): string {
  if (part.error !== undefined) return pretty(part.error);
  const content = (part.output as JsonObject | null)?.content;
  if (!Array.isArray(content)) return part.output === undefined ? "" : pretty(part.output);
  return content
    .map((item) => ((item as JsonObject).text as string) ?? `[${(item as JsonObject).type}]`)
    .join("\n");
}

function Line(props: { who: string; children: string; note?: string }): VNode {
  return (
    <div class={`said-line ${props.who}`}>
      <span class="role">{props.who}</span>
      <span class="line-text" dir="auto">
        {props.note && <span class="note">{props.note} </span>}
        {visible(props.children)}
      </span>
    </div>
  );
}

/** One message as the model reads it: texts, calls, and the results that answer them. */
function MessageLines({ message }: { message: JsonObject }): VNode {
  const parts = message.parts as JsonObject[];
  const role = message.role as string;
  return (
    <>
      {parts.map((part, index) => {
        const key = `${index}`;
        if (part.type === "text")
          return (
            <Line key={key} who={role}>
              {part.text as string}
            </Line>
          );
        if (part.type === "reasoning")
          return (
            <Line key={key} who={role} note={WORDS.reasoning}>
              {part.text as string}
            </Line>
          );
        if (part.type !== "tool") return <Line key={key} who={role}>{`[${part.mime}]`}</Line>;
        return (
          <Line
            key={key}
            who={role}
            note="call"
          >{`${part.name}(${JSON.stringify(part.input)})`}</Line>
        );
      })}
      {parts
        .filter((part) => part.type === "tool")
        .map((part) => (
          <Line key={part.id as string} who="tool" note={`${part.name}:`}>
            {outputText(part) || (part.state as string)}
          </Line>
        ))}
    </>
  );
}

function Tools({ tools }: { tools: JsonObject[] }): VNode {
  return (
    <ul class="tools">
      {tools.map((tool) => (
        <li key={tool.name as string}>
          <details>
            <summary>
              <code>{tool.name as string}</code>{" "}
              <span class="quiet">{visible(tool.description as string)}</span>
            </summary>
            <pre>{JSON.stringify(tool.parameters, null, 2)}</pre>
          </details>
        </li>
      ))}
    </ul>
  );
}

/** The request that had been sent by this step, as the model saw it. */
export function RequestView({
  explorer,
  at,
  go,
}: {
  explorer: Explorer;
  at: number;
  go: (to: number) => void;
}): VNode {
  const { rows, systems, toolsets } = explorer.requests;
  const index = rows.findLastIndex((row) => row.at <= at);
  const request = rows[index];
  const [older, newer] = [rows[index - 1], rows[index + 1]];
  const way = (
    <div class="row request-way">
      <button type="button" class="plain-button" disabled={!older} onClick={() => go(older!.at)}>
        {WORDS.requestBefore}
      </button>
      <button type="button" class="plain-button" disabled={!newer} onClick={() => go(newer!.at)}>
        {WORDS.requestAfter}
      </button>
    </div>
  );
  if (!request) {
    return (
      <>
        <p class="quiet">{WORDS.noRequest}</p>
        {newer && way}
      </>
    );
  }
  const messages = messagesOfRequest(explorer, request);
  const before = rows.slice(0, index).findLast((row) => row.agent === request.agent);
  const known = before ? messagesOfRequest(explorer, before) : [];
  let shared = 0;
  while (shared < Math.min(known.length, messages.length) && same(known[shared], messages[shared]))
    shared++;
  const tools = request.tools === null ? null : toolsets[request.tools]!;
  return (
    <div class="request">
      <div class="request-head">
        <h3>{requestInWords(index, rows.length, request.at)}</h3>
        {way}
      </div>
      {!request.exact && <p class="quiet">{WORDS.notKept}</p>}
      {request.exact && (
        <>
          <details open={index === 0}>
            <summary>{WORDS.system}</summary>
            <pre class="prose">
              {request.system === null ? WORDS.noSystem : visible(systems[request.system]!)}
            </pre>
          </details>
          <details>
            <summary>
              {WORDS.tools} <span class="quiet">{tools?.length ?? 0}</span>
            </summary>
            {tools?.length ? <Tools tools={tools} /> : <p class="quiet">{WORDS.noTools}</p>}
          </details>
        </>
      )}
      <h4>{WORDS.messages}</h4>
      {messages.map((message, place) => (
        <div
          key={message.id as string}
          class={`request-message ${place < shared ? "seen" : "new"}`}
        >
          <span class="tag">{place < shared ? WORDS.seenBefore : WORDS.isNew}</span>
          <MessageLines message={message} />
        </div>
      ))}
    </div>
  );
}
