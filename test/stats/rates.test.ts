import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Counts } from "../../src/evals/stats/counts.ts";
import { passAtK, passHatK } from "../../src/evals/stats/counts.ts";
import { clopperPearson, clopperPearsonLower, wilson } from "../../src/evals/stats/intervals.ts";
import { anyCounts, choose, quotient } from "./support.ts";

/** P(X >= passed) at this rate, summed up. */
const atLeast = ({ passed, trials }: Counts, rate: number) => {
  let tail = 0;
  for (let x = passed; x <= trials; x++) tail += Number(choose(trials, x)) * rate ** x * (1 - rate) ** (trials - x);
  return tail;
};

describe("Wilson", () => {
  test("known values", () => {
    expect(wilson({ passed: 8, trials: 10 })).toEqual([expect.closeTo(0.4901624, 6), expect.closeTo(0.9433178, 6)]);
    expect(wilson({ passed: 10, trials: 10 })).toEqual([expect.closeTo(0.7224672, 6), 1]);
    expect(wilson({ passed: 0, trials: 10 })).toEqual([0, expect.closeTo(0.2775328, 6)]);
    expect(wilson({ passed: 0, trials: 0 })).toBeUndefined();
  });

  test("lies within [0, 1] and holds the rate; its ends are where the score test just accepts", () => {
    fc.assert(
      fc.property(anyCounts(1, 200), fc.constantFrom(0.8, 0.95, 0.99), (counts, confidence) => {
        const [low, high] = wilson(counts, confidence) ?? [1, 0];
        const rate = counts.passed / counts.trials;
        expect(0 <= low && low <= rate && rate <= high && high <= 1 && low < high).toBe(true);
        const standardised = (p: number) => Math.abs(rate - p) / Math.sqrt((p * (1 - p)) / counts.trials);
        if (low > 0 && high < 1) expect(standardised(low)).toBeCloseTo(standardised(high), 6);
      }),
    );
  });

  test("takes a mean rate over cases", () => {
    const [z2, n, rate] = [1.959964 ** 2, 10, 0.75];
    const half = Math.sqrt((rate * (1 - rate)) / n + z2 / (4 * n * n)) * Math.sqrt(z2);
    const ends = [-half, half].map((side) => expect.closeTo((rate + z2 / (2 * n) + side) / (1 + z2 / n), 6));
    expect(wilson({ passed: 7.5, trials: 10 })).toEqual(ends);
  });
});

describe("Clopper-Pearson", () => {
  test("its ends are the rates at which so many or so few passes have half the error each", () => {
    fc.assert(
      fc.property(anyCounts(1, 40), (counts) => {
        const [low, high] = clopperPearson(counts);
        const failed = { passed: counts.trials - counts.passed, trials: counts.trials };
        if (counts.passed > 0) expect(atLeast(counts, low)).toBeCloseTo(0.025, 5);
        else expect(low).toBe(0);
        if (failed.passed > 0) expect(atLeast(failed, 1 - high)).toBeCloseTo(0.025, 5);
        else expect(high).toBe(1);
      }),
    );
  });

  test("one-sided gate: 59 of 59 shows at least 95 %, 58 of 58 does not", () => {
    expect(clopperPearsonLower({ passed: 59, trials: 59 })).toBeGreaterThan(0.95);
    expect(clopperPearsonLower({ passed: 58, trials: 58 })).toBeLessThan(0.95);
  });

  test("without trials everything is possible", () => {
    expect(clopperPearson({ passed: 0, trials: 0 })).toEqual([0, 1]);
  });
});

describe("pass@k and pass^k", () => {
  test("equal the quotients of binomial coefficients", () => {
    fc.assert(
      fc.property(anyCounts(1, 40), fc.integer({ min: 1, max: 40 }), ({ passed, trials }, k) => {
        fc.pre(k <= trials);
        const ways = choose(trials, k);
        expect(passHatK({ passed, trials }, k)).toBeCloseTo(quotient(choose(passed, k), ways), 12);
        expect(passAtK({ passed, trials }, k)).toBeCloseTo(1 - quotient(choose(trials - passed, k), ways), 12);
      }),
    );
  });

  test("are not defined beyond the trials that were made", () => {
    expect(passHatK({ passed: 2, trials: 3 }, 4)).toBeUndefined();
    expect(passAtK({ passed: 2, trials: 3 }, 4)).toBeUndefined();
    expect(passAtK({ passed: 0, trials: 0 }, 1)).toBeUndefined();
    expect(passHatK({ passed: 2, trials: 3 }, 0)).toBeUndefined();
  });

  test("reproduce the published pass^k of 50 recorded airline tasks", () => {
    const row = z.object({ task_id: z.number(), reward: z.number() });
    const file = new URL("../fixtures/taubench/gpt4o_airline_trials.jsonl", import.meta.url);
    const rows = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => row.parse(JSON.parse(line)));
    const tasks = new Map<number, Counts>();
    for (const { task_id, reward } of rows) {
      const { passed, trials } = tasks.get(task_id) ?? { passed: 0, trials: 0 };
      tasks.set(task_id, { passed: passed + Number(Math.abs(reward - 1) < 1e-6), trials: trials + 1 });
    }
    const mean = (k: number) => [...tasks.values()].reduce((sum, one) => sum + (passHatK(one, k) ?? 0), 0) / tasks.size;
    expect(tasks.size).toBe(50);
    expect([1, 2, 3, 4].map((k) => mean(k).toFixed(4))).toEqual(["0.4200", "0.2733", "0.2200", "0.2000"]);
  });
});
