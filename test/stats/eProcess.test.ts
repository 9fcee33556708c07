import { describe, expect, test } from "vitest";
import { addBlock, type BettingBlock, type EProcess, evidence, startEProcess } from "../../src/evals/stats/eProcess.ts";
import { seededRandom } from "../../src/evals/stats/random.ts";

const outcomes: BettingBlock[] = [
  { base: true, head: true },
  { base: true, head: false },
  { base: false, head: true },
  { base: false, head: false },
];
const feed = (state: EProcess, caseIndex: number, block: BettingBlock, n: number) =>
  Array.from({ length: n }).reduce<EProcess>((now) => addBlock(now, caseIndex, block), state);

/** The mean of `read` over every outcome of `blocks` blocks dealt to the cases in turn, at these rates. */
function mean(rates: readonly { base: number; head: number }[], blocks: number, read: (state: EProcess) => number) {
  const walk = (state: EProcess, left: number): number => {
    if (left === 0) return read(state);
    const at = left % rates.length;
    const { base, head } = rates[at] ?? { base: 0, head: 0 };
    return outcomes.reduce((sum, block) => {
      const chance = (block.base ? base : 1 - base) * (block.head ? head : 1 - head);
      return chance === 0 ? sum : sum + chance * walk(addBlock(state, at, block), left - 1);
    }, 0);
  };
  return walk(startEProcess(rates.length), blocks);
}

describe("the e-process", () => {
  test("its mean is at most 1 when no case dropped, by enumeration of every course", () => {
    for (const rate of [0, 0.03, 0.3, 0.5, 0.8, 0.97, 1])
      for (const gain of [0, 0.2]) {
        const same = { base: rate, head: Math.min(1, rate + gain) };
        const value = mean([same, { base: 0.9, head: 0.9 }], 6, (state) => evidence(state, 0.05).value);
        expect(value).toBeLessThanOrEqual(1 + 1e-12);
        const ofCase = mean([same], 5, (state) => evidence(state, 0.05).caseValues[0] ?? Number.NaN);
        expect(ofCase).toBeLessThanOrEqual(1 + 1e-12);
      }
  });

  test("starts at 1, and learns nothing from an empty suite", () => {
    const fresh = evidence(startEProcess(2), 0.05);
    expect(fresh).toEqual({
      value: expect.closeTo(1, 12),
      regressed: false,
      caseValues: [expect.closeTo(1, 12), expect.closeTo(1, 12)],
      flagged: [],
    });
    expect(evidence(startEProcess(0), 0.05)).toEqual({ value: 1, regressed: false, caseValues: [], flagged: [] });
  });

  test("a case that breaks outright is flagged, and it alone", () => {
    let state = startEProcess(5);
    for (let i = 0; i < 5; i++) state = feed(state, i, { base: true, head: i !== 3 }, 10);
    expect(evidence(state, 0.05)).toMatchObject({ regressed: true, flagged: [3] });
  });

  test("cases that drop together add up, though none is flagged by itself", () => {
    let state = startEProcess(20);
    for (let i = 0; i < 20; i++) {
      state = feed(state, i, { base: true, head: true }, 3);
      state = feed(state, i, { base: true, head: false }, 2);
    }
    expect(evidence(state, 0.05)).toMatchObject({ regressed: true, flagged: [] });
  });

  test("a repair is no evidence of a drop", () => {
    expect(evidence(feed(startEProcess(1), 0, { base: false, head: true }, 30), 0.05).value).toBeLessThan(0.5);
  });

  test("the state before is left as it was", () => {
    const before = startEProcess(1);
    const copy = structuredClone(before);
    addBlock(before, 0, { base: true, head: false });
    expect(before).toEqual(copy);
  });

  test("an unchanged suite watched over 40 rounds is called in at most 5 % of 400 runs", () => {
    const random = seededRandom(20260101);
    const rates = [0.5, 0.8, 0.95, 0.3];
    const called = Array.from({ length: 400 }).filter(() => {
      let state = startEProcess(rates.length);
      for (let round = 0; round < 40; round++) {
        for (const [i, rate] of rates.entries())
          state = addBlock(state, i, { base: random.next() < rate, head: random.next() < rate });
        if (evidence(state, 0.05).regressed) return true;
      }
      return false;
    }).length;
    expect(called).toBeLessThanOrEqual(20);
  });

  test("a case that is not there is refused", () => {
    expect(() => addBlock(startEProcess(1), 1, { base: true, head: true })).toThrow(
      new RangeError("no case 1: the e-process has 1 cases"),
    );
  });
});
