// Whether a person may send, as the page keeps it: the same law as agent_widget/view/interaction.py,
// held by the vectors of interaction.merge in tests/vectors/vectors.json.

import { type Interaction, isRecord } from "./protocol";

/** The interaction in `value`, null when it is malformed. Unknown keys are ignored. */
export function readInteraction(value: unknown): Interaction | null {
  if (!isRecord(value)) return null;
  const { can_send, revision } = value;
  if (typeof can_send !== "boolean" || !Number.isSafeInteger(revision)) return null;
  return (revision as number) < 0 ? null : { can_send, revision: revision as number };
}

/**
 * What the page keeps once `body` came, a `full` answer or a partial update. A full answer without
 * the key is of a kernel without this contract: null, and the session's status decides. What is
 * malformed or of a lower revision changes nothing.
 */
export function mergedInteraction(
  cached: Interaction | null,
  body: Readonly<Record<string, unknown>>,
  full: boolean,
): Interaction | null {
  if (!Object.hasOwn(body, "interaction")) return full ? null : cached;
  const news = readInteraction(body.interaction);
  if (news === null) return cached;
  if (cached === null || news.revision > cached.revision) return news;
  const isNew = news.revision === cached.revision && news.can_send !== cached.can_send;
  return isNew ? news : cached;
}
