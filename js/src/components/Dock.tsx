// What stands below the transcript: notices, error, question, plan, composer.

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { canSend, type SessionView } from "../protocol";
import type { ComposerState } from "../ui-state";
import { Composer } from "./Composer";
import { ErrorBanner } from "./ErrorBanner";
import { Notices } from "./Notices";
import { QuestionCard } from "./QuestionCard";
import { Todos } from "./Todos";

interface Props {
  view: SessionView;
  live: boolean;
  /** A saved transcript: it can only be read. */
  saved: boolean;
  composer: ComposerState;
  field: { current: HTMLTextAreaElement | null };
  onDraft: (draft: string) => void;
  onSend: () => void;
}

export function Dock(props: Props): VNode {
  const { view, live, saved, composer, field, onDraft, onSend } = props;
  const { question, error } = view;
  const answered = useRef(new Set<string>());
  const [remark, setRemark] = useState<string | null>(null);
  // A new question and a new message make the last remark an old one.
  const pid = question?.pid ?? null;
  const sending = composer.sending !== null;
  useEffect(() => {
    if (pid !== null || sending) setRemark(null);
  }, [pid, sending]);
  const note = composer.refusal ?? remark;
  return (
    <div class="dock">
      <Notices notices={view.notices} />
      {error && <ErrorBanner error={error} canRetry={live && view.can_retry} />}
      {live && question && (
        <QuestionCard
          key={question.pid}
          question={question}
          queue={view.queue}
          answered={answered.current}
          onRefused={setRemark}
        />
      )}
      {view.todos.length > 0 && <Todos todos={view.todos} asking={live && question !== null} />}
      {note && (
        <p class="refusal" role="status">
          {note}
        </p>
      )}
      {!saved && (
        <Composer
          state={composer}
          field={field}
          blocked={blockedReason(view, live, sending)}
          canStop={live && view.can_stop}
          onDraft={onDraft}
          onSend={onSend}
          onRefused={setRemark}
        />
      )}
    </div>
  );
}

/** Why nothing can be sent now, in words; null when it can. */
function blockedReason(view: SessionView, live: boolean, sending: boolean): string | null {
  if (!live) return "The kernel of this chat is gone.";
  if (sending) return "Your last message is still being sent.";
  if (canSend(view)) return null;
  if (view.phase === "closed") return "This chat is closed. Run the cell again to start a new one.";
  if (view.question) return "Answer the question above first, or stop the run.";
  if (view.can_stop) return "The assistant is still working. Stop it, or wait until it is done.";
  return "Nothing can be sent right now.";
}
