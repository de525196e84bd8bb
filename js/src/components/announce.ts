// What a screen reader is told about a run: that it started, needs an answer, how it ended, and what waits.

import type { SessionView } from "../protocol";
import { visible } from "../text/escapes";
import { errorInWords, QUEUES } from "../words";

/** The announcement due when `before` became `after`, or null. */
export function announcementAfter(before: SessionView, after: SessionView): string | null {
  const { question } = after;
  if (question && question.pid !== before.question?.pid) {
    return `Needs your approval: ${visible(question.tool)}. Tab to the question above the message field.`;
  }
  if (before.status === after.status) return waitingNews(before, after);
  if (after.status === "streaming") return "Assistant started.";
  if (after.status === "error") return `Failed: ${errorInWords(after.error?.code ?? null)}`;
  if (before.status !== "streaming") return null;
  return after.messages.items.at(-1)?.mark === "stopped" ? "Stopped." : "Assistant finished.";
}

function waitingNews(before: SessionView, after: SessionView): string | null {
  if (before.waiting === after.waiting) return null;
  const known = new Set(before.waiting.map((row) => row.mid));
  const added = after.waiting.find((row) => !known.has(row.mid));
  if (added) {
    const queue = QUEUES.find(({ queue }) => queue === added.queue);
    return queue ? `Message waits. ${queue.used}.` : null;
  }
  for (const row of after.waiting) known.delete(row.mid);
  const used = after.messages.items.some((message) => known.has(message.mid));
  return used ? "Waiting message used." : null;
}
