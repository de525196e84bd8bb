import base from "./base.css?inline";
import cards from "./cards.css?inline";
import dock from "./dock.css?inline";
import media from "./media.css?inline";
import text from "./text.css?inline";
import transcript from "./transcript.css?inline";

/** The style sheet of a view's shadow root. */
export const css = [base, transcript, text, cards, dock, media].join("\n");
