import { describe, expect, it } from "vitest";
import { simulate } from "../../../src/evals/asking/trials/design.ts";
import { seededRandom } from "../../../src/evals/base/stats/random.ts";
import {
  calibrate,
  correlated,
  estimateCorrelation,
  independent,
} from "../../../src/evals/experiments/calibrate/verdict.ts";
import { idsOf, suites } from "../results/support.ts";

const rates = suites.FLAKY8;
const ids = idsOf(rates);
const rateOf = (id: string) => rates[ids.indexOf(id)] ?? 0;
const setup = { cases: ids, trials: 10, seed: 1, repetitions: 60 };

describe("calibrate", () => {
  it("prints the noise floor, the level and the trials that drops need, the same for the same seed", () => {
    const run = () =>
      simulate(
        calibrate(setup, () => new Map([["case 1", ["x", "y", "x"]]])),
        independent(rateOf, seededRandom(3)),
      ).verdict;
    const first = run();
    expect(run()).toEqual(first);
    expect(first.noise.floor).toBeGreaterThan(0.08);
    expect(first.noise.floor).toBeLessThan(0.18);
    expect(first.level.independent).toBeLessThan(0.12);
    expect(first.duplicates).toEqual({ share: 1 / 3, oneTrialSuffices: false });
    const [ten, twenty] = first.detect;
    expect(twenty).toMatchObject({ kind: "reachable", drop: 0.2 });
    expect(ten?.kind === "beyond" || (ten?.trials ?? 0) > (twenty?.kind === "reachable" ? twenty.trials : 0)).toBe(
      true,
    );
  });

  it("advises one trial when every reply of every case is the same", () => {
    const replies = new Map(ids.map((id) => [id, ["same", "same", "same"]]));
    const verdict = simulate(
      calibrate(setup, () => replies),
      (id) => (rateOf(id) > 0.5 ? "pass" : "fail"),
    ).verdict;
    expect(verdict.duplicates).toEqual({ share: 1, oneTrialSuffices: true });
    expect(verdict.correlation).toEqual({
      kind: "undefined",
      why: "every case always passed or always failed, so nothing varied",
    });
  });

  it("does not take silence for duplicates", () => {
    expect(
      simulate(
        calibrate(setup, () => new Map()),
        independent(rateOf, seededRandom(3)),
      ).verdict.duplicates.oneTrialSuffices,
    ).toBe(false);
  });
});

describe("correlation", () => {
  const many = Array.from({ length: 400 }, (_, i) => String(i));
  const countsOf = (icc: number) => {
    const random = seededRandom(11);
    const answer = icc > 0 ? correlated(() => 0.6, icc, random) : independent(() => 0.6, random);
    const arm = (id: string, name: string) => {
      const passed = Array.from({ length: 10 }, (_, t) => Number(answer(id, name, t + 1) === "pass")).reduce(
        (a, b) => a + b,
        0,
      );
      return { passed, trials: 10 };
    };
    return many.map((id) => ({ base: arm(id, "base"), head: arm(id, "head") }));
  };

  it("finds the correlation that is there, and none where there is none", () => {
    const none = estimateCorrelation(countsOf(0));
    expect(none.kind === "estimated" && none.designEffectInterval[0] < 1 && none.designEffectInterval[1] > 1).toBe(
      true,
    );
    const some = estimateCorrelation(countsOf(0.2));
    expect(some.kind === "estimated" && some.icc).toBeCloseTo(0.2, 1);
  });
});
