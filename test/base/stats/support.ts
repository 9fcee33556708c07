import * as fc from "fast-check";
import type { CaseCounts } from "../../../src/evals/base/stats/counts.ts";

/** Cases with the same trials in both arms, from pairs [base passes, head passes]. */
export function paired(trials: number, ...passes: readonly (readonly [number, number])[]): CaseCounts[] {
  return passes.map(([base, head]) => ({ base: { passed: base, trials }, head: { passed: head, trials } }));
}

/** The same case n times. */
export function times(n: number, one: CaseCounts): CaseCounts[] {
  return Array.from({ length: n }, () => one);
}

/** The worked example that the golden values belong to. */
export const example = paired(10, [10, 6], [9, 8], [5, 5], [10, 10], [0, 1]);

export const anyCounts = (leastTrials: number, mostTrials: number) =>
  fc
    .integer({ min: leastTrials, max: mostTrials })
    .chain((trials) => fc.record({ passed: fc.integer({ min: 0, max: trials }), trials: fc.constant(trials) }));

export const anyCases = (mostCases: number, mostTrials: number, leastTrials = 1) =>
  fc.array(fc.record({ base: anyCounts(leastTrials, mostTrials), head: anyCounts(leastTrials, mostTrials) }), {
    minLength: 1,
    maxLength: mostCases,
  });

/** C(n, k), exactly. */
export function choose(n: number, k: number): bigint {
  if (k < 0 || k > n) return 0n;
  let ways = 1n;
  for (let i = 0; i < k; i++) ways = (ways * BigInt(n - i)) / BigInt(i + 1);
  return ways;
}

/** A quotient of big integers as a number, to 18 digits below its leading one. */
export function quotient(a: bigint, b: bigint): number {
  if (a === 0n) return 0;
  const digits = Math.max(0, b.toString().length - a.toString().length) + 18;
  return Number(`${(a * 10n ** BigInt(digits)) / b}e-${digits}`);
}

/** One way that every case could have come out with the same totals, and in how many ways of dealing the passes. */
export type Reshuffled = { cases: CaseCounts[]; ways: bigint };

/** All outcomes with the same totals per case: what an exact conditional test sums over, by plain enumeration. */
export function reshuffles(cases: readonly CaseCounts[]): Reshuffled[] {
  return cases.reduce<Reshuffled[]>(
    (found, { base, head }) => found.flatMap((sofar) => dealings(base, head).map((next) => joined(sofar, next))),
    [{ cases: [], ways: 1n }],
  );
}

function dealings(base: CaseCounts["base"], head: CaseCounts["head"]): { one: CaseCounts; ways: bigint }[] {
  const total = base.passed + head.passed;
  return Array.from({ length: total + 1 }, (_, y) => ({
    one: { base: { ...base, passed: total - y }, head: { ...head, passed: y } },
    ways: choose(head.trials, y) * choose(base.trials, total - y),
  })).filter(({ ways }) => ways > 0n);
}

function joined(sofar: Reshuffled, next: { one: CaseCounts; ways: bigint }): Reshuffled {
  return { cases: [...sofar.cases, next.one], ways: sofar.ways * next.ways };
}

/** The exact chance of the outcomes that `holds` is true for. */
export function chanceOf(outcomes: readonly Reshuffled[], holds: (cases: CaseCounts[]) => boolean): number {
  let [all, some] = [0n, 0n];
  for (const { cases, ways } of outcomes) {
    all += ways;
    if (holds(cases)) some += ways;
  }
  return quotient(some, all);
}
