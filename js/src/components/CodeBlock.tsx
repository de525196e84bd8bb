import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { codeBlock } from "../markdown/code";
import { memo } from "../memo";

/** Highlighted code with a copy button; characters without a glyph are shown as escapes. */
export const CodeBlock = memo((props: { text: string; language: string }): VNode => {
  const { text, language } = props;
  const holder = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    holder.current!.replaceChildren(codeBlock(text, language, true));
  }, [text, language]);
  return <div class="code-holder" ref={holder} />;
});
