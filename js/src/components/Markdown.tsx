import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { MarkdownStream } from "../markdown/stream";
import { memo } from "../memo";

/** Markdown that may be growing; `final` says it will not grow any more. */
export const Markdown = memo((props: { text: string; final: boolean }): VNode => {
  const { text, final } = props;
  const root = useRef<HTMLDivElement>(null);
  const stream = useRef<MarkdownStream | null>(null);
  useLayoutEffect(() => {
    stream.current ??= new MarkdownStream(root.current!);
    stream.current.update(text, final);
  }, [text, final]);
  return <div class="md" ref={root} />;
});
