// What stands between header and conversation: the model's notice, the connection, the storage.

import type { VNode } from "preact";
import type { SessionView, Storage } from "../protocol";
import type { Session } from "../session";
import { visible } from "../text/escapes";
import { CONNECTIONS, unended } from "../words";
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
      {read_only !== null && (
        <p class="connection saved" role="status">
          <Info />
          <span dir="auto">Read-only here: {visible(read_only)}</span>
        </p>
      )}
    </>
  );
}
