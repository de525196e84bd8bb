import { Component, type ComponentChildren, type FunctionComponent, h } from "preact";

/** The component, rendered again only when one of its props is another value. */
export function memo<P extends object>(
  inner: (props: P) => ComponentChildren,
): FunctionComponent<P> {
  const Inner = inner as FunctionComponent<P>;
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const before = this.props as Record<string, unknown>;
      const after = next as Record<string, unknown>;
      const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
      return [...keys].some((key) => before[key] !== after[key]);
    }
    override render(): ComponentChildren {
      return h(Inner, this.props as P);
    }
  } as unknown as FunctionComponent<P>;
}
