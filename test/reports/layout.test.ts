import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { columns, cut, narrowed, wrap } from "../../src/evals/reports/layout.ts";

const text = fc.string({ unit: "grapheme" });

describe("columns", () => {
  it.each([
    ["abc", 3],
    ["日本", 4],
    ["🎉", 2],
    ["e\u0301", 1],
    ["✓ ≥", 3],
  ])("of %s", (shown, width) => expect(columns(shown)).toBe(width));
});

describe("cut", () => {
  it("keeps what fits and marks what does not", () => {
    expect([cut("abcdef", 6, "…"), cut("abcdef", 5, "…"), cut("日本語", 4, "…"), cut("abcdef", 2, "...")]).toEqual([
      "abcdef",
      "abcd…",
      "日…",
      "..",
    ]);
  });

  it("is never wider than asked", () => {
    fc.assert(
      fc.property(text, fc.nat(40), (raw, width) => {
        expect(columns(cut(raw, width, "…"))).toBeLessThanOrEqual(width);
      }),
    );
  });
});

describe("wrap", () => {
  it("breaks at spaces, and inside a word only where it must", () => {
    expect(wrap("one two abcdefghij k", 7)).toEqual(["one two", "abcdefg", "hij k"]);
  });

  it("fits, and loses nothing but the spaces at the breaks", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 40 }), (raw, width) => {
        const lines = wrap(raw, width);
        for (const line of lines) expect(columns(line)).toBeLessThanOrEqual(width);
        expect(lines.join("").replaceAll(" ", "")).toBe(raw.replaceAll(" ", ""));
      }),
    );
  });
});

describe("narrowed", () => {
  it("takes from the widest first", () => {
    expect(narrowed([30, 10, 12], 40, 6)).toEqual([18, 10, 12]);
    expect(narrowed([30, 10, 12], 30, 6)).toEqual([10, 10, 10]);
    expect(narrowed([5, 5], 40, 6)).toEqual([5, 5]);
    expect(narrowed([30, 30], 3, 6)).toEqual([6, 6]);
  });
});
