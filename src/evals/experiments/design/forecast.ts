import { simulate } from "../../asking/trials/design.ts";
import { type Counts, noTrials } from "../../base/stats/counts.ts";
import { deriveSeed, seededRandom } from "../../base/stats/random.ts";
import { type CheckSetup, check } from "../check/design.ts";
import { drawBeta } from "./special.ts";

/** Requests of both arms: the median and 90th percentile if nothing changed, and the maximum. */
export type Forecast = { typical: number; high: number; most: number };

/** Total trials to simulate: large suites need fewer simulations, because their requests vary less. */
const simulatedTrials = 60_000;

/**
 * What a check will cost if nothing changed, by simulation from what is known of the cases (`bank`: passes by case; a case
 * that is not in it may have any rate). Seeded by the setup's seed.
 */
export function forecastCalls(setup: CheckSetup, bank: ReadonlyMap<string, Counts>): Forecast {
  const design = check({ ...setup, withReach: false });
  const plays = Math.max(3, Math.min(200, Math.floor(simulatedTrials / (setup.cases.length * 20))));
  const calls = Array.from({ length: plays }, (_, play) => {
    const random = seededRandom(deriveSeed(setup.seed, "forecast", play));
    const rates = new Map(
      setup.cases.map((id) => {
        const { passed, trials } = bank.get(id) ?? noTrials;
        return [id, drawBeta(passed + 0.5, trials - passed + 0.5, random)];
      }),
    );
    return simulate(design, (id) => (random.next() < (rates.get(id) ?? 0) ? "pass" : "fail")).calls;
  }).toSorted((a, b) => a - b);
  const at = (share: number) => calls[Math.min(plays - 1, Math.floor(share * plays))] ?? 0;
  return { typical: at(0.5), high: at(0.9), most: design.cap };
}
