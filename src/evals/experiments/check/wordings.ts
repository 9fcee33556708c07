import { sumOf } from "../../base/collections.ts";
import { tailOfSum } from "../../base/stats/distributions.ts";
import { isSignificant } from "../../base/stats/hypothesisTests.ts";
import type { Rate } from "../design/grades.ts";
import { differ, fallP, type PairTally } from "../design/observe.ts";
import type { PlayedCase } from "./playedCase.ts";

// The wordings of a query take turns from trial to trial. Where an edit moves some of them only, the fall is about these
// wordings and not about the query, however many trials show it.

/** A fall is that of the query if the half of its wordings that fell least shows it at this level. */
const sharedAt = 0.1;

/** How many more pairs are better in base than in head. */
function netDrop({ ways: [first] }: PairTally, rate: Rate): number {
  const { down, up } = differ(rate)(first);
  return down - up;
}

/** Whether the query of a case fell in its first pairs, and not some wordings of it. With a single wording nothing can tell. */
export function hasQueryFallen(one: PlayedCase, pairs: number): boolean {
  if (one.wordings === 1) return true;
  const drops = one.byWording(pairs).map((tally, wording) => ({ wording, drop: netDrop(tally, one.test.rate) }));
  const least = drops.toSorted((a, b) => a.drop - b.drop).slice(0, Math.floor(one.wordings / 2));
  const tally = one.tallyWordings(new Set(least.map(({ wording }) => wording)), pairs);
  return isSignificant(fallP(tally).p, sharedAt);
}

/**
 * The sign test of the suite where an edit moves whole wordings: P(the sum of +-d over wordings is at least what it is), d
 * the pairs by which a wording fell; a pair of a case with one wording counts by itself. 0 without several wordings, where
 * the pairs have decided already. Source: the sign-flip (randomization) test, exact under symmetry.
 */
export function wordingsP(cases: readonly PlayedCase[], pairs: number, rate: Rate): number {
  if (cases.every(({ wordings }) => wordings === 1)) return 0;
  const drops = cases.flatMap((one) => {
    if (one.wordings > 1) return one.byWording(pairs).map((tally) => netDrop(tally, rate));
    const { down, up } = differ(rate)(one.tally(pairs).ways[0]);
    return [...Array<number>(down).fill(1), ...Array<number>(up).fill(-1)];
  });
  const half = Float64Array.of(0.5, 0.5);
  const flips = drops.filter((drop) => drop !== 0).map((drop) => ({ scores: [0, Math.abs(drop)], masses: half }));
  return tailOfSum(
    flips,
    sumOf(drops, (drop) => Math.max(0, drop)),
  );
}
