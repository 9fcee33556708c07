import { type Counts, comparable } from "../stats/counts.ts";
import { cochranMantelHaenszel, globalTest, isSignificant, stepDown } from "../stats/hypothesisTests.ts";
import { normalQuantile } from "../stats/stdlib.ts";
import {
  countTrials,
  type Design,
  type Evidence,
  type Look,
  type NamedCounts,
  pool,
  regressionArms,
  requestAll,
  type Step,
  stillMissing,
  type TrialRange,
} from "./design.ts";
import {
  type Drift,
  type LookResult,
  type RegressionVerdict,
  regressionDefaults,
  regressionVerdict,
  withinMargin,
} from "./regression.ts";
import { decide } from "./thorough.ts";

/** The looks of the confirmation, in trials per suspect and arm beyond the screening; their shares add up to 5 %. */
const confirmationLooks: readonly Look[] = [
  { trials: 6, alpha: 0.015 },
  { trials: 12, alpha: 0.015 },
  { trials: 20, alpha: 0.02 },
];

/** A case is suspect when its own p, bank against head, is at most this. It only decides who is looked at again. */
const suspicion = 0.35;
/** All cases are looked at again when the mid-p of the others' common drop is at most this. */
const commonSuspicion = 0.25;
const z = normalQuantile(0.975);

/**
 * Head trials per case of the screening, first and at most. The first are enough that a suite that passes everything is
 * shown to be within 10 points; small suites need more of them.
 */
function screeningTrials(cases: number): { first: number; most: number } {
  const first = Math.min(13, Math.max(5, Math.ceil(38 / Math.max(1, cases))));
  return { first, most: Math.max(10, first) };
}

/**
 * The design for a pull request or every night. `bank` holds, per case, the base trials of the baseline.
 *
 * Screening (looks 1 and 2): head trials 1..k1 of every case against the bank. It can clear the suite, and never fails it.
 * A second look, at k1 = 10, is taken when nothing is suspect and ten trials are likely to clear what the first did not.
 * Confirmation (the other looks): suspects only, on fresh trials of both arms, numbered k1+1.. in both so that the arms
 * share their schedules. The test sees nothing but these, so neither a stale bank nor the choice of the suspects can
 * raise a false alarm. The bound for "no regression" uses all trials of a case, the bank's included.
 */
export function screen(
  cases: readonly string[],
  bank: ReadonlyMap<string, Counts>,
  margin: number = regressionDefaults.margin,
): Design<RegressionVerdict> {
  const { first, most } = screeningTrials(cases.length);
  const cap = cases.length * (most + 2 * Math.max(...confirmationLooks.map((look) => look.trials)));
  return {
    cap,
    next(evidence): Step<RegressionVerdict> {
      const spent = { evidence, cap };
      for (const [j, trials] of [first, most].entries()) {
        const requests = stillMissing(evidence, requestAll(cases, ["head"], { from: 1, to: trials }));
        if (requests.length > 0) return { kind: "ask", requests, look: j + 1 };
        const banked = cases.map((id) => screened(evidence, bank, id, { from: 1, to: trials }));
        const suspects = findSuspects(banked);
        if (suspects.length > 0) return confirm(spent, banked, suspects, { used: trials, margin });
        const result = screeningResult(banked, margin, j + 1);
        if (trials === most || withinMargin(result) || !likelyToClear(result, most)) {
          return { kind: "decided", verdict: screeningVerdict(result, spent) };
        }
      }
      throw new RangeError("the last look of the screening decides");
    },
  };
}

type Spent = { evidence: Evidence; cap: number };

