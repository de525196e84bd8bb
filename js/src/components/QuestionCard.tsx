import type { RefObject, VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { editableOf } from "../editing";
import type { DecisionWord, Question, QueuedQuestion } from "../protocol";
import { visible } from "../text/escapes";
import { useTools, useWords } from "../ui-state";
import { refusalInWords } from "../words";
import { CodeBlock } from "./CodeBlock";
import { Chevron, Hand } from "./Icons";
import {
  ARMING_MS,
  DenyForm,
  EditForm,
  RulesForm,
  SCOPES,
  Sending,
  type Stage,
} from "./QuestionForms";

/** What the card shows below the question: the answers, or one that takes more than a click. */
type Form = "answers" | "deny" | "edit" | "rules";

/** Focus goes into the card when it was in this view (but not in a draft) or nowhere; else it stays where it is. */
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
  /** The calls that will ask after it. */
  queue: QueuedQuestion[];
  /** The questions this view has answered. */
  answered: Set<string>;
  onRefused: (reason: string) => void;
}

interface Answer {
  reason?: string;
  args?: Record<string, unknown>;
  rules?: string[];
}

interface Answering {
  stage: Stage;
  /** Why the last answer was not taken while the question stays open. */
  refusal: string | null;
  answer: (decision: DecisionWord, fields?: Answer) => Promise<void>;
}

/** Sends one answer, not in the first moment and not twice; a refusal opens the question again. */
function useAnswer({ question, answered, onRefused }: Props): Answering {
  const { pid } = question;
  const tools = useTools();
  const t = useWords();
  const [stage, setStage] = useState<Stage>(answered.has(pid) ? "sent" : "arming");
  const [refusal, setRefusal] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setStage((now) => (now === "arming" ? "open" : now)), ARMING_MS);
    return () => clearTimeout(timer);
  }, []);
  const answer = async (decision: DecisionWord, fields: Answer = {}): Promise<void> => {
    if (stage !== "open" || answered.has(pid)) return;
    answered.add(pid);
    setStage("sent");
    setRefusal(null);
    tools.focusComposer();
    const outcome = await tools.command(
      "decide",
      { pid, decision, ...fields },
      { slow: () => setStage("slow") },
    );
    if (outcome.ok) return;
    const reason = visible(refusalInWords(t, outcome.code, outcome.message));
    if (["QUESTION_CLOSED", "DISCONNECTED", "UNANSWERED"].includes(outcome.code)) onRefused(reason);
    else setRefusal(reason);
    if (outcome.code === "QUESTION_CLOSED") return;
    answered.delete(pid);
    setStage("open");
  };
  return { stage, refusal, answer };
}

/** The open permission question: who asks for what, the whole text, and the answers. Keyed by its pid. */
export function QuestionCard(props: Props): VNode {
  const { question, queue, answered } = props;
  const { stage, refusal, answer } = useAnswer(props);
  const [form, setForm] = useState<Form>("answers");
  const editable = useMemo(() => editableOf(question), [question]);
  const [draft, setDraft] = useState(editable.text);
  const [rules, setRules] = useState(question.rules);
  const card = useRef<HTMLElement>(null);
  const deny = useRef<HTMLButtonElement>(null);
  const open = stage === "open";
  useLayoutEffect(() => {
    if (mayTakeFocus(card.current!)) deny.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    if (refusal === null || !mayTakeFocus(card.current!)) return;
    card.current!.querySelector<HTMLElement>("form :is(input, textarea), .answer")?.focus();
  }, [refusal]);

  const choose = (wanted: Form): void => {
    if (open && !answered.has(question.pid)) setForm(wanted);
  };
  const back = (): void => {
    const opener = `[data-form="${form}"]`;
    setForm("answers");
    requestAnimationFrame(() => card.current?.querySelector<HTMLElement>(opener)?.focus());
  };
  return (
    <section
      class={`question ${stage}`}
      ref={card}
      role="alertdialog"
      aria-labelledby="question-title"
    >
      <Asked question={question} />
      {queue.length > 0 && <Queue queue={queue} />}
      {form === "edit" ? (
        <EditForm
          editable={editable}
          draft={draft}
          stage={stage}
          onDraft={setDraft}
          allow={(args) => answer("edit", { args })}
          cancel={back}
        />
      ) : (
        <div class="question-text">
          <CodeBlock text={question.text} language={question.language ?? "plaintext"} />
        </div>
      )}
      {form === "deny" && open && (
        <DenyForm deny={(reason) => answer("deny", reason ? { reason } : {})} back={back} />
      )}
      {(form === "answers" || (form === "deny" && !open)) && (
        <Answers
          question={question}
          stage={stage}
          denyButton={deny}
          allow={() => answer("allow_once")}
          choose={choose}
        />
      )}
      {form === "rules" && (
        <RulesForm
          question={question}
          rules={rules}
          stage={stage}
          onRules={setRules}
          allow={(decision, kept) => answer(decision, { rules: kept })}
          back={back}
        />
      )}
      {refusal && open && (
        <p class="refusal" role="alert">
          {refusal}
        </p>
      )}
    </section>
  );
}

