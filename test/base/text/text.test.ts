import { expect, it } from "vitest";
import { describeHidden, findHidden, hiddenRanges } from "../../../src/evals/base/text/text.ts";

it("finds and names the hidden characters from the first to the last of each range", () => {
  for (const { from, to, what } of hiddenRanges)
    for (const code of [from, to]) {
      expect([...findHidden(`a${String.fromCodePoint(code)}`)]).toEqual([{ code, index: 1 }]);
      expect(describeHidden(code)).toMatch(/^U\+[0-9A-F]{4,5} \(/);
      expect(describeHidden(code)).toContain(`(${what})`);
    }
  expect(describeHidden(0x200b)).toBe("U+200B (zero-width characters and direction marks)");
  expect(describeHidden(0x07)).toBe("U+0007 (control characters)");
});

it("names a character outside of all ranges without a kind", () => {
  for (const { from, to } of hiddenRanges)
    for (const code of [from - 1, to + 1].filter((one) => one >= 0 && one !== 0x09 && one !== 0x0a))
      if (!hiddenRanges.some((range) => range.from <= code && code <= range.to))
        expect(describeHidden(code)).toContain("(hidden characters)");
});
