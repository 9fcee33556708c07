import { sumOf } from "../../base/sum.ts";
import type { DiscoverySummary } from "../../base/types/discovery.ts";
import { type Discovery, discoveryOutcomes, type Score, type Trial } from "../../base/types/trial.ts";
import { Ranking } from "./tally.ts";

/** Selections in which an expected tool was called, with any result. */
const chosen: ReadonlySet<Score["selection"]> = new Set([
  "right-tool",
  "several-calls",
  "malformed-arguments",
  "wrong-arguments",
  "wrong-result",
]);

/** Whether a graded trial called an expected tool; undefined if none is expected. */
export function readChoice({ selection, expected, discovery }: Score): boolean | undefined {
  if (discovery) return discovery.outcome === "chosen" || discovery.outcome === "chosen-without-search";
  return expected.startsWith("(") || expected.startsWith("skill:") ? undefined : chosen.has(selection);
}

/** Counts how expected tools were found and chosen. */
export class DiscoveryTally {
  readonly #outcomes = new Map<Discovery["outcome"], number>();
  readonly #notFound = new Ranking<{ expected: string; query: string }>();
  readonly #notChosen = new Ranking<{ expected: string; picked: string; rank?: number }>();
  readonly #builtIns = new Ranking<{ expected: string; tool: string }>();

  add({ verdict, copy }: Trial): void {
    if (copy || !verdict?.discovery || verdict.grade === "not-gradable") return;
    const { expected, picked, discovery } = verdict;
    const { outcome, rank, queries = [], builtIn } = discovery;
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
    if (outcome === "not-found") for (const query of new Set(queries)) this.#notFound.add({ expected, query });
    if (outcome === "found-not-chosen") this.#notChosen.add({ expected, picked, ...(rank !== undefined && { rank }) });
    if (outcome === "built-in-used" && builtIn !== undefined) this.#builtIns.add({ expected, tool: builtIn });
  }

  /** Undefined if no trial expected a tool that may be deferred. */
  summary(): DiscoverySummary | undefined {
    if (this.#outcomes.size === 0) return undefined;
    const count = (...outcomes: Discovery["outcome"][]) =>
      sumOf(outcomes, (outcome) => this.#outcomes.get(outcome) ?? 0);
    return {
      trials: count(...discoveryOutcomes),
      found: count("chosen", "found-not-chosen"),
      chosen: count("chosen"),
      outcomes: Object.fromEntries(discoveryOutcomes.flatMap((name) => (count(name) > 0 ? [[name, count(name)]] : []))),
      notFound: this.#notFound.ranked(),
      notChosen: this.#notChosen.ranked(),
      builtIns: this.#builtIns.ranked(),
    };
  }
}
