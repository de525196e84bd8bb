import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ErrorView } from "../protocol";
import { visible } from "../text/escapes";
import { useTools, useWords } from "../ui-state";
import { errorInWords, refusalInWords } from "../words";
import { Retry, Warning } from "./Icons";

/** Tries the last run again; says so when the kernel refuses. */
export function RetryButton({ quiet }: { quiet: boolean }): VNode {
  const tools = useTools();
  const t = useWords();
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const retry = async (): Promise<void> => {
    if (busy) return;
    setBusy(true);
    tools.focusComposer();
    const outcome = await tools.command("retry");
    setBusy(false);
    setRefusal(outcome.ok ? null : refusalInWords(t, outcome.code, outcome.message));
  };
  return (
    <>
      <button
        type="button"
        class={quiet ? "quiet-button" : "plain-button"}
        aria-disabled={busy}
        onClick={retry}
      >
        <Retry />
        {t("retry")}
      </button>
      {refusal && <span class="refusal">{refusal}</span>}
    </>
  );
}

/** What went wrong, in words, with what to do about it. */
export function ErrorBanner({ error, canRetry }: { error: ErrorView; canRetry: boolean }): VNode {
  const t = useWords();
  return (
    <section class="error-banner" aria-label={t("error")}>
      <Warning />
      <div class="error-text">
        <p class="error-title">{errorInWords(t, error.code)}</p>
        {error.message && (
          <p class="error-detail" dir="auto">
            {visible(error.message)}
          </p>
        )}
        {error.advice && <p dir="auto">{visible(error.advice)}</p>}
      </div>
      {canRetry && (
        <div class="error-actions">
          <RetryButton quiet={false} />
        </div>
      )}
    </section>
  );
}
