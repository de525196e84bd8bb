import type { ComponentChildren, RefObject, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { TailFollower } from "../follow";
import type { Message, MessageWindow } from "../protocol";
import { useWords } from "../ui-state";
import { Down } from "./Icons";
import { MessageRow } from "./MessageRow";

/** Messages shown at first, and added by each "Show earlier messages". */
const PAGE = 50;
/** While the reader follows the tail, older rows beyond this many are taken off the page. */
const MOST_ROWS = 120;

interface Props {
  messages: MessageWindow;
  streaming: boolean;
  /** Nothing runs and the kernel takes messages. */
  atRest: boolean;
  /** Loads messages before the loaded ones. */
  loadEarlier: () => Promise<boolean>;
  onFollower: (follower: TailFollower) => void;
  children?: ComponentChildren;
}

interface Scrolling {
  scroller: RefObject<HTMLDivElement | null>;
  content: RefObject<HTMLDivElement | null>;
  following: boolean;
  jump(): void;
  /** Before rows are added at the top: what is in sight will stay where it is. */
  keepAnchor(): void;
}

/** Follows the tail, and keeps the place of what is read when `start`, the first row, changes. */
function useScrolling(start: number, onFollower: (follower: TailFollower) => void): Scrolling {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const follower = useRef<TailFollower | null>(null);
  const anchor = useRef<{ element: Element; top: number; start: number } | null>(null);
  const [following, setFollowing] = useState(true);

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
    if (kept && kept.start !== start) {
      scroller.current!.scrollTop += kept.element.getBoundingClientRect().top - kept.top;
      anchor.current = null;
    } else {
      follower.current?.stick();
    }
  });

  const keepAnchor = (): void => {
    follower.current?.release();
    const element = content.current?.querySelector("article");
    if (element) anchor.current = { element, top: element.getBoundingClientRect().top, start };
  };
  const jump = (): void => {
    scroller.current?.focus({ preventScroll: true });
    follower.current?.jump();
  };
  return { scroller, content, following, jump, keepAnchor };
}

export function Transcript(props: Props): VNode {
  const { messages, streaming, atRest, loadEarlier, onFollower, children } = props;
  const t = useWords();
  const { first, items } = messages;
  const end = first + items.length;
  const start = useStart(first, end);
  const scrolling = useScrolling(start.value, onFollower);
  start.following.current = scrolling.following;
  const [loading, setLoading] = useState(false);

  const showEarlier = async (): Promise<void> => {
    if (start.value === first) {
      setLoading(true);
      await loadEarlier();
      setLoading(false);
    }
    scrolling.keepAnchor();
    start.extend();
  };
  return (
    <div class="transcript">
      <div
        class="scroller"
        ref={scrolling.scroller}
        role="log"
        aria-live="off"
        aria-label={t("conversation")}
        tabIndex={0}
      >
        <div class="rows" ref={scrolling.content}>
          {start.value > 0 && (
            <button type="button" class="link earlier" disabled={loading} onClick={showEarlier}>
              {t(loading ? "loading" : "earlier")}
            </button>
          )}
          <Rows items={items} from={start.value - first} streaming={streaming} atRest={atRest} />
          {children}
        </div>
      </div>
      {!scrolling.following && (
        <button type="button" class="pill" onClick={scrolling.jump}>
          <Down />
          {t(streaming ? "new_text" : "to_end")}
        </button>
      )}
    </div>
  );
}

interface RowsProps {
  items: Message[];
  from: number;
  streaming: boolean;
  atRest: boolean;
}

function Rows({ items, from, streaming, atRest }: RowsProps): VNode {
  const t = useWords();
  return (
    <>
      {items.slice(from).map((message, offset) => {
        const index = from + offset;
        return (
          <MessageRow
            key={message.mid}
            message={message}
            growing={streaming && index === items.length - 1}
            author={t(message.role === "user" ? "you" : "assistant")}
            labelled={
              offset === 0 || !!items[index - 1]?.note || items[index - 1]?.role !== message.role
            }
            atRest={atRest && (message.role === "user" || !!message.branch)}
          />
        );
      })}
    </>
  );
}

interface Start {
  value: number;
  /** Whether the tail is followed, as of the last rendering. */
  following: { current: boolean };
  extend(): void;
}

/** The absolute index of the first row shown; rows leave at the top only while the tail is followed. */
function useStart(first: number, end: number): Start {
  const [wanted, setWanted] = useState(end - PAGE);
  const following = useRef(true);
  /** Where the messages ended when the reader asked for earlier ones: those stay until more come. */
  const askedAt = useRef(-1);
  const rests = end === askedAt.current;
  const crowded = following.current && !rests && end - Math.max(wanted, first) > MOST_ROWS;
  const value = Math.max(0, first, Math.min(crowded ? end - PAGE : wanted, end - 1));
  useEffect(() => {
    if (crowded) setWanted(value);
  }, [crowded, value]);
  const extend = (): void => {
    askedAt.current = end;
    setWanted(value - PAGE);
  };
  return { value, following, extend };
}
