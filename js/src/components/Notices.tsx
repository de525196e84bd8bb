import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { memo } from "../memo";
import type { Notice } from "../protocol";
import { visible } from "../text/escapes";
import { useTools, useWords } from "../ui-state";
import { Cross, Info } from "./Icons";

const SHOWN = 2;

/** Notices of the kernel, newest last; the view shows the newest ones and the rest on demand. */
export const Notices = memo(({ notices }: { notices: Notice[] }): VNode | null => {
  const tools = useTools();
  const t = useWords();
  const [all, setAll] = useState(false);
  if (notices.length === 0) return null;
  const hidden = all ? 0 : Math.max(0, notices.length - SHOWN);
  return (
    <ul class="notices" aria-label={t("notices")}>
      {hidden > 0 && (
        <li>
          <button type="button" class="link" onClick={() => setAll(true)}>
            {t("notices.earlier", { count: hidden })}
          </button>
        </li>
      )}
      {notices.slice(hidden).map((notice) => (
        <li key={notice.nid}>
          <Info />
          <span dir="auto">{visible(notice.message || notice.code)}</span>
          <button
            type="button"
            class="icon-button"
            aria-label={t("notices.dismiss")}
            onClick={() => {
              tools.focusComposer();
              void tools.command("dismiss", { nid: notice.nid });
            }}
          >
            <Cross />
          </button>
        </li>
      ))}
    </ul>
  );
});
