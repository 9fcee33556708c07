import { describe, expect, it } from "vitest";
import { isShown, refresh } from "./output.ts";

const lines = (text: string) => text.split("|");

describe("isShown", () => {
  it.each([
    ["a|b", "a|b", true],
    ["a|b", "a|b|c", false],
    ["a|b|c", "a|b", false],
    ["a|...", "a|b|c", true],
    ["...|c", "a|b|c", true],
    ["...|b", "a|b|c", false],
    ["a|...|c|...", "a|b|c|d", true],
    ["a|...|c|...", "a|b|d", false],
    ["...|b|c|...|e", "a|b|x|b|c|d|e", true],
    ["Took 12 ms, seed 7", "Took 1.5 s, seed 99", true],
    ["Usage: 1 call · p50 0.1 ms,|  p95 136 ms|", "Usage: 1 call · p50 0 ms, p95|  1.7 ms|", true],
    ["Usage: 1 call · p50 0.1 ms,|  p95 136 ms", "Usage: 2 calls · p50 0 ms, p95|  1.7 ms", false],
    ["Record: r/2026-11-22T10-00-00-000", "Record: r/2027-01-01T00-00-00-001", true],
  ])("%s as %s: %s", (shown, printed, expected) => {
    expect(isShown(lines(shown), lines(printed))).toBe(expected);
  });
});

describe("refresh", () => {
  it.each([
    ["a|b", "c", "c"],
    ["a|...|c one|d", "a|b|c two|e", "a|...|c two|e"],
    ["...|found 3 cats|...", "x|found 4 cats|y", "...|found 4 cats|..."],
    ["...|took 12 ms|old", "x|took 13 ms|new", "...|took 12 ms|new"],
    ["a|...", "b|c|d", "b|..."],
  ])("%s after %s is %s", (shown, printed, expected) => {
    expect(refresh(lines(shown), lines(printed))).toEqual(lines(expected));
  });
});
