import type { Ref, VNode } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { type ComposerState, isSendKey, useTools } from "../ui-state";
import { refusalInWords } from "../words";
import { Send, Stop } from "./Icons";

interface Props {
  state: ComposerState;
  field: { current: HTMLTextAreaElement | null };
  /** Why nothing can be sent now, in words; null when it can. */
  blocked: string | null;
  canStop: boolean;
  onDraft: (draft: string) => void;
  onSend: () => void;
  onRefused: (reason: string) => void;
}

const MOST_PX = 180;

export function Composer(props: Props): VNode {
  const { state, field, blocked, canStop, onDraft, onSend, onRefused } = props;
  const tools = useTools();
  const empty = state.draft.trim() === "";
  const reason = blocked ?? (empty ? "Type a message first." : null);

  useLayoutEffect(() => {
    const area = field.current!;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, MOST_PX)}px`;
    area.style.overflowY = area.scrollHeight > MOST_PX ? "auto" : "hidden";
  }, [state.draft, field]);

  const stop = async (): Promise<void> => {
    field.current?.focus({ preventScroll: true });
    const outcome = await tools.command("stop");
    if (!outcome.ok) onRefused(refusalInWords(outcome.code, outcome.message));
  };
  const send = (): void => {
    if (reason === null) onSend();
  };
  return (
    <div class="composer">
      <textarea
        ref={field as Ref<HTMLTextAreaElement>}
        rows={1}
        dir="auto"
        value={state.draft}
        placeholder="Ask about your data…"
        aria-label="Message"
        aria-describedby="composer-hint"
        spellcheck
        onInput={(event) => onDraft(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (!isSendKey(event)) return;
          event.preventDefault();
          send();
        }}
      />
      <div class="composer-buttons">
        {canStop && (
          <button type="button" class="stop" aria-label="Stop" title="Stop" onClick={stop}>
            <Stop />
            <span>Stop</span>
          </button>
        )}
        <button
          type="button"
          class="send"
          aria-label="Send"
          aria-disabled={reason !== null}
          title={reason ?? "Send (Enter)"}
          aria-describedby="composer-hint"
          onClick={send}
        >
          <Send />
        </button>
      </div>
      <div class="composer-hint" id="composer-hint">
        {blocked && !empty ? blocked : "Enter sends · Shift+Enter starts a new line"}
      </div>
    </div>
  );
}
