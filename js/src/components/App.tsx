import type { VNode } from "preact";
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import type { TailFollower } from "../follow";
import type { Draft, SessionView } from "../protocol";
import type { Session } from "../session";
import { visible } from "../text/escapes";
import {
  composed,
  emptyComposer,
  LiveContext,
  type Sending,
  ToolsContext,
  type ViewTools,
} from "../ui-state";
import { CONNECTIONS, refusalInWords, statusInWords } from "../words";
import { announcementAfter } from "./announce";
import { useCopyButtons } from "./copy";
import { Dock } from "./Dock";
import { RetryButton } from "./ErrorBanner";
import { Header } from "./Header";
import { Info, Spinner, Unplugged } from "./Icons";
import { Transcript } from "./Transcript";

/** Renders again after changes of the session, at most once a frame. */
function useSession(session: Session): void {
  const [, tick] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    let frame = 0;
    const unsubscribe = session.subscribe(() => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        session.stats.frames++;
        tick(undefined);
      });
    });
    tick(undefined);
    return () => {
      unsubscribe();
      cancelAnimationFrame(frame);
    };
  }, [session]);
}

/** Announces what matters of a run, and nothing of its text. */
function useAnnouncements(view: SessionView | null, announce: (text: string) => void): void {
  const before = useRef<SessionView | null>(null);
  useEffect(() => {
    const text = view && before.current ? announcementAfter(before.current, view) : null;
    before.current = view;
    if (text) announce(text);
  }, [view, announce]);
}

function SendingRow({ sending, view }: { sending: Sending; view: SessionView }): VNode | null {
  const { first, items } = view.messages;
  const arrived = items
    .slice(Math.max(0, sending.after - first))
    .some((message) => message.role === "user");
  if (arrived) return null;
  return (
    <article class="msg user sending" aria-label="Message being sent">
      <div class="author">You</div>
      <div class="said" dir="auto">
        {sending.text}
      </div>
      <p class="quiet">
        {sending.slow ? "Not confirmed yet: waiting for the kernel…" : "Sending…"}
      </p>
    </article>
  );
}

function Working({ view }: { view: SessionView }): VNode | null {
  if (view.status !== "streaming" || view.question) return null;
  if (view.drafts && view.drafts.length > 0) return <Drafts drafts={view.drafts} />;
  const last = view.messages.items.at(-1)?.parts.at(-1);
  const visibleWork = last?.type === "text" || (last?.type === "tool" && last.state === "running");
  if (visibleWork && view.phase !== "stopping" && view.phase !== "retrying") return null;
  return (
    <p class="working">
      <Spinner />
      {statusInWords(view)}…
    </p>
  );
}

const DRAFT_CHARS = 120;

function Drafts({ drafts }: { drafts: Draft[] }): VNode {
  return (
    <>
      {drafts.map((draft, index) => (
        <p key={index} class="working draft">
          <Spinner />
          <span class="card-name">{visible(draft.name)}</span>
          <span class="card-call" dir="ltr">
            {visible(draft.arguments.slice(-DRAFT_CHARS).replace(/\s+/g, " "))}
          </span>
        </p>
      ))}
    </>
  );
}

function Empty(): VNode {
  return (
    <div class="empty">
      <p>Ask about the data in this notebook.</p>
      <p class="quiet">The assistant can look at your variables, and asks before it runs code.</p>
    </div>
  );
}

const end = (view: SessionView): number => view.messages.first + view.messages.items.length;

/** The composer's state and the sending of its draft. */
function useComposer(session: Session, follower: { current: TailFollower | null }) {
  const [composer, compose] = useReducer(composed, emptyComposer);
  const send = async (): Promise<void> => {
    const text = composer.draft;
    compose({ type: "sent", text, after: end(session.store.view!) });
    follower.current?.jump();
    const outcome = await session.command("send", { text }, () => compose({ type: "slow" }));
    if (outcome.ok) compose({ type: "accepted" });
    else compose({ type: "refused", reason: refusalInWords(outcome.code, outcome.message) });
  };
  return { composer, compose, send };
}

function useViewTools(
  session: Session,
  field: { current: HTMLTextAreaElement | null },
  follower: { current: TailFollower | null },
  announce: (text: string) => void,
): ViewTools {
  return useMemo(
    () => ({
      expanded: new Map(),
      command: (name, fields, onSlow) => session.command(name, fields, onSlow),
      announce,
      focusComposer: () => field.current?.focus({ preventScroll: true }),
      keepPlace: (change) => (follower.current ? follower.current.hold(change) : change()),
    }),
    [session, field, follower, announce],
  );
}

/** One view of a session; before anything is known of it, what it waits for. */
export function App({ session }: { session: Session }): VNode {
  useSession(session);
  const { view } = session.store;
  if (view !== null) return <Panel session={session} view={view} />;
  return (
    <div class="panel">
      <p class="connection">
        {session.connection === "disconnected" ? <Unplugged /> : <Spinner />}
        {CONNECTIONS[session.connection] || CONNECTIONS.connecting}
      </p>
    </div>
  );
}

function Panel({ session, view }: { session: Session; view: SessionView }): VNode {
  const [announcement, announce] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const follower = useRef<TailFollower | null>(null);
  const { composer, compose, send } = useComposer(session, follower);
  const tools = useViewTools(session, field, follower, announce);
  const onFollower = useCallback((created: TailFollower) => {
    follower.current = created;
  }, []);
  useAnnouncements(view, announce);
  useCopyButtons(panel, announce);

  const live = session.connection !== "disconnected" && session.connection !== "saved";
  return (
    <LiveContext.Provider value={live}>
      <ToolsContext.Provider value={tools}>
        <div class="panel" ref={panel}>
          <Header view={view} reachable={live} />
          <Bars session={session} view={view} live={live} />
          <Transcript
            messages={view.messages}
            streaming={live && view.status === "streaming"}
            loadEarlier={() => session.loadHistory()}
            onFollower={onFollower}
          >
            {end(view) === 0 && composer.sending === null && <Empty />}
            {composer.sending && <SendingRow sending={composer.sending} view={view} />}
            {live && <Working view={view} />}
            {live && view.can_retry && !view.error && (
              <div class="after-stop">
                <RetryButton quiet />
              </div>
            )}
          </Transcript>
          <Dock
            view={view}
            live={live}
            saved={session.connection === "saved"}
            composer={composer}
            field={field}
            onDraft={(draft) => compose({ type: "typed", draft })}
            onSend={send}
          />
          <div class="sr" aria-live="polite" role="status">
            {announcement}
          </div>
        </div>
      </ToolsContext.Provider>
    </LiveContext.Provider>
  );
}

function Bars(props: { session: Session; view: SessionView; live: boolean }): VNode {
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
    </>
  );
}
