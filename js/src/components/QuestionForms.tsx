// The answers that take more than a click: a denial's reason, edited arguments, rules.

import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Editable, editedFrom, unseenLines } from "../editing";
import type { DecisionWord, Question } from "../protocol";
import { visible } from "../text/escapes";
import { isLeaveKey, isSendKey, useWords } from "../ui-state";
import { Warning } from "./Icons";

/** Neither a question nor a form can be answered in its first moment: the click or key may have been meant for what was there before. */
export const ARMING_MS = 500;

/** False in the first moment of the component. */
function useArmed(): boolean {
  const [armed, setArmed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(setArmed, ARMING_MS, true);
    return () => clearTimeout(timer);
  }, []);
  return armed;
}

const UNSEEN_LINES = 3;

/** A field cannot mark characters without a glyph: the lines that hold some, as they really are. */
function Unseen({ text }: { text: string }): VNode | null {
  const t = useWords();
  const lines = unseenLines(text);
  if (lines.length === 0) return null;
  const more = lines.length - UNSEEN_LINES;
  return (
    <div class="unseen" role="status">
      <Warning />
      <div>
        {t("unseen")}
        {lines.slice(0, UNSEEN_LINES).map(({ number, shown }) => (
          <p key={number}>
            {t.rich("unseen.line", { number, text: <code dir="ltr">{shown}</code> })}
          </p>
        ))}
        {more > 0 && <p>{t("unseen.more", { count: more })}</p>}
      </div>
    </div>
  );
}

/** How far the answer to a question is; only an open one can be answered. */
export type Stage = "arming" | "open" | "sent" | "slow";

/** What an answer on its way waits for. */
export function Sending({ stage }: { stage: Stage }): VNode | null {
  const t = useWords();
  if (stage !== "sent" && stage !== "slow") return null;
  return <span class="quiet">{t(`question.${stage}`)}</span>;
}

export function DenyForm(props: { deny: (reason: string) => void; back: () => void }): VNode {
  const { deny, back } = props;
  const t = useWords();
  const why = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => why.current?.focus({ preventScroll: true }), []);
  const confirm = (): void => deny(why.current!.value.trim());
  return (
    <form
      class="deny-form"
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (isLeaveKey(event)) back();
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
        placeholder={t("why")}
        aria-label={t("why.enter")}
      />
      <button type="button" class="quiet-button" onClick={back}>
        {t("back")}
      </button>
      <button type="button" class="danger-button" onClick={confirm}>
        {t("answer.deny")}
      </button>
    </form>
  );
}

interface EditProps {
  editable: Editable;
  draft: string;
  stage: Stage;
  onDraft: (draft: string) => void;
  allow: (args: Record<string, unknown>) => void;
  cancel: () => void;
}

const LEAST_ROWS = 3;
const MOST_ROWS = 12;

/** The editor of a call's arguments: what stands in it is exactly what will be sent. */
export function EditForm(props: EditProps): VNode {
  const { editable, draft, stage, onDraft, allow, cancel } = props;
  const t = useWords();
  const open = stage === "open";
  const { text, argument } = editable;
  const armed = useArmed();
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    field.current!.focus({ preventScroll: true });
    field.current!.setSelectionRange(0, 0);
  }, []);
  const edited = editedFrom(t, draft, argument);
  const problem = "problem" in edited ? edited.problem : null;
  const reason = problem ?? (draft === text ? t("edit.same") : null);
  const ready = armed && open && reason === null;
  const rows = Math.min(MOST_ROWS, Math.max(LEAST_ROWS, draft.split("\n").length));
  return (
    <form
      class="edit-form"
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={(event) => isLeaveKey(event) && open && cancel()}
    >
      <textarea
        ref={field}
        dir="ltr"
        rows={rows}
        value={draft}
        readOnly={!open}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        aria-label={
          argument === null ? t("edit.json") : t("edit.what", { argument: visible(argument) })
        }
        aria-invalid={problem !== null}
        aria-describedby="edit-note"
        onInput={(event) => onDraft(event.currentTarget.value)}
      />
      <Unseen text={draft} />
      <p class={problem ? "edit-note problem" : "edit-note"} id="edit-note" role="status">
        {problem ?? t("edit.told")}
      </p>
      <div class="answers">
        <Sending stage={stage} />
        <button
          type="button"
          class="quiet-button"
          aria-disabled={!open}
          onClick={() => open && cancel()}
        >
          {t("edit.cancel")}
        </button>
        <button
          type="button"
          class="answer primary"
          data-decision="edit"
          aria-disabled={!ready}
          title={reason ?? undefined}
          onClick={() => ready && "args" in edited && allow(edited.args)}
        >
          {t("edit.allow")}
        </button>
      </div>
    </form>
  );
}

