import { Fragment, type VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { SessionView, Usage } from "../protocol";
import { visible } from "../text/escapes";
import { useTools, useWords } from "../ui-state";
import { refusalInWords, statusInWords, storageInWords, type Words } from "../words";
import { Check, Cross, Hand, More, Spinner, Warning } from "./Icons";
import { ModelMenu } from "./ModelMenu";

/** "$1.20", with enough digits for small sums: "$0.0034"; none for nothing, and what is not known. */
const money = (t: Words, amount: string | null, currency: string | null): string[] => {
  const sum = Number(amount);
  if (!(sum > 0) || !currency) return [];
  const digits = sum < 0.1 ? { maximumSignificantDigits: 2 } : {};
  return [t.number(sum, { style: "currency", currency, ...digits })];
};

function UsageLine({ usage }: { usage: Usage }): VNode {
  const t = useWords();
  const { output_tokens, cached_tokens, requests, currency, context_tokens, context_window } =
    usage;
  const input = usage.input_tokens + cached_tokens;
  const short = (count: number): string => t.number(count, { notation: "compact" });
  const cost = money(t, usage.cost, currency);
  const saving = money(t, usage.saved, currency);
  const saved = saving.map((amount) => t("usage.saved", { amount }));
  const context = context_tokens
    ? [
        t("usage.context", {
          share: t.number(context_tokens / context_window!, { style: "percent" }),
        }),
      ]
    : [];
  const cached = {
    input: t("usage.input", { count: input }),
    cached: cached_tokens,
  };
  const whole = [
    t("usage.cached", cached),
    t("usage.output", { count: output_tokens }),
    t("usage.requests", { count: requests }),
    ...cost,
    ...saved,
    ...context,
  ].join(" · ");
  const shown = [
    t("usage.short", { input: short(input), output: short(output_tokens) }),
    ...cost,
    ...saved,
    ...context,
  ];
  return (
    <span class="usage" title={whole}>
      <span class="sr">{whole}</span>
      <span aria-hidden="true">
        {shown.map((each, index) => (
          <Fragment key={index}>
            {index > 0 && " · "}
            <bdi dir={t.direction}>{each}</bdi>
          </Fragment>
        ))}
      </span>
    </span>
  );
}

function StatusIcon({ view }: { view: SessionView }): VNode {
  if (view.status === "error" || view.phase === "failed") return <Cross />;
  if (view.question) return <Hand />;
  return view.status === "streaming" || view.phase === "compacting" ? <Spinner /> : <Check />;
}

function ResetQuestion({ keep, done }: { keep: () => void; done: () => void }): VNode {
  const tools = useTools();
  const t = useWords();
  const [refusal, setRefusal] = useState<string | null>(null);
  const reset = async (): Promise<void> => {
    const outcome = await tools.command("reset");
    if (!outcome.ok) {
      setRefusal(refusalInWords(t, outcome.code, outcome.message));
      return;
    }
    done();
    tools.focusComposer();
  };
  return (
    <div class="menu asking" role="group" aria-label={t("reset.title")}>
      <p>{refusal ?? t("reset.ask")}</p>
      <div class="row">
        <button type="button" class="quiet-button" onClick={keep}>
          {t("reset.keep")}
        </button>
        <button type="button" class="danger-button" onClick={reset}>
          {t("reset.do")}
        </button>
      </div>
    </div>
  );
}

/** The menu; "New conversation" asks once before it clears this one. */
function Menu({ disabled, running }: { disabled: boolean; running: boolean }): VNode {
  const t = useWords();
  const tools = useTools();
  const [open, setOpen] = useState<"no" | "menu" | "asking">("no");
  const holder = useRef<HTMLDivElement>(null);
  const toggle = useRef<HTMLButtonElement>(null);
  const close = (focus = true): void => {
    setOpen("no");
    if (focus) toggle.current?.focus();
  };
  const summarise = async (): Promise<void> => {
    close();
    const outcome = await tools.command("compact");
    if (!outcome.ok) tools.remark(refusalInWords(t, outcome.code, outcome.message));
  };
  useEffect(() => {
    if (open !== "no") holder.current?.querySelector<HTMLElement>(".menu button")?.focus();
  }, [open]);
  return (
    <div
      class="menu-holder"
      role="group"
      aria-label={t("actions")}
      ref={holder}
      onKeyDown={(event) => event.key === "Escape" && open !== "no" && close()}
      onFocusOut={(event) => {
        const next = event.relatedTarget as Node | null;
        if (open === "menu" && next && !holder.current?.contains(next)) close(false);
      }}
    >
      <button
        type="button"
        class="icon-button"
        ref={toggle}
        aria-label={t("actions.more")}
        aria-haspopup="true"
        aria-expanded={open !== "no"}
        onClick={() => (open === "no" ? setOpen("menu") : close())}
      >
        <More />
      </button>
      {open === "menu" && (
        <div class="menu">
          <button type="button" disabled={disabled} onClick={() => setOpen("asking")}>
            {t("actions.new")}
          </button>
          <button type="button" disabled={disabled || running} onClick={summarise}>
            {t("actions.compact")}
          </button>
        </div>
      )}
      {open === "asking" && <ResetQuestion keep={() => close()} done={() => close(false)} />}
    </div>
  );
}

/** Stays as long as calls run without being asked about. */
function Alarm({ warning }: { warning: string }): VNode {
  return (
    <p class="alarm" role="alert">
      <Warning />
      <span dir="auto">{visible(warning)}</span>
    </p>
  );
}

export function Header({ view, reachable }: { view: SessionView; reachable: boolean }): VNode {
  const t = useWords();
  const { name, storage, servers = [] } = view;
  const tools = useTools();
  const away = servers.filter(({ state }) => state !== "connected");
  const { warning } = view.permission;
  const model = visible(view.model.label);
  const kept = visible(storageInWords(t, storage));
  return (
    <header class="header">
      {name && (
        <span class="name" dir="auto" title={visible(name)}>
          {visible(name)}
        </span>
      )}
      {reachable && storage.read_only === null && view.phase !== "closed" ? (
        <ModelMenu model={view.model} />
      ) : (
        <span class="model" dir="auto" title={model}>
          {model}
        </span>
      )}
      {reachable && (
        <span class={`status ${view.question ? "asking" : view.status}`}>
          <StatusIcon view={view} />
          {statusInWords(t, view)}
        </span>
      )}
      {reachable && storage.label && (
        <span class="kept" title={kept}>
          {kept.replace(/\S*?[/\\].*[/\\]/, "")}
        </span>
      )}
      {reachable && servers.length > 0 && (
        <span class="kept" title={visible(away.map(({ name }) => name).join(", "))}>
          {t("servers", { there: servers.length - away.length, all: servers.length })}
          {away.some(({ state }) => state === "starting") && (
            <button
              type="button"
              class="link"
              aria-label={`${t("cancel")}: MCP`}
              onClick={() => tools.command("stop_servers")}
            >
              {t("cancel")}
            </button>
          )}
        </span>
      )}
      {view.usage && view.usage.requests > 0 && <UsageLine usage={view.usage} />}
      <Menu
        running={view.status === "streaming"}
        disabled={
          !reachable ||
          storage.read_only !== null ||
          view.messages.first + view.messages.items.length === 0
        }
      />
      {reachable && warning && <Alarm warning={warning} />}
    </header>
  );
}
