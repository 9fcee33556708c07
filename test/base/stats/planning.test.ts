import { describe, expect, test } from "vitest";
import { holm, isSignificant } from "../../../src/evals/base/stats/hypothesisTests.ts";

describe("significance", () => {
  test("forgives rounding and nothing more", () => {
    expect(isSignificant(0.1 + 0.2, 0.3)).toBe(true);
    expect(isSignificant(0.05, 0.05)).toBe(true);
    expect(isSignificant(0.050001, 0.05)).toBe(false);
  });
});

describe("Holm", () => {
  test("the example of three, in the order given", () => {
    expect(holm([0.03, 0.01, 0.04])).toEqual([0.06, 0.03, 0.06]);
    expect(holm([0.5, 0.6])).toEqual([1, 1]);
    expect(holm([0.02])).toEqual([0.02]);
    expect(holm([])).toEqual([]);
  });
});
