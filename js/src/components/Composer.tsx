import type { Ref, VNode } from "preact";
import { isBlank } from "../composer";
import type { Draft } from "../delivery";
import type { Command, Queue, SessionView } from "../protocol";
import { isLaterKey, isSendKey, useTools, useWords } from "../ui-state";
import { refusalInWords, type Words } from "../words";
import { type Attach, AttachButton, pastedFiles, Thumbnails } from "./Attachments";
import { useOffers } from "./Commands";
import { useFittingHeight } from "./fields";
import { Send, Stop } from "./Icons";

interface Props {
  draft: Draft;
  /** What can be typed for more than it says. */
  commands: Command[];
  field: { current: HTMLTextAreaElement | null };
  /** Why nothing can be sent now, in words; null when it can. */
  blocked: string | null;
  /** What is being sent is not confirmed yet, and how long that takes. */
  sending: "no" | "sending" | "slow";
  readOnly: boolean;
  /** A run is under way and takes messages. */
  steers: boolean;
  stop: "no" | "stop" | "stopping";
  /** What is done with messages while a run is under way; null when that cannot be changed now. */
  policy: SessionView["input_policy"]["while_running"] | null;
  onDraft: (draft: string) => void;
  onAttach: Attach;
  onDetach: (attachment: string) => void;
  onSend: (queue?: Queue) => void;
}

const MOST_PX = 180;

export function Composer(props: Props): VNode {
  const { field, blocked, sending, readOnly, steers, policy, onDraft, onAttach, onSend } = props;
  const { text: draft, attachments } = props.draft;
  const t = useWords();
  const reason = blocked ?? (isBlank(props.draft) ? t("blocked.blank") : null);
  const offers = useOffers(draft, props.commands, onDraft);
  useFittingHeight(field, draft, MOST_PX);
  const send = (queue?: Queue): void => {
    if (reason === null) onSend(queue);
  };
  return (
    <div class={steers ? "composer steers" : "composer"}>
      {offers.list}
      <Thumbnails addresses={attachments} detach={props.onDetach} />
      <textarea
        ref={field as Ref<HTMLTextAreaElement>}
        rows={1}
        dir="auto"
        value={draft}
        readOnly={readOnly}
        placeholder={placeholderOf(t, props)}
        aria-label={t("message")}
        aria-describedby="composer-hint"
        aria-autocomplete="list"
        aria-controls={offers.active && "commands"}
        aria-activedescendant={offers.active}
        spellcheck
        onInput={(event) => onDraft(event.currentTarget.value)}
        onPaste={(event) => {
          const files = readOnly ? [] : pastedFiles(event);
          if (files.length === 0) return;
          event.preventDefault();
          void onAttach(files);
        }}
        onKeyDown={(event) => {
          if (offers.onKey(event)) {
            event.preventDefault();
            return;
          }
          const later = steers && isLaterKey(event);
          if (!later && !isSendKey(event)) return;
          event.preventDefault();
          if (steers) send(later ? "follow_up" : "steering");
          else send();
        }}
      />
      <div class="composer-buttons">
        <AttachButton attach={onAttach} disabled={readOnly} />
        <StopButton {...props} />
        {steers ? (
          <SteerButtons reason={reason} send={send} />
        ) : (
          <button
            type="button"
            class="send"
            aria-label={t("send")}
            aria-disabled={reason !== null}
            title={reason ?? t("send.enter")}
            aria-describedby="composer-hint"
            onClick={() => send()}
          >
            <Send />
          </button>
        )}
      </div>
      <div class="composer-foot">
        <span class="composer-hint" id="composer-hint">
          {hintOf(t, sending, blocked, steers)}
        </span>
        {policy !== null && <PolicySwitch policy={policy} />}
      </div>
    </div>
  );
}

function placeholderOf(t: Words, { readOnly, steers }: Props): string {
  return t(readOnly ? "ask.read_only" : steers ? "ask.steer" : "ask");
}

function hintOf(
  t: Words,
  sending: Props["sending"],
  blocked: string | null,
  steers: boolean,
): string {
  if (sending !== "no") return t(sending === "slow" ? "hint.slow" : "sending");
  return blocked ?? t(steers ? "hint.steer" : "hint");
}

function StopButton({ stop, field }: Props): VNode | null {
  const tools = useTools();
  const t = useWords();
  const press = async (): Promise<void> => {
    field.current?.focus({ preventScroll: true });
    if (stop !== "stop") return;
    const outcome = await tools.command("stop");
    if (!outcome.ok) tools.remark(refusalInWords(t, outcome.code, outcome.message));
  };
  if (stop === "no") return null;
  return (
    <button
      type="button"
      class="stop"
      aria-label={t("stop")}
      aria-disabled={stop === "stopping"}
      title={t(stop)}
      onClick={press}
    >
      <Stop />
      <span>{t("stop")}</span>
    </button>
  );
}

interface SteerProps {
  reason: string | null;
  send: (queue: Queue) => void;
}

function SteerButtons({ reason, send }: SteerProps): VNode {
  const t = useWords();
  return (
    <>
      <button
        type="button"
        class="plain-button"
        aria-disabled={reason !== null}
        title={reason ?? t("send.later")}
        onClick={() => send("follow_up")}
      >
        {t("queue.follow_up")}
      </button>
      <button
        type="button"
        class="send worded"
        aria-disabled={reason !== null}
        title={reason ?? t("send.next")}
        onClick={() => send("steering")}
      >
        <Send />
        {t("next")}
      </button>
    </>
  );
}

function PolicySwitch({ policy }: { policy: NonNullable<Props["policy"]> }): VNode {
  const tools = useTools();
  const t = useWords();
  const isOn = policy === "steer";
  const change = async (): Promise<void> => {
    const outcome = await tools.command("set_input_policy", { mode: isOn ? "block" : "steer" });
    if (!outcome.ok) tools.remark(refusalInWords(t, outcome.code, outcome.message));
  };
  return (
    <button type="button" class="switch" role="switch" aria-checked={isOn} onClick={change}>
      {t("policy")}
    </button>
  );
}
