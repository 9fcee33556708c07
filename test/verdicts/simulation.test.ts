import { describe, expect, it } from "vitest";
import { deriveSeed, seededRandom } from "../../src/evals/stats/random.ts";
import { anytime } from "../../src/evals/verdicts/anytime.ts";
import { independent, simulate } from "../../src/evals/verdicts/calibrate.ts";
import type { Design } from "../../src/evals/verdicts/design.ts";
import type { RegressionVerdict } from "../../src/evals/verdicts/regression.ts";
import { screen } from "../../src/evals/verdicts/screen.ts";
import { thorough } from "../../src/evals/verdicts/thorough.ts";
import { idsOf, suites } from "./support.ts";

// A slice of the full simulation: fixed seeds, so a failure is a change of the code and never bad luck. The bounds leave
// three standard errors of so few repetitions; the figures themselves come from the bench.
const repetitions = 90;
type Name = keyof typeof suites;
type Make = (
  ids: readonly string[],
  draw: (rate: number) => { passed: number; trials: number },
  rates: readonly number[],
) => Design<RegressionVerdict>;

const designs: Record<string, Make> = {
  thorough: (ids) => thorough(ids),
  screen: (ids, draw, rates) => screen(ids, new Map(ids.map((id, i) => [id, draw(rates[i] ?? 0)]))),
  anytime: (ids) => anytime(ids),
};

/** The share of "regressed", and the mean calls against 20 + 20 trials per case. */
function play(
  design: string,
  suite: Name,
  head: readonly number[],
  now: readonly number[] = suites[suite],
  times = repetitions,
) {
  const banked = suites[suite];
  const ids = idsOf(banked);
  let [regressed, calls] = [0, 0];
  for (let r = 0; r < times; r++) {
    const random = seededRandom(deriveSeed(2, design, suite, r));
    const draw = (rate: number) => ({
      passed: Array.from({ length: 20 }, () => random.next() < rate).filter(Boolean).length,
      trials: 20,
    });
    const model = independent((id, arm) => (arm === "head" ? head : now)[ids.indexOf(id)] ?? 0, random);
    const played = simulate(designs[design]?.(ids, draw, banked) ?? thorough(ids), model);
    if (played.verdict.kind === "regressed") regressed++;
    calls += played.calls;
  }
  return { regressed: regressed / times, calls: calls / times / (40 * ids.length) };
}

const names = Object.keys(suites) as Name[];
const broken = (rates: readonly number[]) => rates.with(rates.indexOf(0.95), 0.3);

describe("when nothing changed", () => {
  it.each(names)("thorough alarms on %s within 5 %", (suite) => {
    expect(play("thorough", suite, suites[suite]).regressed).toBeLessThan(0.1);
  });

  it.each(names)("screen alarms on %s within 5 %, for a third of the calls", (suite) => {
    const { regressed, calls } = play("screen", suite, suites[suite]);
    expect(regressed).toBeLessThan(0.1);
    expect(calls).toBeLessThan(0.37);
  });

  it("anytime alarms within 5 %", () => {
    expect(play("anytime", "MIX10", suites.MIX10, suites.MIX10, 25).regressed).toBeLessThanOrEqual(0.08);
  });

  it.each(names)("screen blames a worse model, not the wording, on %s", (suite) => {
    const now = suites[suite].map((rate) => Math.max(0, rate - 0.1));
    expect(play("screen", suite, now, now).regressed).toBeLessThan(0.12);
  });
});

describe("when something changed", () => {
  it.each(names)("one broken case of %s is caught", (suite) => {
    expect(play("thorough", suite, broken(suites[suite])).regressed).toBeGreaterThan(0.93);
    expect(play("screen", suite, broken(suites[suite])).regressed).toBeGreaterThan(0.9);
  });

  it.each(names)("20 points less in all cases of %s are caught", (suite) => {
    const head = suites[suite].map((rate) => Math.max(0, rate - 0.2));
    expect(play("thorough", suite, head).regressed).toBeGreaterThan(0.92);
  });
});