function Asked({ question }: { question: Question }): VNode {
  const t = useWords();
  const asked = t.rich(question.is_form ? "question.form" : "question", {
    tool: <code>{visible(question.tool)}</code>,
  });
  const lines = question.text.trimEnd().split("\n").length;
  return (
    <>
      <div class="question-head">
        <Hand />
        <h2 id="question-title">
          {question.agent
            ? t.rich("question.agent", {
                agent: <bdi>{visible(question.agent)}</bdi>,
                question: asked,
              })
            : asked}
        </h2>
        {lines > 1 && <span class="waiting">{t("question.lines", { count: lines })}</span>}
      </div>
      {question.reason && (
        <p class="question-reason" dir="auto">
          {visible(question.reason)}
        </p>
      )}
    </>
  );
}

/** The calls that will ask next: their names, and on demand what each will run. */
function Queue({ queue }: { queue: QueuedQuestion[] }): VNode {
  const t = useWords();
  const tools = queue.map((call) => visible(call.tool)).join(", ");
  return (
    <details class="queue">
      <summary class="waiting">
        <Chevron />
        <span>{t.rich("question.queue", { count: queue.length, tools: <bdi>{tools}</bdi> })}</span>
      </summary>
      <ol aria-label={t("question.next")}>
        {queue.map((call) => (
          <li key={call.tid}>
            {call.agent
              ? t.rich("question.call", {
                  agent: <bdi>{visible(call.agent)}</bdi>,
                  tool: <code>{visible(call.tool)}</code>,
                })
              : [<code key="tool">{visible(call.tool)}</code>]}{" "}
            <span class="card-call" dir="ltr">
              {visible(call.text.trim().replace(/\s+/g, " "))}
            </span>
          </li>
        ))}
      </ol>
    </details>
  );
}

interface AnswersProps {
  question: Question;
  stage: Stage;
  denyButton: RefObject<HTMLButtonElement | null>;
  allow: () => void;
  choose: (form: Form) => void;
}

function Answers(props: AnswersProps): VNode {
  const t = useWords();
  const { question, stage, denyButton, allow, choose } = props;
  const { options, rules } = question;
  const widens = rules.length > 0 && options.some((option) => SCOPES.includes(option));
  const button = (decision: DecisionWord, act: () => void, opens?: Form): VNode | null =>
    options.includes(decision) ? (
      <button
        type="button"
        ref={decision === "deny" ? denyButton : null}
        class={`answer ${decision}`}
        data-decision={decision}
        data-form={opens}
        aria-disabled={stage !== "open"}
        onClick={act}
      >
        {t(`answer.${decision}`)}
      </button>
    ) : null;
  return (
    <>
      <div class="answers">
        <Sending stage={stage} />
        {button("deny", () => choose("deny"), "deny")}
        {widens && (
          <button
            type="button"
            class="answer more"
            data-form="rules"
            aria-disabled={stage !== "open"}
            onClick={() => choose("rules")}
          >
            {t("question.more")}
          </button>
        )}
        {button("edit", () => choose("edit"), "edit")}
        {button("allow_once", allow)}
      </div>
      {!widens && !question.is_form && <p class="once-only">{t("question.once")}</p>}
    </>
  );
}