interface RulesProps {
  question: Question;
  rules: string[];
  stage: Stage;
  onRules: (rules: string[]) => void;
  allow: (decision: DecisionWord, rules: string[]) => void;
  back: () => void;
}

/** The wider permissions of the options, narrowest first. */
export const SCOPES: readonly DecisionWord[] = ["allow_session", "allow_project"];

/** The rules that a wider permission adds, one a line, to be narrowed; and the buttons that add them. */
export function RulesForm(props: RulesProps): VNode {
  const { question, rules, stage, onRules, allow, back } = props;
  const t = useWords();
  const open = stage === "open";
  const { options, project_file } = question;
  const armed = useArmed();
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => form.current!.querySelector("input")?.focus({ preventScroll: true }), []);
  const kept = rules.filter((rule) => rule.trim() !== "");
  const ready = armed && open && kept.length > 0;
  return (
    <form
      class="rules-form"
      ref={form}
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (isLeaveKey(event) && open) back();
        if (event.key === "Enter" && event.target instanceof HTMLInputElement)
          event.preventDefault();
      }}
    >
      <p class="rules-note" id="rules-note">
        {kept.length > 0 ? t("rules.do", { count: kept.length }) : t("rules.none")}
      </p>
      <div class="rules">
        {rules.map((rule, index) => (
          <RuleField
            key={index}
            rule={rule}
            label={t("rules.rule", { index: index + 1, count: rules.length })}
            open={open}
            onRule={(value) => onRules(rules.with(index, value))}
          />
        ))}
      </div>
      <Unseen text={rules.join("\n")} />
      {options.includes("allow_project") && project_file && (
        <p class="rules-note" id="rules-file">
          {t.rich("rules.file", {
            answer: t("answer.allow_project"),
            file: <code dir="ltr">{visible(project_file)}</code>,
          })}
        </p>
      )}
      <div class="answers">
        <Sending stage={stage} />
        <button
          type="button"
          class="quiet-button"
          aria-disabled={!open}
          onClick={() => open && back()}
        >
          {t("back")}
        </button>
        {SCOPES.filter((scope) => options.includes(scope)).map((scope) => (
          <button
            key={scope}
            type="button"
            class="answer"
            data-decision={scope}
            aria-disabled={!ready}
            aria-describedby={scope === "allow_project" ? "rules-note rules-file" : "rules-note"}
            onClick={() => ready && allow(scope, kept)}
          >
            {t(`answer.${scope}`)}
          </button>
        ))}
      </div>
    </form>
  );
}

interface FieldProps {
  rule: string;
  label: string;
  open: boolean;
  onRule: (rule: string) => void;
}

// A field of one line would drop line breaks without a word: such a rule can only be taken as it is.
function RuleField({ rule, label, open, onRule }: FieldProps): VNode {
  const fixed = /[\r\n]/.test(rule);
  return (
    <input
      type="text"
      class="rule"
      dir="ltr"
      value={fixed ? visible(rule).replace(/\n/g, "\\n") : rule}
      readOnly={fixed || !open}
      spellcheck={false}
      autocomplete="off"
      autocapitalize="off"
      aria-label={label}
      aria-describedby="rules-note"
      onInput={(event) => onRule(event.currentTarget.value)}
    />
  );
}
