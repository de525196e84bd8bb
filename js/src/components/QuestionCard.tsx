import type { RefObject, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { DecisionWord, Question } from "../protocol";
import { visible } from "../text/escapes";
import { isSendKey, useTools } from "../ui-state";
import { DECISIONS, refusalInWords } from "../words";
import { CodeBlock } from "./CodeBlock";
import { Hand } from "./Icons";

/** A question cannot be answered in its first moment: a click or Enter may have been meant for something else. */
export const ARMING_MS = 500;

const ORDER: readonly DecisionWord[] = ["deny", "allow_session", "allow_once"];

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
  /** How many more wait behind it. */
  waiting: number;
  /** The questions this view has answered. */
  answered: Set<string>;
  onRefused: (reason: string) => void;
}

interface Answering {
  stage: Stage;
  answer: (decision: DecisionWord, reason?: string) => Promise<void>;
}

/** Sends one answer, not in the first moment and not twice; a refusal opens the question again. */
function useAnswer({ question, answered, onRefused }: Props): Answering {
  const { pid } = question;
  const tools = useTools();
  const [stage, setStage] = useState<Stage>(answered.has(pid) ? "sent" : "arming");
  useEffect(() => {
    const timer = setTimeout(() => setStage((now) => (now === "arming" ? "open" : now)), ARMING_MS);
    return () => clearTimeout(timer);
  }, []);
  const answer = async (decision: DecisionWord, reason = ""): Promise<void> => {
    if (stage !== "open" || answered.has(pid)) return;
    answered.add(pid);
    setStage("sent");
    tools.focusComposer();
    const fields = { pid, decision, ...(reason === "" ? {} : { reason }) };
    const outcome = await tools.command("decide", fields, () => setStage("slow"));
    if (outcome.ok) return;
    onRefused(refusalInWords(outcome.code, outcome.message));
    if (outcome.code === "QUESTION_CLOSED") return;
    answered.delete(pid);
    setStage("open");
  };
  return { stage, answer };
}

/** The open permission question: who asks for what, the whole text, and the answers. Keyed by its pid. */
export function QuestionCard(props: Props): VNode {
  const { question, waiting } = props;
  const { stage, answer } = useAnswer(props);
  const [denying, setDenying] = useState(false);
  const card = useRef<HTMLElement>(null);
  const deny = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (mayTakeFocus(card.current!)) deny.current?.focus({ preventScroll: true });
  }, []);

  const choose = (decision: DecisionWord): void => {
    if (stage !== "open") return;
    if (decision === "deny") setDenying(true);
    else void answer(decision);
  };
  const back = (): void => {
    setDenying(false);
    requestAnimationFrame(() => deny.current?.focus());
  };
  return (
    <section
      class={`question ${stage}`}
      ref={card}
      role="alertdialog"
      aria-labelledby="question-title"
    >
      <Asked question={question} waiting={waiting} />
      {denying && stage === "open" ? (
        <DenyForm deny={(reason) => answer("deny", reason)} back={back} />
      ) : (
        <Answers question={question} stage={stage} denyButton={deny} choose={choose} />
      )}
    </section>
  );
}

function Asked({ question, waiting }: { question: Question; waiting: number }): VNode {
  const lines = question.text.trimEnd().split("\n").length;
  return (
    <>
      <div class="question-head">
        <Hand />
        <h2 id="question-title">
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
    </>
  );
}

interface AnswersProps {
  question: Question;
  stage: Stage;
  denyButton: RefObject<HTMLButtonElement | null>;
  choose: (decision: DecisionWord) => void;
}

function Answers({ question, stage, denyButton, choose }: AnswersProps): VNode {
  const { options, session_rule } = question;
  const rule = options.includes("allow_session") ? session_rule : null;
  return (
    <>
      <div class="answers">
        {stage === "sent" && <span class="quiet">Sending your answer…</span>}
        {stage === "slow" && <span class="quiet">Waiting for the kernel…</span>}
        {ORDER.filter((option) => options.includes(option)).map((option) => (
          <button
            key={option}
            type="button"
            ref={option === "deny" ? denyButton : null}
            class={`answer ${option}`}
            data-decision={option}
            aria-disabled={stage !== "open"}
            aria-describedby={option === "allow_session" && rule ? "question-rule" : undefined}
            onClick={() => choose(option)}
          >
            {DECISIONS[option]}
          </button>
        ))}
      </div>
      {rule && (
        <p class="session-rule" id="question-rule" dir="auto">
          For this session: {visible(rule)}
        </p>
      )}
    </>
  );
}

function DenyForm(props: { deny: (reason: string) => void; back: () => void }): VNode {
  const { deny, back } = props;
  const why = useRef<HTMLInputElement>(null);
  useEffect(() => why.current?.focus({ preventScroll: true }), []);
  const confirm = (): void => deny(why.current!.value.trim());
  return (
    <form
      class="deny-form"
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (event.key === "Escape") back();
        if (event.target !== why.current || event.key !== "Enter") return;
        event.preventDefault();
        if (isSendKey(event)) confirm();
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
      <button type="button" class="quiet-button" onClick={back}>
        Back
      </button>
      <button type="button" class="danger-button" onClick={confirm}>
        Deny
      </button>
    </form>
  );
}
