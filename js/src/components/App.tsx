import type { VNode } from "preact";
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import type { TailFollower } from "../follow";
import { canSend, type Draft, type SessionView } from "../protocol";
import type { Session } from "../session";
import { visible } from "../text/escapes";
import { composed, emptyComposer, type Sending, ToolsContext, type ViewTools } from "../ui-state";
import { CONNECTIONS, refusalInWords, statusInWords } from "../words";
import { announcementAfter } from "./announce";
import { Composer } from "./Composer";
import { ErrorBanner, RetryButton } from "./ErrorBanner";
import { Header } from "./Header";
import { Info, Spinner, Unplugged } from "./Icons";
import { Notices } from "./Notices";
import { QuestionCard } from "./QuestionCard";
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

export function App({ session }: { session: Session }): VNode {
  useSession(session);
  const { view } = session.store;
  const { connection } = session;
  const [composer, compose] = useReducer(composed, emptyComposer);
  const [remark, setRemark] = useState<string | null>(null);
  const [announcement, announce] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const follower = useRef<TailFollower | null>(null);
  const answered = useRef(new Set<string>());

  const tools = useMemo<ViewTools>(
    () => ({
      expanded: new Map(),
      command: (name, fields, onSlow) => session.command(name, fields, onSlow),
      announce,
      focusComposer: () => field.current?.focus({ preventScroll: true }),
      keepPlace: (change) => (follower.current ? follower.current.hold(change) : change()),
    }),
    [session],
  );
  const onFollower = useCallback((created: TailFollower) => {
    follower.current = created;
  }, []);
  useAnnouncements(view, announce);

  const pid = view?.question?.pid ?? null;
  useEffect(() => {
    if (pid !== null) setRemark(null);
  }, [pid]);

  if (view === null) {
    return (
      <div class="panel">
        <p class="connection">
          {connection === "disconnected" ? <Unplugged /> : <Spinner />}
          {CONNECTIONS[connection] || CONNECTIONS.connecting}
        </p>
      </div>
    );
  }

  const gone = connection === "disconnected" || connection === "saved";
  const send = async (): Promise<void> => {
    const text = composer.draft;
    compose({ type: "sent", text, after: end(view) });
    setRemark(null);
    follower.current?.jump();
    const outcome = await session.command("send", { text }, () => compose({ type: "slow" }));
    if (outcome.ok) compose({ type: "accepted" });
    else compose({ type: "refused", reason: refusalInWords(outcome.code, outcome.message) });
  };
  const streaming = view.status === "streaming" && !gone;
  const bar = CONNECTIONS[connection];
  const note = composer.refusal ?? remark;
  return (
    <ToolsContext.Provider value={tools}>
      <div class="panel">
        <Header view={view} reachable={!gone} />
        {view.model.notice && (
          <p class="model-notice" dir="auto">
            <Info />
            <span>{view.model.notice}</span>
          </p>
        )}
        {bar && connection !== "connecting" && (
          <p class={`connection ${connection}`} role="status">
            {gone ? <Unplugged /> : <Spinner />}
            {connection === "waiting" && session.kernelBusy
              ? "Waiting for the kernel, which is busy…"
              : bar}
          </p>
        )}
        <Transcript
          messages={view.messages}
          streaming={streaming}
          loadEarlier={() => session.loadHistory()}
          onFollower={onFollower}
        >
          {end(view) === 0 && composer.sending === null && <Empty />}
          {composer.sending && <SendingRow sending={composer.sending} view={view} />}
          {!gone && <Working view={view} />}
          {view.can_retry && !view.error && !gone && (
            <div class="after-stop">
              <RetryButton quiet />
            </div>
          )}
        </Transcript>
        <div class="dock">
          <Notices notices={view.notices} />
          {view.error && <ErrorBanner error={view.error} canRetry={view.can_retry && !gone} />}
          {view.question && !gone && (
            <QuestionCard
              key={view.question.pid}
              question={view.question}
              waiting={view.waiting_questions}
              answered={answered.current}
              reachable={!gone}
              onRefused={setRemark}
            />
          )}
          {note && (
            <p class="refusal" role="status">
              {note}
            </p>
          )}
          {connection !== "saved" && (
            <Composer
              state={composer}
              field={field}
              blocked={blockedReason(view, gone, composer.sending !== null)}
              canStop={view.can_stop && !gone}
              onDraft={(draft) => compose({ type: "typed", draft })}
              onSend={send}
              onRefused={setRemark}
            />
          )}
        </div>
        <div class="sr" aria-live="polite" role="status">
          {announcement}
        </div>
      </div>
    </ToolsContext.Provider>
  );
}

function blockedReason(view: SessionView, gone: boolean, sending: boolean): string | null {
  if (gone) return "The kernel of this chat is gone.";
  if (sending) return "Your last message is still being sent.";
  if (canSend(view)) return null;
  if (view.question) return "Answer the question above first, or stop the run.";
  if (view.can_stop) return "The assistant is still working. Stop it, or wait until it is done.";
  return "Nothing can be sent right now.";
}
