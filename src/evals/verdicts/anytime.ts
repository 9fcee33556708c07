import { addBlock, type EProcess, evidence as readEProcess, startEProcess } from "../stats/eProcess.ts";
import { normalQuantile } from "../stats/stdlib.ts";
import {
  countCases,
  type Design,
  type Evidence,
  regressionArms,
  requestAll,
  type Step,
  stillMissing,
} from "./design.ts";
import { type LookResult, type RegressionVerdict, regressionDefaults, regressionVerdict } from "./regression.ts";
import { decide } from "./thorough.ts";

/** The bound is looked at after 5, 10, 20, 40, ... rounds and may err with half, a quarter, an eighth ... of alpha. */
const firstBound = 5;

/**
 * The open-ended design: one trial per case and arm in every round, and a look after each. Regressed as soon as the
 * stratified e-process reaches 1/alpha, which holds alpha however often one looks and whenever one stops; no regression
 * when the bound says so at a doubling number of rounds; inconclusive after `rounds`. A round in which either trial of a
 * case broke is no block of the e-process, but its scored trial counts in the bound. Here a look is a round.
 */
export function anytime(
  cases: readonly string[],
  margin: number = regressionDefaults.margin,
  rounds = 50,
): Design<RegressionVerdict> {
  const cap = cases.length * 2 * rounds;
  return {
    cap,
    next(evidence): Step<RegressionVerdict> {
      let state = startEProcess(cases.length);
      for (let round = 1; round <= rounds; round++) {
        const requests = stillMissing(evidence, requestAll(cases, regressionArms, { from: 1, to: round }));
        if (requests.length > 0) return { kind: "ask", requests, look: round };
        state = addRound(state, evidence, cases, round);
        const { value, regressed } = readEProcess(state, regressionDefaults.alpha);
        const bounded = isBoundLook(round);
        if (!regressed && !bounded && round < rounds) continue;
        const result = resultAt(evidence, cases, { look: round, looks: rounds, margin }, value);
        const kind = regressed ? "regressed" : bounded ? decide(result, false) : "go on";
        if (kind !== "go on") return decided(kind, result, state, evidence, cap);
        if (round === rounds) return decided("inconclusive", result, state, evidence, cap);
      }
      const result = resultAt(evidence, cases, { look: 1, looks: rounds, margin }, 1);
      return decided("inconclusive", result, state, evidence, cap);
    },
  };
}

function addRound(state: EProcess, evidence: Evidence, cases: readonly string[], round: number): EProcess {
  return cases.reduce((sum, id, index) => {
    const [base, head] = regressionArms.map((arm) => evidence.get(id)?.get(arm)?.[round - 1]);
    if (base === "broken" || head === "broken") return sum;
    return addBlock(sum, index, { base: base === "pass", head: head === "pass" });
  }, state);
}

function doublings(round: number): number {
  return Math.log2(round / firstBound);
}

function isBoundLook(round: number): boolean {
  return round >= firstBound && Number.isInteger(doublings(round));
}

function resultAt(
  evidence: Evidence,
  cases: readonly string[],
  at: { look: number; looks: number; margin: number },
  e: number,
): LookResult {
  const { alpha } = regressionDefaults;
  const counts = countCases(evidence, cases, regressionArms, { from: 1, to: at.look });
  const share = alpha / 2 ** (Math.max(0, Math.floor(doublings(at.look))) + 1);
  const criterion = { kind: "e-value", e, threshold: 1 / alpha } as const;
  return { method: "anytime", ...at, criterion, z: normalQuantile(1 - share), alpha, tested: counts, bounded: counts };
}

/** Cases are named by their own e-values: their p-values were looked at too often to mean anything. */
function decided(
  kind: RegressionVerdict["kind"],
  result: LookResult,
  state: EProcess,
  evidence: Evidence,
  cap: number,
): Step<RegressionVerdict> {
  const { caseValues } = readEProcess(state, result.alpha);
  const named = caseValues.map((e) => ({ p: Math.min(1, 1 / e), adjusted: Math.min(1, caseValues.length / e) }));
  return { kind: "decided", verdict: regressionVerdict(kind, { ...result, named }, { evidence, cap }) };
}
