import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Observation, simulate } from "../../../src/evals/asking/trials/design.ts";
import { check } from "../../../src/evals/experiments/check/design.ts";
import { decideResumed, idsOf, suites, truths } from "./support.ts";

// The verdicts of an independent implementation of the design on 2,000 recorded runs. Its author wrote it from the same
// formulas, without this code; graded-runs.csv holds what it decided on the answers that `planOf` and `recordOf` draw.

/** A number in [0, 1) for these parts. */
function draw(...parts: readonly number[]): number {
  let x = 0x9e3779b9;
  for (const part of parts) {
    x = Math.imul(x ^ part, 0x85ebca6b) >>> 0;
    x ^= x >>> 13;
    x = Math.imul(x, 0xc2b2ae35) >>> 0;
    x ^= x >>> 16;
  }
  return (x >>> 0) / 2 ** 32;
}

const suiteNames = ["MIX5", "M_MIX10", "M_GOOD8", "M_FLAKY8", "MIX10", "ONE", "THREE", "DEAD5", "mixed50"] as const;
const truthNames = ["null", "one", "dead", "all -20", "all -11", "up and down"] as const;
const many = Number.POSITIVE_INFINITY;

function planOf(number: number) {
  const pick = <T>(list: readonly T[], what: number): T => list[Math.floor(draw(number, what) * list.length)] as T;
  return {
    suite: pick(suiteNames, 1),
    truth: pick(truthNames, 2),
    trials: pick([1, 3, 5, 8, 12, 25, 40, 40, 40, 40], 3),
    missing: pick([0, 0, 0, 0, 0.03, 0.1], 4),
    /** The share of failures that select the right tool. */
    half: pick([0, 0.5], 5),
    orders: pick([many, many, many, 1, 2, 6], 6),
    /** One answer for each order, or the same number drawn for three trials in a row. */
    memory: pick(["none", "none", "none", "order", "last"], 7),
    onlySuite: pick([false, false, false, true], 8),
  };
}
type Plan = ReturnType<typeof planOf>;

function recordOf(number: number, { suite, truth, missing, half, orders, memory }: Plan) {
  const rates = [suites[suite], truths[truth](suites[suite])];
  return (id: string, arm: string, trial: number): Observation => {
    const [i, a, t] = [Number(id.slice(5)) - 1, arm === "head" ? 1 : 0, trial - 1];
    if (draw(number, i, a, t, 1) < missing) return "missing";
    const at = memory === "order" ? t % orders : memory === "last" ? Math.floor(t / 3) : t;
    const [rate, u] = [rates[a]?.[i] ?? 0, draw(number, i, a, at, 2)];
    return u < rate ? "pass" : (u - rate) / (1 - rate) < half ? "selected" : "fail";
  };
}

const designOf = (number: number, plan: Plan) =>
  check({
    cases: idsOf(suites[plan.suite]),
    seed: number,
    trials: plan.trials,
    onlySuite: plan.onlySuite,
    requests: () => plan.orders,
    pairsPerOrder: 1,
    withReach: false,
  });

const reasons: Readonly<Record<string, string>> = {
  few: "cap",
  missing: "missing",
  "nothing can fall": "nothing-can-fall",
  "answers repeat": "answers-repeat",
};

const expected = readFileSync(new URL("../../fixtures/method/graded-runs.csv", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => {
    const [number, kind, by, because, trials, calls, fell, rose, p] = line.split(",") as [string, ...string[]];
    return { number: Number(number), kind, by, because, trials: Number(trials), calls: Number(calls), fell, rose, p };
  });

test("agrees with the recorded verdicts of 2,000 runs: kind, cases, look, calls, p of the suite", () => {
  const seen = new Set<string>();
  for (const { number, ...other } of expected) {
    const plan = planOf(number);
    const design = designOf(number, plan);
    const { verdict } = simulate(design, recordOf(number, plan));
    const { calls } = verdict;
    const isExact = verdict.method === "exhausted";
    // The other implementation counts missing answers of a deterministic model in one way only, and as a grade of their own
    // where answers depend on each other.
    if (plan.missing > 0 && (isExact || verdict.dependence)) continue;
    const numbersOf = (cases: readonly { case: string }[]) =>
      cases
        .map((one) => Number(one.case.slice(5)) - 1)
        .toSorted((a, b) => a - b)
        .join(" ");
    const isRed = verdict.kind === "regressed" && !isExact;
    const actual = {
      kind: verdict.kind,
      by: isExact && verdict.kind === "regressed" ? "deterministic" : (verdict.by ?? ""),
      because: verdict.because ?? "",
      trials: verdict.trials,
      // A trial that stays missing is asked three times; the other implementation counts it once.
      calls: calls.base + calls.head - (2 * calls.missing) / 3,
      fell: isRed ? numbersOf(verdict.flagged) : "",
      rose: isRed ? numbersOf(verdict.rose) : "",
    };
    // At the cap, missing answers are told first here.
    const because =
      plan.missing > 0 && verdict.because === "missing" ? "missing" : (reasons[other.because ?? ""] ?? "");
    const fell = isRed && verdict.dependence === undefined ? other.fell : actual.fell;
    const { p: _, ...rest } = other;
    expect(actual, `${number} ${JSON.stringify(plan)}`).toEqual({ ...rest, because, fell });
    expect(verdict.suite.p, `${number}`).toBeCloseTo(Number(other.p), 8);
    seen.add([verdict.kind, actual.by, actual.because].join(" "));
  }
  const reasonsSeen = ["answers-repeat", "cap", "missing", "nothing-can-fall"].map(
    (because) => `inconclusive  ${because}`,
  );
  const dropped = ["cases", "deterministic", "suite"].map((by) => `regressed ${by} `);
  expect([...seen].sort()).toEqual(["changed  ", ...reasonsSeen, "no-regression  ", ...dropped]);
});

test("a run resumed from the record at every step decides the same", () => {
  for (const { number } of expected.slice(0, 80)) {
    const plan = planOf(number);
    if (plan.suite === "mixed50") continue;
    const [design, answer] = [designOf(number, plan), recordOf(number, plan)];
    expect(decideResumed(design, answer)).toEqual(simulate(design, answer).verdict);
  }
});