function confirm(
  spent: Spent,
  banked: readonly NamedCounts[],
  suspects: readonly string[],
  { used, margin }: { used: number; margin: number },
): Step<RegressionVerdict> {
  const before = 2;
  let result = screeningResult(banked, margin, before);
  for (const [j, { trials, alpha }] of confirmationLooks.entries()) {
    const span = { from: used + 1, to: used + trials };
    const requests = stillMissing(spent.evidence, requestAll(suspects, regressionArms, span));
    const look = before + j + 1;
    if (requests.length > 0) return { kind: "ask", requests, look };
    result = confirmationResult(spent.evidence, banked, suspects, span, { look, looks, margin }, alpha);
    const kind = decide(result, look === looks);
    if (kind !== "go on") return { kind: "decided", verdict: regressionVerdict(kind, result, spent) };
  }
  return { kind: "decided", verdict: regressionVerdict("inconclusive", result, spent) };
}

const looks = 2 + confirmationLooks.length;

function screened(evidence: Evidence, bank: ReadonlyMap<string, Counts>, id: string, span: TrialRange): NamedCounts {
  return { case: id, base: bank.get(id) ?? { passed: 0, trials: 0 }, head: countTrials(evidence, id, "head", span) };
}

/** Cases without a bank cannot be screened, so they are always looked at. */
function findSuspects(banked: readonly NamedCounts[]): string[] {
  const ps = stepDown(banked);
  const suspected = new Set(
    banked.filter(({ base }, i) => base.trials === 0 || isSignificant(ps[i]?.p ?? 1, suspicion)),
  );
  const others = banked.filter((one) => !suspected.has(one));
  const passing = banked.filter(({ base, head }) => base.trials === 0 || base.passed + head.passed > 0);
  const all = isSignificant(cochranMantelHaenszel(others).midP, commonSuspicion);
  return (all ? passing : [...suspected]).map((one) => one.case);
}

function screeningResult(banked: readonly NamedCounts[], margin: number, look: number): LookResult {
  const criterion = { kind: "p-value", p: globalTest(banked).p, alpha: 0 } as const;
  return { method: "screen", look, looks, criterion, margin, z, alpha: suspicion, tested: banked, bounded: banked };
}

/** Whether the same rates would be within the margin, had there been this many head trials. */
function likelyToClear(result: LookResult, trials: number): boolean {
  const grown = result.bounded.map((one) => ({
    ...one,
    head: { passed: Math.round((one.head.passed / one.head.trials) * trials), trials },
  }));
  const scored = comparable(result.bounded).length === grown.length;
  return scored && withinMargin({ ...result, bounded: grown });
}

function screeningVerdict(result: LookResult, spent: Spent): RegressionVerdict {
  if (withinMargin(result)) return regressionVerdict("no-regression", result, spent);
  const scored = comparable(result.bounded).length === result.bounded.length;
  return regressionVerdict("inconclusive", result, spent, scored ? { kind: "too much variance" } : undefined);
}

function confirmationResult(
  evidence: Evidence,
  banked: readonly NamedCounts[],
  suspects: readonly string[],
  span: TrialRange,
  at: { look: number; looks: number; margin: number },
  alpha: number,
): LookResult {
  const chosen = new Set(suspects);
  const fresh = (id: string, arm: string) => countTrials(evidence, id, arm, span);
  const tested = suspects.map((id) => ({ case: id, base: fresh(id, "base"), head: fresh(id, "head") }));
  const bounded = banked.map((one) =>
    chosen.has(one.case)
      ? { case: one.case, base: pool(one.base, fresh(one.case, "base")), head: pool(one.head, fresh(one.case, "head")) }
      : one,
  );
  const drift = testDrift(
    banked.filter((one) => chosen.has(one.case)).map((one) => ({ ...one, head: fresh(one.case, "base") })),
  );
  const criterion = { kind: "p-value", p: globalTest(tested).p, alpha } as const;
  return { method: "screen", ...at, criterion, z, alpha, tested, bounded, drift };
}

const level = 0.01;

/** Tests in both directions with the global test; p = twice the smaller, at most 1. */
function testDrift(cases: readonly NamedCounts[]): Drift {
  const down = globalTest(cases).p;
  const up = globalTest(cases.map(({ base, head }) => ({ base: head, head: base }))).p;
  const p = Math.min(1, 2 * Math.min(down, up));
  return { drifted: isSignificant(p, level), p, direction: down <= up ? "down" : "up", cases };
}
