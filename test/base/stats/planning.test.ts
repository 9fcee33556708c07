import { describe, expect, test } from "vitest";
import { isSignificant } from "../../../src/evals/base/stats/hypothesisTests.ts";

describe("significance", () => {
  test("forgives rounding and nothing more", () => {
    expect(isSignificant(0.1 + 0.2, 0.3)).toBe(true);
    expect(isSignificant(0.05, 0.05)).toBe(true);
    expect(isSignificant(0.050001, 0.05)).toBe(false);
  });
});
