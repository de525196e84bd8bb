import base from "../styles/base.css?inline";
import explorer from "../styles/explorer.css?inline";

/** The style sheet of an explorer's shadow root. */
export const css = [base, explorer].join("\n");
