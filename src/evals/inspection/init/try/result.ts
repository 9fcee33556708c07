import { listConfusablePairs } from "../../../base/search/similarity.ts";
import type { Counts } from "../../../base/stats/counts.ts";
import type { Tool } from "../../../base/types/tool.ts";
import type { Trial } from "../../../base/types/trial.ts";
import type { ToolPicks, TryResult, WorstPair } from "../../../base/types/tryout.ts";
import { confusedPair, type Pair } from "../../../experiments/results/picks.ts";
import { Ranking } from "../../../experiments/results/tally.ts";
import type { WrittenQuery } from "./queries.ts";

/** Counts which tools are picked, trial by trial. */
export class PickTally {
  readonly #queries: ReadonlyMap<string, WrittenQuery>;
  readonly #tools = new Map<string, ToolPicks>();
  readonly #pairs = new Ranking<Pair>();
  readonly right: Counts = { passed: 0, trials: 0 };
  readonly quiet: Counts = { passed: 0, trials: 0 };
  broken = 0;

  /** `queries`: by case id. */
  constructor(queries: ReadonlyMap<string, WrittenQuery>) {
    this.#queries = queries;
  }

  add(trial: Trial): void {
    const wanted = this.#queries.get(trial.cell.case)?.wanted;
    if (!wanted || !trial.verdict) {
      this.broken += 1;
      return;
    }
    const isRight = !confusedPair(trial);
    const counts = wanted.tool ? this.right : this.quiet;
    counts.trials += 1;
    if (isRight) counts.passed += 1;
    this.#pairs.add(confusedPair(trial));
    const { picked } = trial.verdict;
    if (wanted.tool) {
      const own = this.#count(wanted.tool.name);
      own.wanted += 1;
      if (isRight) own.right += 1;
    }
    this.#count(isRight && wanted.tool ? wanted.tool.name : picked).picked += 1;
  }

  #count(tool: string): ToolPicks {
    const counts = this.#tools.get(tool) ?? { tool, wanted: 0, picked: 0, right: 0 };
    this.#tools.set(tool, counts);
    return counts;
  }

  /** The tools of a list that were expected or picked, in its order. */
  listTools(tools: readonly Tool[]): ToolPicks[] {
    return tools.flatMap(({ name }) => this.#tools.get(name) ?? []);
  }

  get confusions(): TryResult["confusions"] {
    return this.#pairs.ranked();
  }

  /** The three most confused pairs of listed tools. */
  listWorst(tools: readonly Tool[]): WorstPair[] {
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    return this.confusions
      .flatMap(({ expected, picked, n }): WorstPair[] => {
        const [one, other] = [byName.get(expected), byName.get(picked)];
        if (!one || !other) return [];
        const [pair] = listConfusablePairs([one, other], { least: 0, most: 1 });
        return [{ wanted: expected, picked, n, shared: pair?.shared.slice(0, 5) ?? [] }];
      })
      .slice(0, 3);
  }
}
