// What compiled JSX calls in a bundle: children as arguments are shorter than as a property.
export { Fragment as jsxFragment, h as jsx } from "preact";
