import type { VNode } from "preact";
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { visible } from "../../text/escapes";
import type { Explorer } from "../model";
import type { Json } from "../protocol";
import { differencesInWords, stepInWords, WORDS } from "../words";
import { Diagrams } from "./Diagrams";
import { RequestView } from "./RequestView";
import { found, StepList } from "./StepList";
import { Transport } from "./Transport";
import { differencesOf, Tree } from "./Tree";
import { WhatIf } from "./WhatIf";

type Tab = keyof typeof WORDS.tabs;
const TABS = Object.keys(WORDS.tabs) as Tab[];
const PLAY_MS = 700;

/** Draws again when the explorer's data changed. */
function useExplorer(explorer: Explorer): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const unsubscribe = explorer.subscribe(() => redraw(undefined));
    redraw(undefined); // what came between the first drawing and now
    return unsubscribe;
  }, [explorer]);
}

function StateView({ explorer, at }: { explorer: Explorer; at: number }): VNode {
  const [showOther, setShowOther] = useState(true);
  const state = explorer.states[at] as Json;
  const other = explorer.laneState(at);
  if (state === undefined) return <p class="quiet">{WORDS.empty}</p>;
  if (other === undefined || !showOther) {
    const before = explorer.stateBefore(at);
    return (
      <>
        {other !== undefined && <Which showOther={false} set={setShowOther} />}
        {state === before && <p class="quiet">{WORDS.noChange}</p>}
        <Tree key="recorded" value={state} before={before} label={WORDS.tree} />
      </>
    );
  }
  const count = differencesOf(other, state);
  return (
    <>
      <Which showOther={true} set={setShowOther} />
      <p class="quiet">{count ? differencesInWords(count) : WORDS.laneSame}</p>
      <Tree key="other" value={other} before={state} label={WORDS.laneTree} />
    </>
  );
}

function Which({ showOther, set }: { showOther: boolean; set: (other: boolean) => void }): VNode {
  return (
    <div class="which" role="group" aria-label={WORDS.whichState}>
      <button type="button" aria-pressed={!showOther} onClick={() => set(false)}>
        {WORDS.asRecorded}
      </button>
      <button type="button" aria-pressed={showOther} onClick={() => set(true)}>
        {WORDS.asWhatIf}
      </button>
    </div>
  );
}

function EventView({ explorer, at }: { explorer: Explorer; at: number }): VNode {
  const step = explorer.steps[at];
  if (!step) return <p class="quiet">{WORDS.empty}</p>;
  return (
    <>
      <h3>{WORDS.actions}</h3>
      {step.actions.length ? (
        <pre>{visible(JSON.stringify(step.actions, null, 2))}</pre>
      ) : (
        <p class="quiet">{WORDS.noActions}</p>
      )}
      <h3>{WORDS.event}</h3>
      <pre>{visible(`${step.type} ${JSON.stringify(step.event, null, 2)}`)}</pre>
    </>
  );
}

function Tabs({ tab, setTab }: { tab: Tab; setTab: (tab: Tab) => void }): VNode {
  const holder = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length]!;
    setTab(next);
    holder.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={WORDS.detail} ref={holder} onKeyDown={onKeyDown}>
      {TABS.map((each) => (
        <button
          key={each}
          id={`tab-${each}`}
          type="button"
          role="tab"
          aria-selected={each === tab}
          aria-controls="detail"
          tabIndex={each === tab ? 0 : -1}
          onClick={() => setTab(each)}
        >
          {WORDS.tabs[each]}
        </button>
      ))}
    </div>
  );
}

export function App({ explorer }: { explorer: Explorer }): VNode {
  useExplorer(explorer);
  const { frames, steps, lane } = explorer;
  const [wanted, setWanted] = useState(explorer.wanted);
  const [isPlaying, setPlaying] = useState(false);
  const [filter, setFilter] = useState("");
  const [onlyChanges, setOnlyChanges] = useState(false);
  const [tab, setTab] = useState<Tab>("state");
  const last = steps.length - 1;
  // A negative place follows the end, however far it moves.
  const at = wanted < 0 ? last : Math.min(wanted, last);
  const shown = found(steps, filter, onlyChanges);

  const go = (to: number): void => {
    const index = Math.min(last, Math.max(0, to));
    setWanted(index === last && frames?.live ? -1 : index);
  };
  const move = (to: number): void => {
    setPlaying(false);
    go(to);
  };
  const play = (on: boolean): void => {
    if (on && at >= last) setWanted(0);
    setPlaying(on && last > 0);
  };
  useEffect(() => explorer.onMoved(setWanted), [explorer]);
  useEffect(() => {
    if (!isPlaying) return;
    if (at >= last) {
      setPlaying(false);
      return;
    }
    const next = shown.find((index) => index > at) ?? last;
    const timer = setTimeout(() => go(next), PLAY_MS);
    return () => clearTimeout(timer);
  }, [isPlaying, at, last]);

  if (!frames) return <p class="quiet pad">{WORDS.unreadable}</p>;
  const isLive = frames.live && explorer.hasKernel;
  const onKeyDown = (event: KeyboardEvent): void => {
    const target = event.composedPath()[0] as HTMLElement;
    if (
      target.matches("input, textarea, summary") ||
      event.altKey ||
      event.ctrlKey ||
      event.metaKey
    )
      return;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  };
  return (
    <div class="explorer" onKeyDown={onKeyDown} role="region" aria-label={WORDS.title}>
      <header class="header">
        <h2>{WORDS.title}</h2>
        <span class="label">{visible(frames.label)}</span>
        <span class={`source ${isLive ? "live" : ""}`}>{isLive ? WORDS.live : WORDS.recorded}</span>
        <span class="space" />
        <span class="keys" aria-hidden="true">
          {WORDS.keys}
        </span>
      </header>
      {frames.notes?.map((note) => (
        <p key={note} class="quiet note">
          {visible(note)}
        </p>
      ))}
      <Transport steps={steps} lane={lane} at={at} isPlaying={isPlaying} go={move} play={play} />
      <p class="sr" aria-live="polite">
        {isPlaying ? "" : stepInWords(at, steps.length, steps[at])}
      </p>
      <div class="columns">
        <StepList
          steps={steps}
          shown={shown}
          at={at}
          lane={lane}
          filter={filter}
          onlyChanges={onlyChanges}
          setFilter={setFilter}
          setOnlyChanges={setOnlyChanges}
          choose={move}
        />
        <div class="sides">
          <Diagrams
            machines={frames.machines}
            step={steps[at]}
            state={explorer.states[at] ?? explorer.stateBefore(0)}
            other={explorer.laneState(at)}
          />
          <section class="detail" aria-label={WORDS.detail}>
            <Tabs tab={tab} setTab={setTab} />
            <div id="detail" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
              {tab === "state" && <StateView explorer={explorer} at={at} />}
              {tab === "request" && <RequestView explorer={explorer} at={at} go={move} />}
              {tab === "event" && <EventView explorer={explorer} at={at} />}
              {tab === "whatif" && <WhatIf explorer={explorer} at={at} go={move} />}
            </div>
          </section>
        </div>
      </div>
    </div>
  );
}
