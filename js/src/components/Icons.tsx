import type { ComponentChildren, VNode } from "preact";

const icon =
  (children: ComponentChildren, filled = false) =>
  (): VNode => (
    <svg
      class="icon"
      viewBox="0 0 16 16"
      width="16"
      height="16"
      aria-hidden="true"
      fill={filled ? "currentColor" : "none"}
      stroke={filled ? "none" : "currentColor"}
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      {children}
    </svg>
  );

export const Check = icon(<path d="M3.5 8.5l3 3 6-7" />);
export const Cross = icon(<path d="M4.5 4.5l7 7m0-7l-7 7" />);
export const Warning = icon(
  <>
    <path d="M8 2.2L14.5 13.5h-13z" />
    <path d="M8 6.5v3.2M8 11.6v.1" />
  </>,
);
export const Hand = icon(
  <>
    <path d="M8 1.8l5 1.7v4c0 3.2-2 5.4-5 6.7-3-1.3-5-3.5-5-6.7v-4z" />
    <path d="M8 5.2v3.4M8 10.8v.1" />
  </>,
);
export const Slash = icon(
  <>
    <circle cx="8" cy="8" r="5.5" />
    <path d="M4.2 11.8l7.6-7.6" />
  </>,
);
export const Pending = icon(<circle cx="8" cy="8" r="5" />);
export const Current = icon(
  <>
    <circle cx="8" cy="8" r="5" />
    <circle cx="8" cy="8" r="1.6" fill="currentColor" />
  </>,
);
export const Chevron = icon(<path d="M6 4l4 4-4 4" />);
export const Down = icon(<path d="M8 3v9.5M4 9l4 4 4-4" />);
export const Send = icon(<path d="M8 13V3.5M4 7.5l4-4 4 4" />);
export const Stop = icon(<rect x="4" y="4" width="8" height="8" rx="1.2" />, true);
export const Retry = icon(<path d="M13 8a5 5 0 1 1-1.5-3.6M13 2v3h-3" />);
export const More = icon(
  <>
    <circle cx="3.2" cy="8" r="1.3" />
    <circle cx="8" cy="8" r="1.3" />
    <circle cx="12.8" cy="8" r="1.3" />
  </>,
  true,
);
export const Info = icon(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="M8 7.2v3.8M8 5v.1" />
  </>,
);
export const Pencil = icon(<path d="M3 13l.7-3L11 2.7 13.3 5 6 12.3zM9.5 4.2l2.3 2.3" />);
export const Picture = icon(
  <>
    <rect x="2" y="2.5" width="12" height="11" rx="1.5" />
    <path d="M2.5 12l3.5-4 3 3 2-2 2.5 2.5M10 5.7v.1" />
  </>,
);
export const Clock = icon(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="M8 4.5V8l2.3 1.6" />
  </>,
);
export const Unplugged = icon(
  <path d="M2.5 13.5l2.2-2.2M4 8.5L7.5 12l-1 1a2.5 2.5 0 0 1-3.5-3.5zM9 4L12 7m-5.5 0L9 4.5l.5-1.5a2.5 2.5 0 0 1 3.5 3.5l-1.5.5L9 9.5m4.5-7l-1 1" />,
);
export const Spinner = (): VNode => <span class="spinner" aria-hidden="true" />;
