// What stands between header and conversation: the model's notice, the connection, the storage.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { CommandName, SessionView, Storage } from "../protocol";
import type { Session } from "../session";
import { visible } from "../text/escapes";
import { useTools, useWords } from "../ui-state";
import { refusalInWords, unended } from "../words";
import { Info, Spinner, Unplugged, Warning } from "./Icons";

export function Bars(props: { session: Session; view: SessionView; live: boolean }): VNode {
  const { session, view, live } = props;
  const t = useWords();
  const { connection, kernelBusy } = session;
  const state = connection === "waiting" && kernelBusy ? "busy" : connection;
  const told = connection !== "connecting" && t.known(`connection.${state}`);
  return (
    <>
      {view.model.notice && (
        <p class="model-notice" dir="auto">
          <Info />
          <span>{view.model.notice}</span>
        </p>
      )}
      {told && (
        <p class={`connection ${connection}`} role="status">
          {live ? <Spinner /> : <Unplugged />}
          <span>{told}</span>
        </p>
      )}
      {live && <StorageBars storage={view.storage} />}
    </>
  );
}

function StorageBars({ storage: { trouble, read_only } }: { storage: Storage }): VNode {
  const t = useWords();
  return (
    <>
      {trouble !== null && (
        <p class="connection trouble" role="status">
          <Warning />
          <span dir="auto">{t("unsaved", { reason: unended(visible(trouble)) })}</span>
        </p>
      )}
      {read_only !== null && <ReadOnly reason={read_only} />}
    </>
  );
}

/** Why this can only be read, and the ways to go on. */
function ReadOnly({ reason }: { reason: string }): VNode {
  const tools = useTools();
  const t = useWords();
  const [refusal, setRefusal] = useState("");
  const button = (name: CommandName, label: string): VNode => (
    <button
      type="button"
      class="quiet-button"
      onClick={async () => {
        const outcome = await tools.command(name);
        setRefusal(outcome.ok ? "" : refusalInWords(t, outcome.code, outcome.message));
      }}
    >
      {label}
    </button>
  );
  return (
    <p class="connection saved" role="status">
      <Info />
      <span dir="auto">{visible(refusal || t("read_only", { reason }))}</span>
      {button("take_over", t("read_only.take"))}
      {button("fork", t("read_only.fork"))}
    </p>
  );
}
