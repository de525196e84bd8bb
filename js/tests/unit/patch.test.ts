import { expect, test } from "vitest";
import vectors from "../../../tests/vectors/patch.json";
import { patched } from "../../src/patch";

interface Vector {
  name: string;
  before: object;
  ops: unknown[];
  after?: object;
  gap?: boolean;
}

const frozen = <T>(value: T): T => {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(frozen);
    Object.freeze(value);
  }
  return value;
};

test.each(vectors as Vector[])("$name", ({ before, ops, after, gap }) => {
  const result = patched(frozen(before), frozen(ops));
  expect(result).toEqual(gap ? null : after);
});

test("what a patch does not touch stays the same object", () => {
  const before = {
    notices: [1],
    messages: { first: 0, items: [{ parts: [{ text: "a" }] }, { parts: [{ text: "b" }] }] },
  };
  const after = patched(before, [["append", ["messages", 1, "parts", 0, "text"], "c"]])!;
  expect(after.messages.items[0]).toBe(before.messages.items[0]);
  expect(after.notices).toBe(before.notices);
  expect(after.messages.items[1]).not.toBe(before.messages.items[1]);
});

test("keys of the prototype are no path, and none can be made", () => {
  const before = { a: {} };
  for (const key of ["constructor", "__proto__", "toString"]) {
    expect(patched(before, [["set", [key, "polluted"], 1]])).toBeNull();
  }
  expect(patched(before, [["set", ["__proto__"], { polluted: 1 }]])).toBeNull();
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});
