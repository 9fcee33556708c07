import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cut, displayWidth, narrowColumns, wrap } from "../../src/evals/types/columns.ts";

const text = fc.string({ unit: "grapheme" });

describe("columns", () => {
  it.each([
    ["abc", 3],
    ["日本", 4],
    ["🎉", 2],
    ["e\u0301", 1],
    ["✓ ≥", 3],
  ])("of %s", (shown, width) => expect(displayWidth(shown)).toBe(width));
});

describe("cut", () => {
  it("keeps text that fits and marks the cut", () => {
    expect([cut("abcdef", 6, "…"), cut("abcdef", 5, "…"), cut("日本語", 4, "…"), cut("abcdef", 2, "...")]).toEqual([
      "abcdef",
      "abcd…",
      "日…",
      "..",
    ]);
  });

  it("never exceeds the width", () => {
    fc.assert(
      fc.property(text, fc.nat(40), (raw, width) => {
        expect(displayWidth(cut(raw, width, "…"))).toBeLessThanOrEqual(width);
      }),
    );
  });
});

describe("wrap", () => {
  it("breaks at spaces, and inside a word only if it must", () => {
    expect(wrap("one two abcdefghij k", 7)).toEqual(["one two", "abcdefg", "hij k"]);
  });

  it("fits, and drops only the spaces at line breaks", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 40 }), (raw, width) => {
        const lines = wrap(raw, width);
        for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
        expect(lines.join("").replaceAll(" ", "")).toBe(raw.replaceAll(" ", ""));
      }),
    );
  });
});

describe("narrowed", () => {
  it("narrows the widest columns first", () => {
    expect(narrowColumns([30, 10, 12], 40, 6)).toEqual([18, 10, 12]);
    expect(narrowColumns([30, 10, 12], 30, 6)).toEqual([10, 10, 10]);
    expect(narrowColumns([5, 5], 40, 6)).toEqual([5, 5]);
    expect(narrowColumns([30, 30], 3, 6)).toEqual([6, 6]);
  });
});
