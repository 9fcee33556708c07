import { simulate } from "../../asking/trials/design.ts";
import { sumOf } from "../../base/collections.ts";
import { type Counts, noTrials } from "../../base/stats/counts.ts";
import { deriveSeed, drawBeta, seededRandom } from "../../base/stats/random.ts";
import type { CheckSetup } from "./design.ts";
import { createDesign } from "./verdict.ts";

/**
 * Requests of both arms: the median and 90th percentile if nothing changed, and the maximum. `cached`: the share of them
 * that a prompt cache can serve, because others had the same tools in the same order before.
 */
export type Forecast = { typical: number; high: number; most: number; cached: number };

/** Total trials to simulate: large suites need fewer simulations, because their requests vary less. */
const simulatedTrials = 15_000;

/** What is known of the cases: passes by case. A case that is not in it may have any rate. */
type Bank = ReadonlyMap<string, Counts>;

/**
 * What a check will cost if nothing changed, by simulation from what is known of the cases. Seeded by the setup's seed.
 */
export function forecastCalls(setup: CheckSetup, bank: Bank): Forecast {
  const plays = setup.alwaysAlike ? 1 : countPlays(setup, 50);
  const played = simulateChecks(setup, bank, plays, 0);
  const calls = played.map((one) => one.calls).toSorted((a, b) => a - b);
  const at = (share: number) => calls[Math.min(plays - 1, Math.floor(share * plays))] ?? 0;
  const cached = setup.pairsPerOrder === 1 ? 0 : sumOf(played, (one) => one.repeated) / sumOf(calls, (all) => all);
  return { typical: at(0.5), high: at(0.9), most: createDesign(setup).cap, cached };
}

/** The share of checks that find a drop of every case by so much, by the same simulation. */
export function forecastPower(setup: CheckSetup, bank: Bank, drop: number): number {
  const played = simulateChecks(setup, bank, countPlays(setup, 100), drop);
  return played.filter(({ kind }) => kind === "regressed").length / played.length;
}

const countPlays = ({ cases }: CheckSetup, most: number) =>
  Math.max(3, Math.min(most, Math.floor(simulatedTrials / (cases.length * 20))));

function simulateChecks(setup: CheckSetup, bank: Bank, plays: number, drop: number) {
  const design = createDesign({ ...setup, withReach: false });
  return Array.from({ length: plays }, (_, play) => {
    const random = seededRandom(deriveSeed(setup.seed, "forecast", play));
    const rates = new Map(
      setup.cases.map((id) => {
        const { passed, trials } = bank.get(id) ?? noTrials;
        return [id, drawBeta(passed + 0.5, trials - passed + 0.5, random)];
      }),
    );
    const prompts = new Set<string>();
    let repeated = 0;
    const { verdict, calls } = simulate(design, (id, arm, _, order) => {
      if (prompts.has(`${arm} ${order}`)) repeated++;
      prompts.add(`${arm} ${order}`);
      return random.next() < (rates.get(id) ?? 0) - (arm === "head" ? drop : 0) ? "pass" : "fail";
    });
    return { kind: verdict.kind, calls, repeated };
  });
}
