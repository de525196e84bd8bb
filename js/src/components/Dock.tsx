// What stands below the transcript: notices, error, question, plan, waiting messages, composer.

import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { isUnconfirmed } from "../composer";
import type { Client } from "../delivery";
import { canSend, type Queue, type SessionView } from "../protocol";
import { visible } from "../text/escapes";
import { refusalInWords, UNCONFIRMED } from "../words";
import { Composer } from "./Composer";
import { ErrorBanner } from "./ErrorBanner";
import type { Sender } from "./fields";
import { Notices } from "./Notices";
import { QuestionCard } from "./QuestionCard";
import { Todos } from "./Todos";
import { Waiting } from "./Waiting";

interface Props {
  view: SessionView;
  live: boolean;
  /** A saved transcript: it can only be read. */
  saved: boolean;
  sender: Sender;
  field: { current: HTMLTextAreaElement | null };
  /** What was said last about something that was refused. */
  remark: string | null;
  onRemark: (remark: string) => void;
  onSend: (queue?: Queue) => void;
  /** Sends what was not confirmed once more, as it was sent before. */
  onSendAgain: () => void;
}

export function Dock(props: Props): VNode {
  const { view, live, saved, sender, field, remark, onRemark, onSend, onSendAgain } = props;
  const { question, error, interaction, storage } = view;
  const { client, slow } = sender.state;
  const answered = useRef(new Set<string>());
  const running = live && view.status === "streaming";
  const stopping = view.phase === "stopping";
  const readOnly = storage.read_only !== null || view.phase === "closed";
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
          onRefused={onRemark}
        />
      )}
      {view.todos.length > 0 && <Todos todos={view.todos} asking={live && question !== null} />}
      <Waiting rows={view.waiting} running={running} editable={live && !readOnly} />
      <Delivery
        client={client}
        remark={remark}
        sendAgain={live && canSend(view) ? onSendAgain : null}
      />
      {!saved && (
        <Composer
          draft={client.draft.text}
          field={field}
          blocked={blockedReason(view, live, client)}
          sending={client.delivery !== "waiting" ? "no" : slow ? "slow" : "sending"}
          readOnly={readOnly}
          steers={running && !!interaction && canSend(view)}
          stop={live && (running || view.can_stop) ? (stopping ? "stopping" : "stop") : "no"}
          policy={
            running && interaction && !stopping && !readOnly
              ? view.input_policy.while_running
              : null
          }
          onDraft={sender.type}
          onSend={onSend}
        />
      )}
    </div>
  );
}

interface DeliveryProps {
  client: Client;
  remark: string | null;
  /** Null when nothing can be sent at all. */
  sendAgain: (() => void) | null;
}

/** What became of what was sent last, when it is not simply there. */
function Delivery({ client, remark, sendAgain }: DeliveryProps): VNode | null {
  if (client.delivery === "unconfirmed") {
    return (
      <p class="refusal unconfirmed" role="status">
        {UNCONFIRMED}{" "}
        {isUnconfirmed(client) && (
          <button
            type="button"
            class="link"
            disabled={sendAgain === null}
            onClick={() => sendAgain?.()}
          >
            Send again
          </button>
        )}
      </p>
    );
  }
  const { error } = client;
  const note = error ? visible(refusalInWords(error.code, error.message)) : remark;
  return note ? (
    <p class="refusal" role="status">
      {note}
    </p>
  ) : null;
}

/** Why nothing can be sent now, in words; null when it can. */
function blockedReason(view: SessionView, live: boolean, client: Client): string | null {
  if (!live) return "The kernel of this chat is gone.";
  if (view.storage.read_only !== null) return "This chat can only be read here.";
  if (client.delivery === "waiting") return "Your last message is still being sent.";
  if (canSend(view)) return isUnconfirmed(client) ? "Send it again, or change the text." : null;
  if (view.phase === "closed") return refusalInWords("SESSION_CLOSED", "");
  if (view.phase === "failed") return "This chat cannot go on. Run the cell again to open it anew.";
  if (view.question) return "Answer the question above first, or stop the run.";
  if (view.phase === "stopping") return "The run is being stopped.";
  if (view.can_stop) return "The assistant is still working. Stop it, or wait until it is done.";
  return "Nothing can be sent right now.";
}
