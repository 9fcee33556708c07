import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { groupBy, schedule } from "../../src/evals/base/collections.ts";

it("groups items by key, in the order of first occurrence", () => {
  const groups = groupBy(["cat", "horse", "dog", "mouse"], (word) => String(word.length));
  expect([...groups]).toEqual([
    ["3", ["cat", "dog"]],
    ["5", ["horse", "mouse"]],
  ]);
});

const never = new AbortController().signal;

describe("schedule", () => {
  it("processes every item once, and at most `concurrency` at a time", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(5), { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        async (delays, concurrency) => {
          let running = 0;
          let most = 0;
          const seen: number[] = [];
          await schedule(delays.keys(), concurrency, never, async (index) => {
            most = Math.max(most, ++running);
            for (let tick = 0; tick < (delays[index] ?? 0); tick++) await Promise.resolve();
            seen.push(index);
            running--;
          });
          expect(seen.sort((a, b) => a - b)).toEqual([...delays.keys()]);
          expect(most).toBeLessThanOrEqual(concurrency);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("takes the next item only when a slot is free", async () => {
    let drawn = 0;
    function* items() {
      for (;;) yield ++drawn;
    }
    const stop = new AbortController();
    await schedule(items(), 3, stop.signal, async (item) => {
      expect(drawn - item).toBeLessThan(3);
      if (item === 100) stop.abort();
    });
    expect(drawn).toBeLessThan(104);
  });

  it("takes no item after an abort, and waits for in-flight work", async () => {
    const stop = new AbortController();
    const ended: number[] = [];
    await schedule([1, 2, 3, 4, 5], 2, stop.signal, async (item) => {
      if (item === 2) stop.abort();
      await Promise.resolve();
      ended.push(item);
    });
    expect(ended).toEqual([1, 2]);
  });

  it("rejects with the first error once the others have ended", async () => {
    const ended: number[] = [];
    const work = async (item: number) => {
      if (item === 1) throw new Error("one");
      await Promise.resolve();
      ended.push(item);
    };
    await expect(schedule([1, 2, 3, 4], 2, never, work)).rejects.toThrow("one");
    expect(ended).toEqual([2]);
  });
});
