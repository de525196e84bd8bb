import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Decision, Question } from "../protocol";
import { visible } from "../text/escapes";
import { isSendKey, useTools } from "../ui-state";
import { DECISIONS, refusalInWords } from "../words";
import { CodeBlock } from "./CodeBlock";
import { Hand } from "./Icons";

/** A question cannot be answered in its first moment: a click or Enter may have been meant for something else. */
export const ARMING_MS = 500;

type Stage = "arming" | "open" | "sent" | "slow";

/** Focus goes to Deny when it was in this view (but not in a draft) or nowhere; else it stays where it is. */
function mayTakeFocus(element: Element): boolean {
  const root = element.getRootNode() as ShadowRoot | Document;
  const inside = root instanceof ShadowRoot ? root.activeElement : null;
  if (inside instanceof HTMLTextAreaElement || inside instanceof HTMLInputElement) {
    return inside.value === "";
  }
  const outside = document.activeElement;
  return inside !== null || outside === null || outside === document.body;
}

interface Props {
  question: Question;
  waiting: number;
  /** The questions this view has answered. */
  answered: Set<string>;
  reachable: boolean;
  onRefused: (reason: string) => void;
}

/** The open permission question: who asks for what, the whole text, and the answers. Keyed by its pid. */
export function QuestionCard(props: Props): VNode {
  const { question, waiting, answered, reachable, onRefused } = props;
  const tools = useTools();
  const [stage, setStage] = useState<Stage>(answered.has(question.pid) ? "sent" : "arming");
  const [denying, setDenying] = useState(false);
  const card = useRef<HTMLElement>(null);
  const deny = useRef<HTMLButtonElement>(null);
  const why = useRef<HTMLInputElement>(null);

  useLayoutEffect(() => {
    if (mayTakeFocus(card.current!)) deny.current?.focus({ preventScroll: true });
    const timer = setTimeout(() => setStage((now) => (now === "arming" ? "open" : now)), ARMING_MS);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => {
    if (denying) why.current?.focus({ preventScroll: true });
  }, [denying]);

  const answer = async (decision: Decision, reason = ""): Promise<void> => {
    if (stage !== "open" || answered.has(question.pid)) return;
    answered.add(question.pid);
    setStage("sent");
    tools.focusComposer();
    const fields = { pid: question.pid, decision, ...(reason === "" ? {} : { reason }) };
    const outcome = await tools.command("decide", fields, () => setStage("slow"));
    if (outcome.ok) return;
    onRefused(refusalInWords(outcome.code, outcome.message));
    if (outcome.code === "QUESTION_CLOSED") return;
    answered.delete(question.pid);
    setStage("open");
  };
  const choose = (decision: Decision): void => {
    if (stage !== "open") return;
    if (decision === "deny") setDenying(true);
    else void answer(decision);
  };
  const inert = stage !== "open" || !reachable;
  const lines = question.text.trimEnd().split("\n").length;
  const titleId = `q-${question.pid}`;
  const order = (["deny", "allow_session", "allow_once"] as const).filter((option) =>
    question.options.includes(option),
  );
  return (
    <section class={`question ${stage}`} ref={card} role="alertdialog" aria-labelledby={titleId}>
      <div class="question-head">
        <Hand />
        <h2 id={titleId}>
          {question.agent && <>{visible(question.agent)} asks: </>}
          Allow <code>{visible(question.tool)}</code> to run?
        </h2>
        {lines > 1 && <span class="waiting">{lines} lines</span>}
        {waiting > 0 && <span class="waiting">{waiting} more waiting</span>}
      </div>
      {question.reason && (
        <p class="question-reason" dir="auto">
          {visible(question.reason)}
        </p>
      )}
      <div class="question-text">
        <CodeBlock text={question.text} language={question.language ?? "plaintext"} />
      </div>
      {denying && (stage === "open" || stage === "arming") ? (
        <form
          class="deny-form"
          onSubmit={(event) => event.preventDefault()}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              setDenying(false);
              requestAnimationFrame(() => deny.current?.focus());
            } else if (isSendKey(event)) {
              event.preventDefault();
              if (event.target === why.current) void answer("deny", why.current?.value.trim());
            }
          }}
        >
          <input
            ref={why}
            type="text"
            dir="auto"
            maxLength={1000}
            placeholder="Why? (the model will see this)"
            aria-label="Why? (the model will see this). Enter denies."
          />
          <button type="button" class="quiet-button" onClick={() => setDenying(false)}>
            Back
          </button>
          <button
            type="button"
            class="danger-button"
            aria-disabled={inert}
            onClick={() => answer("deny", why.current?.value.trim())}
          >
            Deny
          </button>
        </form>
      ) : (
        <div class="answers">
          {stage === "sent" && <span class="quiet">Sending your answer…</span>}
          {stage === "slow" && <span class="quiet">Waiting for the kernel…</span>}
          {order.map((option) => (
            <button
              key={option}
              type="button"
              ref={option === "deny" ? deny : null}
              class={`answer ${option}`}
              data-decision={option}
              aria-disabled={inert}
              aria-describedby={
                option === "allow_session" && question.session_rule ? `${titleId}-rule` : undefined
              }
              onClick={() => choose(option)}
            >
              {DECISIONS[option]}
            </button>
          ))}
        </div>
      )}
      {!denying && question.session_rule && question.options.includes("allow_session") && (
        <p class="session-rule" id={`${titleId}-rule`} dir="auto">
          For this session: {visible(question.session_rule)}
        </p>
      )}
    </section>
  );
}
