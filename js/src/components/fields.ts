// What the fields that send their text have in common.

import type { RefObject } from "preact";
import { useLayoutEffect, useReducer } from "preact/hooks";
import { freshRequestId, type Outcome } from "../commands";
import { type ComposerState, composed, composerWith, newsOf } from "../composer";
import type { CommandName, Queue } from "../protocol";
import type { ViewTools } from "../ui-state";

export interface Sender {
  state: ComposerState;
  type: (text: string) => void;
  attach: (attachments: readonly string[]) => void;
  detach: (attachment: string) => void;
  giveBack: (text: string, always: boolean, attachments?: readonly string[]) => void;
  /** Sends the draft with a command; it stays in the field until the kernel confirms it. */
  send: (
    command: ViewTools["command"],
    name: CommandName,
    fields: { mid?: string; queue?: Queue },
  ) => Promise<Outcome>;
}

/** A draft, and the fate of what was sent of it. */
export function useSender(initial = ""): Sender {
  const [state, act] = useReducer(composed, initial, composerWith);
  const { text, attachments } = state.client.draft;
  return {
    state,
    type: (typed) => act({ type: "typed", text: typed }),
    attach: (added) => act({ type: "attached", attachments: added }),
    detach: (attachment) => act({ type: "detached", attachment }),
    giveBack: (given, always, taken = []) =>
      act({ type: "returned", text: given, always, attachments: taken }),
    send: async (command, name, fields) => {
      const request_id = freshRequestId();
      act({ type: "sent", request_id });
      const outcome = await command(
        name,
        { ...fields, text, ...(attachments.length > 0 && { images: attachments }), request_id },
        {
          slow: () => act({ type: "slow", request_id }),
          overdue: () => act({ type: "news", news: { type: "timeout", request_id } }),
        },
      );
      // The receipt for a change of a message that has an id may leave that out.
      const known = outcome.ok && fields.mid ? { message_id: fields.mid, ...outcome } : outcome;
      act({ type: "news", news: newsOf(request_id, text, known) });
      // Nothing more will come: what this did not settle is not confirmed.
      act({ type: "news", news: { type: "timeout", request_id } });
      return outcome;
    },
  };
}

/** Makes the field as high as its text, up to a limit from which on it scrolls. */
export function useFittingHeight(
  field: RefObject<HTMLTextAreaElement | null>,
  text: string,
  mostPx: number,
): void {
  useLayoutEffect(() => {
    const area = field.current!;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight + 2, mostPx)}px`;
    area.style.overflowY = area.scrollHeight > mostPx ? "auto" : "hidden";
  }, [field, text, mostPx]);
}
