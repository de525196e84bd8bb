// What a tool gave back: text, images, tables.

import type { VNode } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { renderedHtml } from "../markdown/render";
import { memo } from "../memo";
import type { Block } from "../protocol";
import { ansiRuns, plainText } from "../text/ansi";
import { escapeOf, pieces } from "../text/escapes";
import { useTools, useWords } from "../ui-state";

const FOLD_LINES = 20;
const FOLD_CHARS = 6_000;
const LIVE_LINES = 14;

const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** The start of a text that is too long to show, and how many lines it has in all. */
export function folded(text: string): { head: string; lines: number } | null {
  const lines = text.split("\n");
  if (lines.length <= FOLD_LINES + 2 && text.length <= FOLD_CHARS) return null;
  return { head: lines.slice(0, FOLD_LINES).join("\n").slice(0, FOLD_CHARS), lines: lines.length };
}

/** Terminal text: colours kept, other sequences gone, harmful characters as escapes. */
const Terminal = memo(({ text }: { text: string }): VNode => {
  const runs = useMemo(() => ansiRuns(text), [text]);
  return (
    <>
      {runs.map((run, index) => (
        <span key={index} class={run.classes || undefined}>
          {pieces(run.text, false).map((piece, at) =>
            piece.hidden ? (
              <span key={at} class="esc">
                {escapeOf(piece.text)}
              </span>
            ) : (
              piece.text
            ),
          )}
        </span>
      ))}
    </>
  );
});

export function TextOutput({ text }: { text: string }): VNode {
  const [all, setAll] = useState(false);
  const tools = useTools();
  const t = useWords();
  const shown = text.replace(/\n+$/, "");
  const fold = useMemo(() => folded(shown), [shown]);
  return (
    <div class="out-text">
      <pre dir="auto" tabIndex={0} role="region" aria-label={t("output")}>
        <Terminal text={fold && !all ? fold.head : shown} />
      </pre>
      {fold && (
        <button
          type="button"
          class="link"
          aria-expanded={all}
          onClick={() => tools.keepPlace(() => setAll(!all))}
        >
          {all
            ? t("output.less")
            : fold.lines > FOLD_LINES
              ? t("output.lines", { count: fold.lines })
              : t("output.all")}
        </button>
      )}
    </div>
  );
}

/** The end of the output of a call that still runs. */
export function LiveOutput({ text }: { text: string }): VNode {
  const t = useWords();
  const lines = text.replace(/\n$/, "").split("\n");
  const hidden = Math.max(0, lines.length - LIVE_LINES);
  return (
    <div class="out-text live">
      {hidden > 0 && <div class="quiet">{t("output.earlier", { count: hidden })}</div>}
      <pre dir="auto" role="region" aria-label={t("output.live")} tabIndex={0}>
        <Terminal text={lines.slice(-LIVE_LINES).join("\n")} />
      </pre>
    </div>
  );
}

const Html = memo(({ html }: { html: string }): VNode => {
  const holder = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    holder.current!.replaceChildren(renderedHtml(html));
  }, [html]);
  return <div class="out-html" ref={holder} />;
});

// As an image a drawing can neither run scripts nor load anything.
const svgAddress = (svg: string): string => {
  const bytes = new TextEncoder().encode(svg);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `data:image/svg+xml;base64,${btoa(binary)}`;
};

function Picture({ address, alt }: { address: string; alt: string }): VNode {
  return (
    <div class="out-image">
      <img src={address} alt={alt} />
    </div>
  );
}

export const Output = memo(({ block, alt }: { block: Block; alt: string }): VNode => {
  const t = useWords();
  switch (block.type) {
    case "image":
      if (!IMAGE_TYPES.has(block.mime)) {
        return <p class="quiet">{t("picture.type", { type: block.mime })}</p>;
      }
      return <Picture address={`data:${block.mime};base64,${block.data}`} alt={alt} />;
    case "svg":
      return <Picture address={svgAddress(block.svg)} alt={alt} />;
    case "html":
      return <Html html={block.html} />;
    case "unavailable":
      return <p class="quiet">{t("picture.gone")}</p>;
    default:
      return <TextOutput text={block.text ?? ""} />;
  }
});

/** The last line of a text that says something, for a one-line summary. */
export function lastLine(text: string): string {
  const lines = plainText(text).trimEnd().split("\n");
  return lines.at(-1)?.trim() ?? "";
}
