import { describe, expect, it } from "vitest";
import { type Prices, pricesSchema, priceUsage } from "../../../src/evals/base/types/endpoint.ts";

const million = { inputTokens: 1e6, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
const mixed = { inputTokens: 1000, outputTokens: 100, cacheReadTokens: 10_000, cacheWriteTokens: 2000 };

describe("list prices", () => {
  it.each([
    ["claude-fable-5-1", 10],
    ["claude-opus-5-5", 4],
    ["claude-opus-5-5-20261001", 4],
    ["claude-opus-5-5@20261001", 4],
    ["claude-sonnet-5-5-latest", 2],
  ])("%s: a million input tokens for $%d", (model, dollars) => {
    expect(priceUsage(million, model)).toBe(dollars);
  });

  it.each(["gpt-5", "claude-opus-5-5-mini", "claude-opus-5", "my-claude-opus-5-5", ""])("%s: unknown", (model) => {
    expect(priceUsage(million, model)).toBe("unknown");
  });

  it("reads of the cache are a tenth of input, writes a quarter more", () => {
    const expected = (1000 * 4 + 100 * 20 + 10_000 * 0.4 + 2000 * 5) / 1e6;
    expect(priceUsage(mixed, "claude-opus-5-5")).toBeCloseTo(expected, 12);
  });

  it("a long prompt has its own price, cached tokens counted", () => {
    const short = { inputTokens: 100_000, outputTokens: 1000, cacheReadTokens: 0, cacheWriteTokens: 0 };
    expect(priceUsage(short, "claude-haiku-5-5")).toBeCloseTo(0.0105, 12);
    const long = { ...short, cacheReadTokens: 1000 };
    expect(priceUsage(long, "claude-haiku-5-5")).toBeCloseTo(0.05 + 0.00005 + 0.0025, 12);
  });
});

describe("prices of batches", () => {
  it("are half of all prices, those of cached tokens and long prompts too", () => {
    expect(priceUsage(mixed, "claude-opus-5-5", {}, "batch")).toBeCloseTo(
      Number(priceUsage(mixed, "claude-opus-5-5")) / 2,
      12,
    );
    const long = { inputTokens: 200_000, outputTokens: 1000, cacheReadTokens: 0, cacheWriteTokens: 0 };
    expect(priceUsage(long, "claude-haiku-5-5", {}, "batch")).toBeCloseTo((0.1 + 0.0025) / 2, 12);
    expect(priceUsage(long, "gpt-5", {}, "batch")).toBe("unknown");
  });

  it("are the share that a price list names", () => {
    const own: Prices = { a: { input: 1, output: 2, batch: 0.25 }, b: { input: 1, output: 2, batch: 0 } };
    expect(priceUsage(million, "a", own, "batch")).toBe(0.25);
    expect(priceUsage(million, "a", own)).toBe(1);
    expect(priceUsage(million, "b", own, "batch")).toBe(0);
    expect(pricesSchema.safeParse({ a: { input: 1, output: 2, batch: 2 } }).success).toBe(false);
  });
});

describe("prices of one's own", () => {
  const own: Prices = {
    "claude-opus-5-5": { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 },
    free: { input: 0, output: 0 },
  };

  it("come before the list", () => {
    expect(priceUsage(mixed, "claude-opus-5-5", own)).toBeCloseTo((1000 + 200 + 30_000 + 8000) / 1e6, 12);
    expect(priceUsage(mixed, "free", own)).toBe(0);
    expect(priceUsage(million, "claude-sonnet-5-5", own)).toBe(2);
  });

  it("are checked", () => {
    expect(pricesSchema.safeParse(own).success).toBe(true);
    expect(pricesSchema.safeParse({ x: { input: -1, output: 1 } }).success).toBe(false);
    expect(pricesSchema.safeParse({ x: { input: 1, output: 1, inputs: 1 } }).success).toBe(false);
  });
});
