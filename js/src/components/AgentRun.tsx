import type { VNode } from "preact";
import { useContext } from "preact/hooks";
import { memo } from "../memo";
import type { AgentView } from "../protocol";
import { visible } from "../text/escapes";
import { LiveContext, useWords } from "../ui-state";
import { Messages } from "./MessageRow";

/** The run of another agent inside the card of the call that started it. */
export const AgentRun = memo((props: { agent: AgentView; prompt: string | null }): VNode => {
  const { agent, prompt } = props;
  const t = useWords();
  const live = useContext(LiveContext);
  const status = live || agent.status !== "streaming" ? agent.status : "idle";
  return (
    <div class="agent" role="group" aria-label={t("agent.run", { name: visible(agent.name) })}>
      <div class="agent-head">
        <span class="agent-name" dir="auto">
          {visible(agent.name)}
        </span>
        <span class={`agent-status ${status}`}>{t.known(`agent.${status}`) ?? status}</span>
      </div>
      {prompt && agent.messages[0]?.role !== "user" && (
        <p class="agent-prompt" dir="auto">
          {prompt}
        </p>
      )}
      <Messages items={agent.messages} streaming={status === "streaming"} author={agent.name} />
    </div>
  );
});
