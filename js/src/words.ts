// What the view says: the strings of the table that the kernel sent, in one language.

import type { VNode } from "preact";
import type en from "../../agent_widget/view/locale/en.json";
import { isRecord, type Queue, type SessionView, type ToolPart } from "./protocol";

export type Key = keyof (typeof en)["page"];
type Params = Record<string, string | number>;
type Forms = Record<string, string>;

export interface Words {
  /** The string of `key`; numbers in `params` are written as the language does, `count` chooses the plural form. */
  (key: Key, params?: Params): string;
  /** The string of a key made of a code, if there is one. */
  known(key: string): string | undefined;
  /** The string of `key` in pieces, with elements in the place of some parameters. */
  rich(
    key: Key,
    params: Record<string, string | number | VNode | (string | VNode)[]>,
  ): (string | VNode)[];
  number(value: number, options?: Intl.NumberFormatOptions): string;
  readonly locale: string;
  readonly direction: "ltr" | "rtl";
}

const PLACE = /\{(\w+)\}/;

/** The words in the trait of that name; without it keys stand for their strings. */
export function wordsOf(trait: unknown): Words {
  const table = isRecord(trait) && isRecord(trait.words) ? trait.words : {};
  const locale = isRecord(trait) && typeof trait.locale === "string" ? trait.locale : "en";
  // Code, paths and output have these digits: numbers beside them have the same.
  const tag = `${locale}-u-nu-latn`;
  const plural = new Intl.PluralRules(locale);
  const number: Words["number"] = (value, options) =>
    new Intl.NumberFormat(tag, options).format(value);
  const found = (key: string, count: unknown): string | undefined => {
    const entry = table[key] as string | Forms | undefined;
    return isRecord(entry) ? (entry[plural.select(Number(count))] ?? entry.other) : entry;
  };
  const rich: Words["rich"] = (key, params) =>
    (found(key, params.count) ?? key).split(PLACE).flatMap((piece, index) => {
      const value = index % 2 ? params[piece]! : piece;
      return typeof value === "number" ? number(value) : value;
    });
  const words = (key: Key, params: Params = {}): string => rich(key, params).join("");
  const direction = isRecord(trait) && trait.direction === "rtl" ? "rtl" : "ltr";
  const known = (key: string): string | undefined => found(key, 0);
  return Object.assign(words, { known, rich, number, locale, direction } as const);
}

/** The error's code in words. */
export const errorInWords = (t: Words, code: string | null): string =>
  t.known(`error.${code}`) ?? t("error.other");

/** Why a command was refused, in words. */
export function refusalInWords(t: Words, code: string, message: string): string {
  if (code.startsWith("INVALID_") && message) return message;
  return t.known(`refused.${code}`) ?? (message || t("refused.other"));
}

export const QUEUES: readonly Queue[] = ["steering", "follow_up"];

/** One or two words for what the session does now. */
export function statusInWords(t: Words, view: SessionView): string {
  const { phase, status, model } = view;
  if (model.retry) {
    const { delay_ms, attempt, max_attempts } = model.retry;
    return t("retry.in", { time: Math.ceil(delay_ms / 1000), attempt, most: max_attempts });
  }
  const running = status === "streaming";
  const beside = phase === "closed" || phase === "compacting";
  const told = phase !== "idle" && (running || beside) && t.known(`phase.${phase}`);
  if (told) return told;
  if (running) return t("phase.streaming");
  return t(status === "error" || phase === "failed" ? "phase.failed" : "phase.idle");
}

/** How a call is doing, how it took a Stop, or who refused it. */
export const callStateInWords = (t: Words, { state, stop, refusal }: ToolPart): string =>
  (stop && t.known(`stop.${stop}`)) ||
  (refusal && t.known(`call.${refusal}`)) ||
  (t.known(`call.${state}`) ?? state);

/** The sentence without its full stop. */
export const unended = (sentence: string): string => sentence.replace(/[.。\s]+$/, "");

/** Where a session is kept, in words. */
export const storageInWords = (t: Words, { label, is_durable }: SessionView["storage"]): string =>
  is_durable ? t("kept", { label }) : t("kept.memory");

/** A duration for people: "40 ms", "0.4 s", "12 s", "3 min 05 s". */
export function durationInWords(t: Words, milliseconds: number): string {
  if (milliseconds < 100) return t("time.ms", { time: Math.round(milliseconds) });
  const seconds = milliseconds / 1000;
  if (seconds < 10) {
    return t("time.s", {
      time: t.number(seconds, { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
    });
  }
  if (seconds < 60) return t("time.s", { time: Math.round(seconds) });
  const rest = String(Math.floor(seconds % 60)).padStart(2, "0");
  return t("time.min", { minutes: Math.floor(seconds / 60), seconds: rest });
}
