import type { VNode } from "preact";
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import type { Outcome } from "../commands";
import type { TailFollower } from "../follow";
import { type Draft, isAtRest, isReadOnly, type Queue, type SessionView } from "../protocol";
import type { Session } from "../session";
import { visible } from "../text/escapes";
import { LiveContext, ToolsContext, useWords, type ViewTools, WordsContext } from "../ui-state";
import { statusInWords, type Words } from "../words";
import { attaching, dropTarget } from "./Attachments";
import { announcementAfter } from "./announce";
import { Bars } from "./Bars";
import { useCopyButtons } from "./copy";
import { Dock } from "./Dock";
import { RetryButton } from "./ErrorBanner";
import { type Sender, useSender } from "./fields";
import { Header } from "./Header";
import { Spinner, Unplugged } from "./Icons";
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
function useAnnouncements(
  t: Words,
  view: SessionView | null,
  announce: (text: string) => void,
): void {
  const before = useRef<SessionView | null>(null);
  useEffect(() => {
    const text = view && before.current ? announcementAfter(t, before.current, view) : null;
    before.current = view;
    if (text) announce(text);
  }, [t, view, announce]);
}

function Working({ view }: { view: SessionView }): VNode | null {
  const t = useWords();
  const summarising = view.phase === "compacting";
  if ((view.status !== "streaming" && !summarising) || view.question) return null;
  if (view.drafts && view.drafts.length > 0) return <Drafts drafts={view.drafts} />;
  const last = view.messages.items.at(-1)?.parts.at(-1);
  const visibleWork = last?.type === "text" || (last?.type === "tool" && last.state === "running");
  if (visibleWork && !summarising && view.phase !== "stopping" && view.phase !== "retrying")
    return null;
  return (
    <p class="working">
      <Spinner />
      {t("working", { phase: statusInWords(t, view) })} {visible(view.model.retry?.reason ?? "")}
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

/** What names parts of messages that are no components: blocks of code and tables. */
function Labels(): VNode {
  const t = useWords();
  return (
    <div hidden>
      <span id="aw-code">{t("code")}</span>
      <span id="aw-copy">{t("copy.code")}</span>
      <span id="aw-table">{t("table")}</span>
    </div>
  );
}

function Empty(): VNode {
  const t = useWords();
  return (
    <div class="empty">
      <p>{t("empty")}</p>
      <p class="quiet">{t("empty.more")}</p>
    </div>
  );
}

const end = (view: SessionView): number => view.messages.first + view.messages.items.length;

/** Stops the run and waits until it has ended. */
async function stopped(session: Session): Promise<Outcome> {
  const outcome = await session.command("stop");
  if (!outcome.ok && outcome.code !== "SESSION_NOT_RUNNING") return outcome;
  return new Promise((resolve) => {
    const look = (): void => {
      if (session.store.view?.status === "streaming") return;
      unsubscribe();
      resolve({ ok: true });
    };
    const unsubscribe = session.subscribe(look);
    look();
  });
}

interface Fixed {
  session: Session;
  field: { current: HTMLTextAreaElement | null };
  follower: { current: TailFollower | null };
  sender: { current: Sender };
  announce: (text: string) => void;
  remark: (text: string) => void;
}

function useViewTools(fixed: Fixed): ViewTools {
  const { session, field, follower, sender, announce, remark } = fixed;
  return useMemo(
    () => ({
      expanded: new Map(),
      stepping: { current: null },
      command: (name, fields, waits) => session.command(name, fields, waits),
      stopped: () => stopped(session),
      announce,
      remark,
      focusComposer: () => field.current?.focus({ preventScroll: true }),
      giveBack: (text, always, attachments) => {
        sender.current.giveBack(text, always, attachments);
        if (always) remark(session.words("given_back"));
      },
      keepPlace: (change) => (follower.current ? follower.current.hold(change) : change()),
    }),
    [session, field, follower, sender, announce, remark],
  );
}

/** The last remark, which a new question, and a message being sent, make an old one. */
function useRemark(pid: string | null, sending: boolean) {
  const [remark, setRemark] = useState<string | null>(null);
  useEffect(() => {
    if (pid !== null || sending) setRemark(null);
  }, [pid, sending]);
  return [remark, setRemark] as const;
}

/** One view of a session; before anything is known of it, what it waits for. */
export function App({ session }: { session: Session }): VNode {
  useSession(session);
  const { words: t, connection } = session;
  const { view } = session.store;
  return (
    <WordsContext.Provider value={t}>
      {view !== null ? (
        <Panel session={session} view={view} />
      ) : (
        <div class="panel">
          <p class="connection">
            {connection === "disconnected" ? <Unplugged /> : <Spinner />}
            {t.known(`connection.${connection}`) ?? t("connection.connecting")}
          </p>
        </div>
      )}
    </WordsContext.Provider>
  );
}

function Panel({ session, view }: { session: Session; view: SessionView }): VNode {
  const t = useWords();
  const [announcement, announce] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const follower = useRef<TailFollower | null>(null);
  const composer = useSender();
  const sender = useRef(composer);
  sender.current = composer;
  const sending = composer.state.client.delivery === "waiting";
  const [remark, setRemark] = useRemark(view.question?.pid ?? null, sending);
  const tools = useViewTools({ session, field, follower, sender, announce, remark: setRemark });
  const onFollower = useCallback((created: TailFollower) => {
    follower.current = created;
  }, []);
  useAnnouncements(t, view, announce);
  useCopyButtons(panel, t, announce);

  const live = session.connection !== "disconnected" && session.connection !== "saved";
  const running = view.status === "streaming";
  const saved = session.connection === "saved";
  const attach = attaching(sender, tools, t);
  const lastQueue = useRef<Queue | undefined>(undefined);
  const send = (queue?: Queue): void => {
    lastQueue.current = queue;
    if (queue === undefined) follower.current?.jump();
    void composer.send(tools.command, "send", queue === undefined ? {} : { queue });
  };
  return (
    <LiveContext.Provider value={live}>
      <ToolsContext.Provider value={tools}>
        <div
          class="panel"
          ref={panel}
          {...(!saved && !isReadOnly(view) && dropTarget(attach))}
          style={{ "--copy": JSON.stringify(t("copy")) } as Record<string, string>}
        >
          <Labels />
          <Header view={view} reachable={live} />
          <Bars session={session} view={view} live={live} />
          <Transcript
            messages={view.messages}
            streaming={live && running}
            atRest={live && isAtRest(view)}
            loadEarlier={() => session.loadHistory()}
            onFollower={onFollower}
          >
            {end(view) === 0 && <Empty />}
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
            saved={saved}
            sender={composer}
            field={field}
            remark={remark}
            onRemark={setRemark}
            onAttach={attach}
            onSend={send}
            onSendAgain={() => send(running ? lastQueue.current : undefined)}
          />
          <div class="sr" aria-live="polite" role="status">
            {announcement}
          </div>
        </div>
      </ToolsContext.Provider>
    </LiveContext.Provider>
  );
}
