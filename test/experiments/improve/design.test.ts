import { expect, it } from "vitest";
import { simulate, TrialRecord } from "../../../src/evals/asking/trials/design.ts";
import { seededRandom } from "../../../src/evals/base/stats/random.ts";
import { improveLoop, type LoopSetup } from "../../../src/evals/experiments/improve/design.ts";
import { incumbentArm } from "../../../src/evals/experiments/variants/verdict.ts";

const ids = (kind: string, count: number) => Array.from({ length: count }, (_, at) => `${kind}-${at}`);

/** Chances that a skill loads for a query that it is for, and for a near miss. */
const loads: Record<string, readonly [own: number, miss: number]> = {
  [incumbentArm]: [0.5, 0.02],
  honest: [0.8, 0.02],
  greedy: [1, 1],
};

/** What a search over both wordings ends with, and what its proof says. */
async function search(seed: number, { guards }: Pick<LoopSetup, "guards">) {
  const random = seededRandom(seed);
  const record = new TrialRecord();
  const misses = ids("miss", 4);
  const setup: LoopSetup = {
    train: [...ids("own", 4), ...misses],
    ...(guards && { guards }),
    heldOut: [...ids("held-own", 8), ...ids("held-miss", 4)],
    siblings: () => misses,
    ...{ rounds: 1, seed, isDeterministic: false },
  };
  const { best, proof } = (await improveLoop(
    setup,
    async (design) => {
      const answer = (id: string, arm: string) => {
        const isMiss = id.includes("miss");
        return random.next() < (loads[arm]?.[isMiss ? 1 : 0] ?? 0) === !isMiss ? "pass" : "fail";
      };
      return simulate(design, answer, record).verdict;
    },
    async () => ["greedy", "honest"],
  )) ?? { best: null, proof: null };
  return { best, adopted: proof?.verdict.kind === "adopt" };
}

it("does not let a wording that is loaded for everything win the search, which hides an honest one", async () => {
  const seeds = Array.from({ length: 20 }, (_, at) => at + 1);
  const guarded = await Promise.all(seeds.map((seed) => search(seed, { guards: ids("miss", 4) })));
  expect(guarded.filter(({ best }) => best === "greedy")).toEqual([]);
  expect(guarded.filter(({ best, adopted }) => best === "honest" && adopted).length).toBeGreaterThanOrEqual(16);
  // Without guards the search asks only what today's wording fails, and the proof refuses what wins.
  const open = (await Promise.all(seeds.map((seed) => search(seed, {})))).filter(({ best }) => best === "greedy");
  expect(open.length).toBeGreaterThan(10);
  expect(open.filter(({ adopted }) => adopted)).toEqual([]);
});
