import { noTrials, pool } from "../../base/stats/counts.ts";
import { normalCdf } from "../../base/stats/distributions.ts";
import { fisherP, isSignificant } from "../../base/stats/hypothesisTests.ts";
import { deriveSeed, drawBeta, type Random, seededRandom } from "../../base/stats/random.ts";
import type { ComparedCheck } from "../../base/types/check.ts";
import { countRate } from "./grades.ts";
import type { PairTally } from "./observe.ts";
import { type LookPlan, type MeanDrop, suspicionAt } from "./statistics.ts";

const mostPairs = 20_000;

/** What an open check needs: further pairs per case for a verdict with a chance of 50 % and of 80 %. */
export function adviseOpen(mean: MeanDrop, trials: number, margin: number, z: number): ComparedCheck["advice"] {
  const likely = furtherPairs(mean, trials, margin, z, 0.5);
  const safe = furtherPairs(mean, trials, margin, z, 0.8);
  return { likely: likely ?? mostPairs, safe: safe ?? mostPairs, atLeast: likely === undefined };
}

/**
 * Further pairs per case after which an open check has come to a verdict with at least this chance: the least f of 1, 2,
 * .. then steps of 5 % with Phi((margin - z s - D)/t) + Phi((D - 2 s)/t) >= chance, where V = trials SE^2,
 * s = sqrt(V/(trials + f)) is the standard error then and t = sqrt(V (1/trials - 1/(trials + f))) how far D may still move.
 * Undefined when 20,000 are not enough. Within a factor of two of what is needed in 81-100 % of open checks (simulated).
 */
export function furtherPairs(
  { drop, standardError }: MeanDrop,
  trials: number,
  margin: number,
  z: number,
  chance: number,
): number | undefined {
  const variance = standardError ** 2 * trials;
  for (let f = 1; f < mostPairs; f = Math.max(f + 1, Math.floor(f * 1.05))) {
    const later = Math.sqrt(variance / (trials + f));
    const move = Math.sqrt(variance * (1 / trials - 1 / (trials + f)));
    const cleared = normalCdf((margin - z * later - drop) / move);
    const regressed = normalCdf((drop - 2 * later) / move);
    if (cleared + regressed >= chance) return f;
  }
  return undefined;
}

const reachPlays = 400;
const reachShare = 0.8;
const nothing = { base: [0, 0, 0], head: [0, 0, 0] } as const;
const losses = [30, 40, 50, 60, 70, 80, 90, 100];

/**
 * What the looks taken would have caught: the least loss of one case, in points, that is named 8 times in 10. Null when
 * not even a dead case is. By simulation from the run's own rates, 400 plays a loss: a case drawn at random, its base rate
 * from Beta(s + 1/2, 2K - s + 1/2) with s its passes of both arms in K pairs, its head rate that less the loss, played alone
 * through the looks and its rungs. `tallies`: of the deciding look; `look`: its number.
 */
export function simulateReach(
  tallies: readonly PairTally[],
  plan: LookPlan,
  look: number,
  seed: number,
): number | null {
  for (const loss of losses) {
    const random = seededRandom(deriveSeed(seed, "reach", loss));
    let caught = 0;
    for (let play = 0; play < reachPlays; play++) {
      const { base: then, head: now } = tallies[random.below(tallies.length)]?.ways[0] ?? nothing;
      const both = pool([countRate(then, "pass"), countRate(now, "pass")]);
      const base = drawBeta(both.passed + 0.5, both.trials - both.passed + 0.5, random);
      if (isCaught(base, Math.max(0, base - loss / 100), plan, look, random)) caught++;
    }
    if (caught >= reachShare * reachPlays) return loss;
  }
  return null;
}

/** Simulates one case alone through the looks up to `look` and the rungs that its own p takes it to. */
function isCaught(baseRate: number, headRate: number, plan: LookPlan, look: number, random: Random): boolean {
  const [base, head] = [{ ...noTrials }, { ...noTrials }];
  let rung = -1;
  const climb = () => {
    const trials = plan.rungs[++rung] ?? 0;
    for (; base.trials < trials; base.trials++, head.trials++) {
      if (random.next() < baseRate) base.passed++;
      if (random.next() < headRate) head.passed++;
    }
    return { trials, p: fisherP(base, head) };
  };
  const isHit = ({ trials, p }: { trials: number; p: number }) =>
    trials >= plan.least && isSignificant(p, plan.caseLevel);
  for (let j = 0; j < look; j++) {
    if (rung >= j) continue;
    for (let now = climb(); ; now = climb()) {
      if (isHit(now)) return true;
      if (rung + 1 >= plan.rungs.length || !isSignificant(now.p, suspicionAt(now.trials))) break;
    }
  }
  return false;
}
