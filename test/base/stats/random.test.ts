import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deriveSeed, drawBeta, drawNormal, seededRandom, shuffle } from "../../../src/evals/base/stats/random.ts";

const draw = (seed: number, n: number) => {
  const random = seededRandom(seed);
  return Array.from({ length: n }, random.next);
};
/** The 99.9 % point of chi-square, by Wilson and Hilferty's approximation. */
const limit = (df: number) => df * (1 - 2 / (9 * df) + 3.0902 * Math.sqrt(2 / (9 * df))) ** 3;
const chiSquare = (counts: readonly number[]) => {
  const expected = counts.reduce((a, b) => a + b, 0) / counts.length;
  return counts.reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
};

describe("the generator", () => {
  test("the same seed gives the same numbers, on every machine and in every version", () => {
    expect(
      Array.from({ length: 4 }, () => 0).map((_, i) => Math.floor((draw(42, 4)[i] ?? 0) * 2 ** 32)),
    ).toMatchInlineSnapshot(`
      [
        1251167922,
        656401615,
        478193053,
        3278332503,
      ]
    `);
    expect(draw(7, 100)).toEqual(draw(7, 100));
  });

  test("different seeds differ, beyond 32 bits and below 0 too", () => {
    const seeds = [0, 1, 2, -1, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
    expect(new Set(seeds.map((seed) => draw(seed, 2).join())).size).toBe(seeds.length);
  });

  test("numbers are in [0, 1) and evenly spread", () => {
    const bins = Array.from({ length: 20 }, () => 0);
    for (const x of draw(1, 20_000)) {
      expect(x >= 0 && x < 1).toBe(true);
      const bin = Math.floor(x * 20);
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
    expect(chiSquare(bins)).toBeLessThan(limit(19));
  });

  test("integers below n are evenly spread", () => {
    const random = seededRandom(3);
    const counts = Array.from({ length: 7 }, () => 0);
    for (let i = 0; i < 14_000; i++) {
      const k = random.below(7);
      counts[k] = (counts[k] ?? 0) + 1;
    }
    expect(counts).toHaveLength(7);
    expect(chiSquare(counts)).toBeLessThan(limit(6));
  });
});

describe("derived seeds", () => {
  test("are stable", () => {
    expect([deriveSeed(0), deriveSeed(42, "order", "case-1", 3), deriveSeed(42, "é")]).toMatchInlineSnapshot(`
      [
        1896170017,
        1444202916,
        627538358,
      ]
    `);
  });

  test("are words, and differ wherever the parts do", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.array(fc.oneof(fc.string(), fc.integer())), (seed, parts) => {
        const derived = deriveSeed(seed, ...parts);
        expect(Number.isInteger(derived) && derived >= 0 && derived < 2 ** 32).toBe(true);
        expect(deriveSeed(seed, ...parts)).toBe(derived);
      }),
    );
    const alike = [deriveSeed(1, "ab", "c"), deriveSeed(1, "a", "bc"), deriveSeed(1, "abc"), deriveSeed(1, "1")];
    expect(new Set([...alike, deriveSeed(1, 1), deriveSeed(11), deriveSeed(1)]).size).toBe(7);
  });

  test("consecutive trials get unrelated streams", () => {
    const bins = Array.from({ length: 16 }, () => 0);
    for (let trial = 1; trial <= 8000; trial++) {
      const bin = seededRandom(deriveSeed(5, "case", trial)).below(16);
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
    expect(chiSquare(bins)).toBeLessThan(limit(15));
  });
});

describe("shuffle", () => {
  test("keeps the items and leaves the input alone", () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.nat(), (items, seed) => {
        const copy = [...items];
        const shuffled = shuffle(items, seededRandom(seed));
        expect(items).toEqual(copy);
        expect(shuffled.toSorted((a, b) => a - b)).toEqual(items.toSorted((a, b) => a - b));
        expect(shuffle(items, seededRandom(seed))).toEqual(shuffled);
      }),
    );
  });

  test("every order of four items is equally likely", () => {
    const random = seededRandom(11);
    const orders = new Map<string, number>();
    for (let i = 0; i < 12_000; i++) {
      const order = shuffle(["a", "b", "c", "d"], random).join("");
      orders.set(order, (orders.get(order) ?? 0) + 1);
    }
    expect(orders.size).toBe(24);
    expect(chiSquare([...orders.values()])).toBeLessThan(limit(23));
  });
});

test("draws have the moments of their distributions", () => {
  const random = seededRandom(5);
  const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  for (const [a, b] of [
    [0.5, 0.5],
    [0.5, 20.5],
    [3, 2],
    [40, 10],
  ] as const) {
    const draws = Array.from({ length: 20_000 }, () => drawBeta(a, b, random));
    const variance = (a * b) / ((a + b) ** 2 * (a + b + 1));
    expect(Math.abs(mean(draws) - a / (a + b))).toBeLessThan(4 * Math.sqrt(variance / draws.length));
    expect(mean(draws.map((x) => (x - a / (a + b)) ** 2)) / variance).toBeCloseTo(1, 1);
  }
  const normals = Array.from({ length: 20_000 }, () => drawNormal(random));
  expect(Math.abs(mean(normals))).toBeLessThan(0.03);
  expect(mean(normals.map((x) => x * x))).toBeCloseTo(1, 1);
});
