// What stands between header and conversation: the model's notice, the connection, the storage.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { CommandName, SessionView, Storage } from "../protocol";
import type { Session } from "../session";
import { visible } from "../text/escapes";
import { useTools } from "../ui-state";
import { CONNECTIONS, refusalInWords, unended } from "../words";
import { Info, Spinner, Unplugged, Warning } from "./Icons";

export function Bars(props: { session: Session; view: SessionView; live: boolean }): VNode {
  const { session, view, live } = props;
  const { connection, kernelBusy } = session;
  const busy = connection === "waiting" && kernelBusy;
  return (
    <>
      {view.model.notice && (
        <p class="model-notice" dir="auto">
          <Info />
          <span>{view.model.notice}</span>
        </p>
      )}
      {connection !== "connecting" && CONNECTIONS[connection] && (
        <p class={`connection ${connection}`} role="status">
          {live ? <Spinner /> : <Unplugged />}
          {busy ? "Waiting for the kernel, which is busy…" : CONNECTIONS[connection]}
        </p>
      )}
      {live && <StorageBars storage={view.storage} />}
    </>
  );
}

function StorageBars({ storage: { trouble, read_only } }: { storage: Storage }): VNode {
  return (
    <>
      {trouble !== null && (
        <p class="connection trouble" role="status">
          <Warning />
          <span dir="auto">
            Not saved: {unended(visible(trouble))}; it is written once the store works again.
          </span>
        </p>
      )}
      {read_only !== null && <ReadOnly reason={read_only} />}
    </>
  );
}

/** Why this can only be read, and the ways to go on. */
function ReadOnly({ reason }: { reason: string }): VNode {
  const tools = useTools();
  const [refusal, setRefusal] = useState("");
  const button = (name: CommandName, label: string): VNode => (
    <button
      type="button"
      class="quiet-button"
      onClick={async () => {
        const outcome = await tools.command(name);
        setRefusal(outcome.ok ? "" : refusalInWords(outcome.code, outcome.message));
      }}
    >
      {label}
    </button>
  );
  return (
    <p class="connection saved" role="status">
      <Info />
      <span dir="auto">{visible(refusal || `Read-only here: ${reason}`)}</span>
      {button("take_over", "Take over")}
      {button("fork", "Fork")}
    </p>
  );
}
