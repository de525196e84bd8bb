import type { VNode } from "preact";
import { memo } from "../../memo";
import { isOwnDifference, type Lane, type Step } from "../protocol";
import { stepInWords, WORDS } from "../words";
import { changesState, familyOf } from "./StepList";

const HEIGHT = 22;

/** A bar for each step: tall ones change the state. */
const Bars = memo(({ steps, lane }: { steps: Step[]; lane: Lane | null }): VNode => {
  const width = Math.max(1, steps.length - 1);
  const bar = Math.min(0.7, Math.max(0.35, width / 250));
  const x = (index: number): number => index - bar / 2;
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${width} ${lane ? 2 * HEIGHT + 4 : HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {steps.map((step, index) => {
        const tall = changesState(step) ? 16 : 6;
        return (
          <rect
            key={index}
            class={familyOf(step)}
            x={x(index)}
            y={HEIGHT - tall - 2}
            width={bar}
            height={tall}
          />
        );
      })}
      {lane?.steps.map((row, offset) => {
        const index = lane.at + offset;
        const step = steps[index];
        if (!step) return null;
        const tall = row.left_out ? 3 : row.ops.length ? 16 : 6;
        const kind = row.same
          ? `${familyOf(step)} same`
          : isOwnDifference(row, step)
            ? "different"
            : "carried";
        return (
          <rect
            key={offset}
            class={kind}
            x={x(index)}
            y={2 * HEIGHT + 2 - tall}
            width={bar}
            height={tall}
          />
        );
      })}
    </svg>
  );
});

type Sign = "first" | "back" | "play" | "pause" | "forward" | "last";
const SIGNS: Record<Sign, string> = {
  first: "M4 3v10M13 3L6 8l7 5z",
  back: "M11.5 3L4.5 8l7 5z",
  play: "M5 2.8L13 8l-8 5.2z",
  pause: "M5.5 3v10M10.5 3v10",
  forward: "M4.5 3l7 5-7 5z",
  last: "M12 3v10M3 3l7 5-7 5z",
};

function TransportButton(props: { sign: Sign; disabled: boolean; onClick: () => void }): VNode {
  const { sign, disabled, onClick } = props;
  return (
    <button
      type="button"
      class={`icon-button ${sign}`}
      aria-label={WORDS[sign]}
      title={WORDS[sign]}
      aria-disabled={disabled}
      onClick={() => !disabled && onClick()}
    >
      <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <path d={SIGNS[sign]} />
      </svg>
    </button>
  );
}

/** The slider through time with its buttons; with a lane, a second track below the first. */
export function Transport(props: {
  steps: Step[];
  lane: Lane | null;
  at: number;
  isPlaying: boolean;
  go: (index: number) => void;
  play: (on: boolean) => void;
}): VNode {
  const { steps, lane, at, isPlaying, go, play } = props;
  const last = steps.length - 1;
  const share = (index: number): string => `${last > 0 ? (100 * index) / last : 0}%`;
  return (
    <div class="transport">
      <div class="buttons" role="group" aria-label={WORDS.slider}>
        <TransportButton sign="first" disabled={at <= 0} onClick={() => go(0)} />
        <TransportButton sign="back" disabled={at <= 0} onClick={() => go(at - 1)} />
        <TransportButton
          sign={isPlaying ? "pause" : "play"}
          disabled={last < 0}
          onClick={() => play(!isPlaying)}
        />
        <TransportButton sign="forward" disabled={at >= last} onClick={() => go(at + 1)} />
        <TransportButton sign="last" disabled={at >= last} onClick={() => go(last)} />
      </div>
      <div class={`track ${lane ? "two" : ""}`}>
        <div class="lanes">
          <Bars steps={steps} lane={lane} />
          {lane && (
            <>
              <span class="lane-name recorded" aria-hidden="true">
                {WORDS.asRecorded}
              </span>
              <span
                class="lane-name other"
                style={{ insetInlineStart: share(Math.max(0, lane.at)) }}
                aria-hidden="true"
              >
                {WORDS.asWhatIf}
              </span>
              {lane.first !== null && (
                <span
                  class="difference"
                  style={{ insetInlineStart: share(lane.first) }}
                  aria-hidden="true"
                />
              )}
            </>
          )}
          <span class="cursor" style={{ insetInlineStart: share(at) }} aria-hidden="true" />
        </div>
        <input
          type="range"
          min={0}
          max={Math.max(0, last)}
          value={at}
          aria-label={WORDS.slider}
          aria-valuetext={stepInWords(at, steps.length, steps[at])}
          onInput={(event) => go(Number(event.currentTarget.value))}
        />
      </div>
      <output class="place">
        {last < 0 ? 0 : at + 1} / {steps.length}
      </output>
    </div>
  );
}
