// The one place where markup of models and tools becomes DOM. Nothing else parses HTML.

import createDOMPurify, { type DOMPurify } from "dompurify";

const TAGS = [
  ..."a abbr b blockquote br caption cite code col colgroup dd del details div dl dt em".split(" "),
  ..."figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q s samp small".split(
    " ",
  ),
  ..."span strong sub summary sup table tbody td tfoot th thead tr u ul var wbr".split(" "),
];
const ATTRIBUTES = "href src alt title start align colspan rowspan scope dir lang open class".split(
  " ",
);

const IMAGE_DATA = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/i;
const LANGUAGE_CLASS = /^language-[\w+#.-]{1,40}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not pass
const CONTROLS = /[\u0000-\u0020\u007f-\u00a0\u2028\u2029]/;

/** The address when it is an absolute http, https or mailto one without control characters, else null. */
export function safeHref(href: string): string | null {
  const address = href.trim();
  if (CONTROLS.test(address) || !/^(?:https?:\/\/|mailto:)/i.test(address)) return null;
  try {
    return ["http:", "https:", "mailto:"].includes(new URL(address).protocol) ? address : null;
  } catch {
    return null;
  }
}

const remoteImages = new WeakMap<Element, string>();
let purifier: DOMPurify | null = null;

function purify(): DOMPurify {
  if (purifier) return purifier;
  purifier = createDOMPurify(window);
  purifier.addHook("uponSanitizeAttribute", (node, data) => {
    const { attrName: name, attrValue: value } = data;
    if (name === "href") {
      data.keepAttr = node.nodeName === "A" && safeHref(value) !== null;
    } else if (name === "src") {
      data.keepAttr = node.nodeName === "IMG" && IMAGE_DATA.test(value);
      if (!data.keepAttr && node.nodeName === "IMG") remoteImages.set(node, value);
    } else if (name === "class") {
      data.keepAttr = node.nodeName === "CODE" && LANGUAGE_CLASS.test(value);
    }
  });
  return purifier;
}

/** The markup as a fragment of allowed elements; loads nothing and runs nothing. */
export function sanitized(html: string): DocumentFragment {
  const fragment = purify().sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const image of fragment.querySelectorAll("img")) withoutRemote(image);
  for (const link of fragment.querySelectorAll("a")) {
    if (!link.hasAttribute("href")) {
      link.replaceWith(...link.childNodes);
      continue;
    }
    link.rel = "noopener noreferrer";
    link.target = "_blank";
  }
  return fragment;
}

// An image that would be fetched tells its server that, and with which address, this text was read.
function withoutRemote(image: HTMLImageElement): void {
  if (image.hasAttribute("src")) return;
  const address = safeHref(remoteImages.get(image) ?? "");
  const label = `image: ${image.alt || address || "without a usable address"}`;
  const document = image.ownerDocument;
  if (address === null || image.closest("a")) {
    image.replaceWith(document.createTextNode(label));
    return;
  }
  const link = document.createElement("a");
  link.href = address;
  link.textContent = label;
  image.replaceWith(link);
}
