import type { VNode } from "preact";
import { memo } from "../memo";
import type { Message, Part } from "../protocol";
import { visible } from "../text/escapes";
import { useWords } from "../ui-state";
import { Said, Stepper } from "./Branches";
import { Markdown } from "./Markdown";
import { Output } from "./Output";
import { ToolCard } from "./ToolCard";

function PartView({ part, final }: { part: Part; final: boolean }): VNode {
  const t = useWords();
  switch (part.type) {
    case "text":
      return <Markdown text={part.text} final={final} />;
    case "reasoning":
      return <p class="thought">{t(final ? "thought" : "thinking")}</p>;
    case "tool":
      return <ToolCard part={part} />;
    default:
      return <Output block={part} alt={t("image")} />;
  }
}

/** Context that nobody typed: one line that opens. */
function NoteView({ message, kind }: { message: Message; kind: string }): VNode {
  const t = useWords();
  return (
    <details class={`note ${kind === "compaction" ? kind : ""}`} data-mid={message.mid}>
      <summary>{t.known(`note.${kind}`) ?? visible(kind)}</summary>
      {message.parts.map((part, index) => (
        <PartView key={index} part={part} final />
      ))}
    </details>
  );
}

interface RowProps {
  message: Message;
  /** The message is the last one of a run that goes on. */
  growing: boolean;
  author: string;
  /** False when the message before has the same author and the label is for screen readers only. */
  labelled: boolean;
  /** The message can be made to branch: nothing runs, and the kernel takes messages. */
  atRest: boolean;
}

/** One message: an author and parts. */
export const MessageRow = memo((props: RowProps): VNode | null => {
  const t = useWords();
  const { message, growing, author, labelled, atRest } = props;
  if (message.note) {
    return message.note.is_shown ? <NoteView message={message} kind={message.note.kind} /> : null;
  }
  const last = message.parts.length - 1;
  if (last < 0 && !growing && !message.mark) return null; // all of it was taken back
  return (
    <article
      class={`msg ${message.role}`}
      aria-label={t("from", { author })}
      data-mid={message.mid}
    >
      <div class={labelled ? "author" : "author sr"}>
        <bdi>{author}</bdi>
      </div>
      {message.parts.map(
        (part, index) =>
          (message.role !== "user" || part.type !== "text") && (
            <PartView
              key={part.type === "tool" ? part.tid : index}
              part={part}
              final={!(growing && index === last)}
            />
          ),
      )}
      {message.role === "user" && <Said message={message} atRest={atRest} />}
      {message.mark && (
        <p class={`mark ${message.mark}`}>{t.known(`mark.${message.mark}`) ?? message.mark}</p>
      )}
      {(message.is_steering || message.branch) && (
        <div class="msg-foot">
          {message.branch && <Stepper mid={message.mid} branch={message.branch} atRest={atRest} />}
          {message.is_steering && <span class="quiet">{t("steered")}</span>}
        </div>
      )}
    </article>
  );
});

interface MessagesProps {
  items: Message[];
  streaming: boolean;
  author: string;
}

/** The messages of a nested run; its heading already names the agent. */
export function Messages({ items, streaming, author }: MessagesProps): VNode {
  const t = useWords();
  return (
    <>
      {items.map((message, index) => (
        <MessageRow
          key={message.mid}
          message={message}
          growing={streaming && index === items.length - 1}
          author={message.role === "user" ? t("task") : visible(author)}
          labelled={message.role === "user"}
          atRest={false}
        />
      ))}
    </>
  );
}
