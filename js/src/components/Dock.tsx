// What stands below the transcript: notices, error, question, plan, waiting messages, composer.

import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { isUnconfirmed } from "../composer";
import type { Client } from "../delivery";
import { canSend, isReadOnly, type Queue, type SessionView } from "../protocol";
import { visible } from "../text/escapes";
import { useWords } from "../ui-state";
import { refusalInWords, type Words } from "../words";
import type { Attach } from "./Attachments";
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
  onAttach: Attach;
  onSend: (queue?: Queue) => void;
  /** Sends what was not confirmed once more, as it was sent before. */
  onSendAgain: () => void;
}

export function Dock(props: Props): VNode {
  const { view, live, saved, sender, field, remark, onRemark, onAttach, onSend } = props;
  const t = useWords();
  const { question, error, interaction } = view;
  const { client, slow } = sender.state;
  const answered = useRef(new Set<string>());
  const running = live && view.status === "streaming";
  const stopping = view.phase === "stopping";
  const readOnly = isReadOnly(view);
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
        sendAgain={live && canSend(view) ? props.onSendAgain : null}
      />
      {!saved && (
        <Composer
          draft={client.draft}
          commands={(view.servers ?? []).flatMap((server) => server.commands)}
          field={field}
          blocked={blockedReason(t, view, live, client)}
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
          onAttach={onAttach}
          onDetach={sender.detach}
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
  const t = useWords();
  if (client.delivery === "unconfirmed") {
    return (
      <p class="refusal unconfirmed" role="status">
        {t("unconfirmed")}{" "}
        {isUnconfirmed(client) && (
          <button
            type="button"
            class="link"
            disabled={sendAgain === null}
            onClick={() => sendAgain?.()}
          >
            {t("send.again")}
          </button>
        )}
      </p>
    );
  }
  const { error } = client;
  const note = error ? visible(refusalInWords(t, error.code, error.message)) : remark;
  return note ? (
    <p class="refusal" role="status">
      {note}
    </p>
  ) : null;
}

/** Why nothing can be sent now, in words; null when it can. */
function blockedReason(t: Words, view: SessionView, live: boolean, client: Client): string | null {
  if (!live) return t("blocked.gone");
  if (view.storage.read_only !== null) return t("blocked.read_only");
  if (client.delivery === "waiting") return t("blocked.sending");
  if (canSend(view)) return isUnconfirmed(client) ? t("blocked.unconfirmed") : null;
  if (view.phase === "closed") return t("refused.SESSION_CLOSED");
  if (view.phase === "failed") return t("blocked.failed");
  if (view.question) return t("blocked.question");
  if (view.phase === "stopping") return t("blocked.stopping");
  return t(view.can_stop ? "blocked.running" : "blocked.other");
}
