// Light or dark, as the host is, and how to learn that it changed.

const HOST_ATTRIBUTES = [
  "class",
  "style",
  "theme",
  "data-theme",
  "data-jp-theme-light",
  "data-vscode-theme-kind",
];

/** True when the surroundings of `element` are dark: the host's word first, then its colours. */
export function isDark(element: Element): boolean {
  const { body, documentElement: root } = document;
  const jupyter = body?.dataset.jpThemeLight;
  if (jupyter === "true" || jupyter === "false") return jupyter === "false";
  const kind = body?.dataset.vscodeThemeKind ?? "";
  if (kind !== "") return /dark|high-contrast$/.test(kind);
  const named = root.dataset.theme ?? root.getAttribute("theme") ?? "";
  if (named === "dark" || named === "light") return named === "dark";
  for (const holder of [root, body]) {
    if (holder?.classList.contains("dark")) return true;
    if (holder?.classList.contains("light")) return false;
  }
  return darkBackground(element) ?? matchMedia("(prefers-color-scheme: dark)").matches;
}

function darkBackground(element: Element): boolean | null {
  for (let node: Element | null = element; node; node = parentOf(node)) {
    const numbers =
      getComputedStyle(node)
        .backgroundColor.match(/[\d.]+/g)
        ?.map(Number) ?? [];
    const [red = 0, green = 0, blue = 0, alpha = 1] = numbers;
    if (numbers.length >= 3 && alpha > 0.5) return 0.3 * red + 0.59 * green + 0.11 * blue < 128;
  }
  return null;
}

const parentOf = (node: Element): Element | null =>
  node.parentElement ?? ((node.getRootNode() as ShadowRoot).host as Element | undefined) ?? null;

/** Calls `changed` when the host's theme may have changed, until the signal aborts. */
export function watchTheme(changed: () => void, signal: AbortSignal): void {
  const observer = new MutationObserver(changed);
  const options = { attributes: true, attributeFilter: HOST_ATTRIBUTES };
  for (const holder of [document.documentElement, document.body]) observer.observe(holder, options);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", changed, { signal });
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
}
