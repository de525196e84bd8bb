import type { VNode } from "preact";
import { memo } from "../memo";
import type { AgentView } from "../protocol";
import { visible } from "../text/escapes";
import { Messages } from "./MessageRow";

const WORDS: Record<AgentView["status"], string> = {
  idle: "finished",
  streaming: "working",
  error: "failed",
};

/** The run of another agent inside the card of the call that started it. */
export const AgentRun = memo((props: { agent: AgentView; prompt: string | null }): VNode => {
  const { agent, prompt } = props;
  return (
    <div class="agent" role="group" aria-label={`Run of ${visible(agent.name)}`}>
      <div class="agent-head">
        <span class="agent-name">{visible(agent.name)}</span>
        <span class={`agent-status ${agent.status}`}>{WORDS[agent.status] ?? agent.status}</span>
      </div>
      {prompt && agent.messages[0]?.role !== "user" && (
        <p class="agent-prompt" dir="auto">
          {prompt}
        </p>
      )}
      <Messages
        items={agent.messages}
        streaming={agent.status === "streaming"}
        author={agent.name}
      />
    </div>
  );
});
