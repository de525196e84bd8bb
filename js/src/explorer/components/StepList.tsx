import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { memo } from "../../memo";
import { visible } from "../../text/escapes";
import { isOwnDifference, type Lane, type Step } from "../protocol";
import { headline, piecesInWords, timeInWords, WORDS } from "../words";

export type Family = "person" | "model" | "tool" | "ask" | "end" | "bad" | "other";

/** Who a step is about: decides its colour. */
export function familyOf(step: Step): Family {
  const { type, moves } = step;
  if (moves.some((move) => move.to === "error")) return "bad";
  if (/^(turn\.(error|aborted)|tool\.failed)/.test(type)) return "bad";
  if (/^(input|session\.reset|tree)/.test(type)) return "person";
  if (/permission\.(requested|decided)/.test(type)) return "ask";
  if (/^(tool|agent)\./.test(type)) return "tool";
  if (type.startsWith("msg.")) return "model";
  return type === "turn.completed" ? "end" : "other";
}

export const changesState = (step: Step): boolean => step.ops.length > 0 || !!step.jump;

/** The indexes of the steps that fit. */
export function found(steps: Step[], filter: string, onlyChanges: boolean): number[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return steps.flatMap((step, index) => {
    if (onlyChanges && !changesState(step)) return [];
    const text = `${index + 1} ${headline(step)} ${step.type} ${step.said ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word)) ? [index] : [];
  });
}

const StepRow = memo(
  (props: {
    step: Step;
    index: number;
    isCurrent: boolean;
    isDifferent: boolean;
    isFirstDifference: boolean;
    choose: (index: number) => void;
  }): VNode => {
    const { step, index, isCurrent, isDifferent, isFirstDifference, choose } = props;
    const move = step.moves.find((each) => each.from !== each.to);
    return (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys of its options
      <div
        tabIndex={-1}
        id={`step-${index}`}
        role="option"
        aria-selected={isCurrent}
        class={`step ${familyOf(step)} ${changesState(step) ? "" : "still"} ${isDifferent ? "different" : ""}`}
        onClick={() => choose(index)}
      >
        <span class="number">{index + 1}</span>
        <span class="dot" aria-hidden="true" />
        <span class="step-text">
          <span class="step-head">
            <span class="step-name">{headline(step)}</span>
            {move && (
              <span class="step-move">
                {move.from === "none" ? "" : `${move.from} → `}
                {move.to}
              </span>
            )}
            {isFirstDifference && <span class="flag">first difference</span>}
          </span>
          <span class="step-said">
            {visible(step.said ?? step.type)}
            {step.pieces ? ` (${piecesInWords(step.pieces)})` : ""}
          </span>
        </span>
        <span class="step-time">{timeInWords(step.t)}</span>
      </div>
    );
  },
);

function isDifferent(lane: Lane | null, index: number, step: Step): boolean {
  const row = lane?.steps[index - lane.at];
  return !!row && isOwnDifference(row, step);
}

export function StepList(props: {
  steps: Step[];
  shown: number[];
  at: number;
  lane: Lane | null;
  filter: string;
  onlyChanges: boolean;
  setFilter: (text: string) => void;
  setOnlyChanges: (only: boolean) => void;
  choose: (index: number) => void;
}): VNode {
  const { steps, shown, at, lane, choose } = props;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = list.current;
    const row = box?.querySelector<HTMLElement>(`#step-${at}`);
    if (!box || !row) return;
    const [top, bottom] = [row.offsetTop, row.offsetTop + row.offsetHeight];
    if (top < box.scrollTop) box.scrollTop = top;
    else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
  }, [at, shown.length]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const place = shown.findIndex((index) => index >= at);
    const here = place === -1 ? shown.length - 1 : place;
    const to = {
      ArrowDown: shown[here] === at ? here + 1 : here,
      ArrowUp: here - 1,
      PageDown: here + 10,
      PageUp: here - 10,
      Home: 0,
      End: shown.length - 1,
    }[event.key];
    if (to === undefined || shown.length === 0) return;
    event.preventDefault();
    event.stopPropagation();
    choose(shown[Math.min(shown.length - 1, Math.max(0, to))]!);
  };
  return (
    <section class="steps" aria-label={WORDS.steps}>
      <div class="filters">
        <input
          type="search"
          aria-label={WORDS.filter}
          placeholder={WORDS.filter}
          value={props.filter}
          onInput={(event) => props.setFilter(event.currentTarget.value)}
        />
        <label>
          <input
            type="checkbox"
            checked={props.onlyChanges}
            onChange={(event) => props.setOnlyChanges(event.currentTarget.checked)}
          />
          {WORDS.onlyChanges}
        </label>
      </div>
      {shown.length === 0 && <p class="quiet">{WORDS.noneFound}</p>}
      <div
        class="list"
        role="listbox"
        aria-label={WORDS.steps}
        tabIndex={0}
        aria-activedescendant={shown.includes(at) ? `step-${at}` : undefined}
        ref={list}
        onKeyDown={onKeyDown}
      >
        {shown.map((index) => (
          <StepRow
            key={index}
            step={steps[index]!}
            index={index}
            isCurrent={index === at}
            isDifferent={isDifferent(lane, index, steps[index]!)}
            isFirstDifference={lane?.first === index}
            choose={choose}
          />
        ))}
      </div>
    </section>
  );
}
