import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { visible } from "../../text/escapes";
import type { Explorer } from "../model";
import type { Json, Step } from "../protocol";
import { answeredInWords, laneInWords, rejoinedInWords, WORDS } from "../words";

function LaneSummary({
  explorer,
  go,
}: {
  explorer: Explorer;
  go: (to: number) => void;
}): VNode | null {
  const { lane } = explorer;
  if (!lane) return null;
  return (
    <div class="lane-summary" role="status">
      <p>
        <strong>{laneInWords(lane)}</strong>{" "}
        {lane.first !== null && (
          <button type="button" class="link" onClick={() => go(lane.first!)}>
            {WORDS.goThere}
          </button>
        )}
      </p>
      {lane.answered !== null && <p>{answeredInWords(lane.answered)}</p>}
      {lane.rejoined !== null && <p>{rejoinedInWords(lane.rejoined)}</p>}
      {explorer.hasKernel && (
        <button type="button" class="plain-button" onClick={() => explorer.whatIf(0, null)}>
          {WORDS.removeLane}
        </button>
      )}
    </div>
  );
}

function Decision({ explorer, at, step }: { explorer: Explorer; at: number; step: Step }): VNode {
  const wasAllowed = step.event.decision === "allow";
  const [text, setText] = useState("");
  const label = wasAllowed ? WORDS.reason : WORDS.output;
  const fold = (): void =>
    explorer.whatIf(
      at,
      wasAllowed ? { kind: "deny", reason: text } : { kind: "allow", output: text },
    );
  return (
    <div class="decision">
      <label>
        {label}
        <input value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button type="button" class="answer" onClick={fold}>
        {wasAllowed ? WORDS.denyInstead : WORDS.allowInstead}
      </button>
    </div>
  );
}

function Actions({ explorer, at, step }: { explorer: Explorer; at: number; step: Step }): VNode {
  const written = JSON.stringify(step.actions, null, 2);
  const [text, setText] = useState(written);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    setText(written);
    setProblem(null);
  }, [written, at]);
  const fold = (): void => {
    try {
      const actions = JSON.parse(text) as Json;
      setProblem(null);
      explorer.whatIf(at, {
        kind: "actions",
        actions: Array.isArray(actions) ? actions : [actions],
      });
    } catch (error) {
      setProblem(WORDS.badJson + (error as Error).message);
    }
  };
  return (
    <div class="edit-actions">
      <label>
        {WORDS.whatIfLabel}
        <textarea
          rows={Math.min(14, text.split("\n").length)}
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      {problem && (
        <p class="refusal-text" role="alert">
          {problem}
        </p>
      )}
      <div class="row">
        <button
          type="button"
          class="plain-button"
          onClick={() => explorer.whatIf(at, { kind: "skip" })}
        >
          {WORDS.leaveOut}
        </button>
        <button type="button" class="answer" onClick={fold}>
          {WORDS.foldAgain}
        </button>
      </div>
    </div>
  );
}

/** Where a person lets the step go otherwise. */
export function WhatIf({
  explorer,
  at,
  go,
}: {
  explorer: Explorer;
  at: number;
  go: (to: number) => void;
}): VNode {
  const step = explorer.steps[at];
  const canChange = step && (step.actions.length > 0 || step.ops.length > 0);
  return (
    <div class="whatif">
      <LaneSummary explorer={explorer} go={go} />
      {!explorer.hasKernel && <p class="needs-kernel">{WORDS.whatIfNeedsKernel}</p>}
      {explorer.hasKernel && !canChange && <p class="quiet">{WORDS.whatIfNothing}</p>}
      {explorer.hasKernel && canChange && (
        <>
          <p class="quiet">{WORDS.whatIfIntro}</p>
          {step.type === "tool.permission.decided" && (
            <Decision key={at} explorer={explorer} at={at} step={step} />
          )}
          <Actions explorer={explorer} at={at} step={step} />
        </>
      )}
      {explorer.refusal && (
        <p class="refusal-text" role="alert">
          {visible(explorer.refusal)}
        </p>
      )}
    </div>
  );
}
