import { marked } from "marked";
import { expect, test } from "vitest";
import { rendered, blockTokens } from "../../src/markdown/render";
import { BlockScanner } from "../../src/markdown/blocks";
import { renderMarkdown, MarkdownStream } from "../../src/markdown/stream";
import { DOCUMENTS, longText, randoms } from "../support/markdown";
test("time", () => {
  const text = longText(200_000);
  const sink = new Proxy({}, { get: () => () => {} }) as never;
  let t = performance.now(); const s = new BlockScanner(sink); s.push(text); s.finish(); console.log("scan", performance.now() - t);
  t = performance.now(); const root = document.createElement("div"); renderMarkdown(root, text); console.log("oneshot", performance.now() - t);
  t = performance.now(); marked.parse(text); console.log("marked", performance.now() - t);
  t = performance.now(); const r2 = document.createElement("div"); r2.append(rendered(marked.lexer(text))); console.log("marked+purify+finish", performance.now() - t);
  t = performance.now(); const r3 = document.createElement("div"); const st = new MarkdownStream(r3); let n=0; let worst=0; for (let at=20; at<50_000; at+=20) { const a=performance.now(); st.update(text.slice(0,at), false); worst=Math.max(worst, performance.now()-a); n++; } console.log("stream 50k", performance.now() - t, n, "worst", worst, st.stats);
});
test("mix", () => {
  const random = randoms(5);
  const entries = Object.entries(DOCUMENTS).filter(([n]) => !["html","unclosedComment","crlf","references"].includes(n));
  const skeleton=(root: ParentNode) => { const copy = document.createElement("div");
  copy.append(...[...root.childNodes].map((node) => node.cloneNode(true)));
  for (const bar of copy.querySelectorAll(".code-bar")) bar.remove();
  for (const box of copy.querySelectorAll(".blk,.code,.table-box")) box.replaceWith(...box.childNodes);
  for (const span of copy.querySelectorAll("pre span")) span.replaceWith(...span.childNodes);
  for (const e of copy.querySelectorAll("*")) for (const a of [...e.attributes]) if (!["href","start","align"].includes(a.name)) e.removeAttribute(a.name);
  for (const empty of copy.querySelectorAll("tbody:empty")) empty.remove();
  copy.normalize(); return copy.innerHTML.replace(/\s+/g, " ").replace(/ ?(<[^>]*>) ?/g,"$1").replace(/☑ ?|☐ ?/g,""); };
  let bad=0, n=0;
  const lines = ["- a", "  b", "", "", "1. x", "   y", "```", "    z", "| a |", "|---|", "> q", "# h", "===", "---", "text", "  - n", "* * *", "~~~", "   c", "10) t", "+ p"];
  for (let i=0;i<1500;i++){ 
    const text = i%2 ? [0,1,2].map(()=>entries[Math.floor(random()*entries.length)]![1]).join(["\n","\n\n","\n\n\n"][Math.floor(random()*3)]) : Array.from({ length: 10 }, () => lines[Math.floor(random() * lines.length)]).join("\n");
    const a=document.createElement("div"); renderMarkdown(a, text); const b=document.createElement("div"); b.append(rendered(marked.lexer(text)));
    n++; if (skeleton(a)!==skeleton(b)) { bad++; if (bad<8) console.log(JSON.stringify(text)+"\nOURS "+skeleton(a)+"\nFULL "+skeleton(b)); }
  }
  console.log("bad", bad, "of", n);
});
