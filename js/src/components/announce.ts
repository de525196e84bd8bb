// What a screen reader is told about a run: that it started, needs an answer, how it ended, and what waits.

import type { SessionView } from "../protocol";
import { visible } from "../text/escapes";
import { errorInWords, type Words } from "../words";

/** The announcement due when `before` became `after`, or null. */
export function announcementAfter(
  t: Words,
  before: SessionView,
  after: SessionView,
): string | null {
  const { question } = after;
  if (question && question.pid !== before.question?.pid) {
    return t("told.question", { tool: visible(question.tool) });
  }
  if (before.status === after.status) return waitingNews(t, before, after);
  if (after.status === "streaming") return t("told.started");
  if (after.status === "error") {
    return t("told.failed", { error: errorInWords(t, after.error?.code ?? null) });
  }
  if (before.status !== "streaming") return null;
  const isStopped = after.messages.items.at(-1)?.mark === "stopped";
  return t(isStopped ? "told.stopped" : "told.finished");
}

function waitingNews(t: Words, before: SessionView, after: SessionView): string | null {
  if (before.waiting === after.waiting) return null;
  const known = new Set(before.waiting.map((row) => row.mid));
  const added = after.waiting.find((row) => !known.has(row.mid));
  if (added) return t("told.waits", { when: t(`queue.${added.queue}`) });
  for (const row of after.waiting) known.delete(row.mid);
  const used = after.messages.items.some((message) => known.has(message.mid));
  return used ? t("told.used") : null;
}
