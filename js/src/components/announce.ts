// What a screen reader is told about a run: that it started, needs an answer, and how it ended.

import type { SessionView } from "../protocol";
import { visible } from "../text/escapes";
import { errorInWords } from "../words";

/** The announcement due when `before` became `after`, or null. */
export function announcementAfter(before: SessionView, after: SessionView): string | null {
  const { question } = after;
  if (question && question.pid !== before.question?.pid) {
    return `Needs your approval: ${visible(question.tool)}. Tab to the question above the message field.`;
  }
  if (before.status === after.status) return null;
  if (after.status === "streaming") return "Assistant started.";
  if (after.status === "error") return `Failed: ${errorInWords(after.error?.code ?? null)}`;
  if (before.status !== "streaming") return null;
  return after.messages.items.at(-1)?.mark === "stopped" ? "Stopped." : "Assistant finished.";
}
