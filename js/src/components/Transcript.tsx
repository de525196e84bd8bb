import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { TailFollower } from "../follow";
import type { MessageWindow } from "../protocol";
import { Down } from "./Icons";
import { MessageRow } from "./MessageRow";

/** Messages shown at first, and added by each "Show earlier messages". */
const PAGE = 50;
/** While the reader follows the tail, older rows beyond this many are taken off the page. */
const MOST_ROWS = 120;

interface Props {
  messages: MessageWindow;
  streaming: boolean;
  /** Loads messages before the loaded ones. */
  loadEarlier: () => Promise<boolean>;
  onFollower: (follower: TailFollower) => void;
  children?: ComponentChildren;
}

export function Transcript({
  messages,
  streaming,
  loadEarlier,
  onFollower,
  children,
}: Props): VNode {
  const { first, items } = messages;
  const end = first + items.length;
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const follower = useRef<TailFollower | null>(null);
  const anchor = useRef<{ element: Element; top: number; start: number } | null>(null);
  const [following, setFollowing] = useState(true);
  const [loading, setLoading] = useState(false);
  const start = useStart(first, end, following);

  useEffect(() => {
    const controller = new AbortController();
    const created: TailFollower = new TailFollower(
      scroller.current!,
      content.current!,
      () => setFollowing(created.following),
      controller.signal,
    );
    follower.current = created;
    onFollower(created);
    created.stick();
    return () => controller.abort();
  }, [onFollower]);

  useLayoutEffect(() => {
    const kept = anchor.current;
    if (kept && kept.start !== start.value) {
      scroller.current!.scrollTop += kept.element.getBoundingClientRect().top - kept.top;
      anchor.current = null;
    } else {
      follower.current?.stick();
    }
  });

  const showEarlier = async (): Promise<void> => {
    if (start.value === first) {
      setLoading(true);
      await loadEarlier();
      setLoading(false);
    }
    const element = content.current?.querySelector("article");
    if (!element) return;
    anchor.current = { element, top: element.getBoundingClientRect().top, start: start.value };
    start.extend();
  };

  return (
    <div class="transcript">
      <div
        class="scroller"
        ref={scroller}
        role="log"
        aria-live="off"
        aria-label="Conversation"
        tabIndex={0}
      >
        <div class="rows" ref={content}>
          {start.value > 0 && (
            <button type="button" class="link earlier" disabled={loading} onClick={showEarlier}>
              {loading ? "Loading…" : "Show earlier messages"}
            </button>
          )}
          {items.slice(Math.max(0, start.value - first)).map((message, offset) => {
            const index = Math.max(start.value, first) + offset;
            return (
              <MessageRow
                key={message.mid}
                message={message}
                growing={streaming && index === end - 1}
                author={message.role === "user" ? "You" : "Assistant"}
                labelled={offset === 0 || items[index - first - 1]?.role !== message.role}
              />
            );
          })}
          {children}
        </div>
      </div>
      {!following && (
        <button type="button" class="pill" onClick={() => follower.current?.jump()}>
          <Down />
          {streaming ? "New text below" : "To the end"}
        </button>
      )}
    </div>
  );
}

interface Start {
  value: number;
  extend(): void;
}

/** The absolute index of the first row shown; rows leave at the top only while the tail is followed. */
function useStart(first: number, end: number, following: boolean): Start {
  const [wanted, setWanted] = useState(end - PAGE);
  const crowded = following && end - Math.max(wanted, first) > MOST_ROWS;
  const value = Math.max(0, first, Math.min(crowded ? end - PAGE : wanted, end - 1));
  useEffect(() => {
    if (crowded) setWanted(value);
  }, [crowded, value]);
  return { value, extend: () => setWanted(value - PAGE) };
}
