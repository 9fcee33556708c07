import { paraphraseAt } from "../../base/types/suite.ts";
import {
  type Assertion,
  addCost,
  type Cost,
  readOutcome,
  type Trial,
  type Turn,
  type Usage,
} from "../../base/types/trial.ts";

/** Counts by name, ranked on demand. */
export class Counter {
  /** The map is created for the second name, because a run has many counters, most with at most one name. */
  #only: string | undefined;
  #count = 0;
  #counts: Map<string, number> | undefined;

  add(name: string, by = 1): void {
    if (!this.#counts && (this.#only ?? name) === name) {
      this.#count = Math.max(0, this.#count + by);
      this.#only = this.#count > 0 ? name : undefined;
      return;
    }
    this.#counts ??= new Map(this.#entries());
    const n = (this.#counts.get(name) ?? 0) + by;
    if (n > 0) this.#counts.set(name, n);
    else this.#counts.delete(name);
  }

  #entries(): [string, number][] {
    if (this.#counts) return [...this.#counts];
    return this.#only === undefined ? [] : [[this.#only, this.#count]];
  }

  /** Highest count first; equal counts by name, so that the order does not depend on which trial finished first. */
  ranked(): [string, number][] {
    return this.#entries().sort(([nameA, a], [nameB, b]) => b - a || (nameA < nameB ? -1 : 1));
  }

  toObject(): Record<string, number> {
    return Object.fromEntries(this.#entries().sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** Counts values, such as pairs of an expected and a picked tool, which are identified by their JSON. */
export class Ranking<T extends object> {
  readonly #counts = new Map<string, T & { n: number }>();

  get size(): number {
    return this.#counts.size;
  }

  add(one: T | undefined): void {
    if (!one) return;
    const key = JSON.stringify(one);
    this.#counts.set(key, { ...one, n: (this.#counts.get(key)?.n ?? 0) + 1 });
  }

  /** Highest count first; equal counts by text, so that the order does not depend on which trial finished first. */
  ranked(): (T & { n: number })[] {
    const text = (one: T) => Object.values(one).join("\n");
    return [...this.#counts.values()].sort((a, b) => b.n - a.n || (text(a) < text(b) ? -1 : 1));
  }
}

/** The subject of an assertion, and why it was not met. The reason often starts with the subject already. */
export function describeFailure({ what, why = "not met" }: Assertion): string {
  return why.startsWith(what) ? why : `${what}: ${why}`;
}

/** Totals over the trials of all arms: results, tokens, cost. `calls` counts model requests, as recorded. */
export class Spending {
  trials = 0;
  passed = 0;
  broken = 0;
  calls = 0;
  executed = 0;
  toolErrors = 0;
  inputTokens = 0;
  cacheReadTokens = 0;
  outputTokens = 0;
  costUsd: Cost = 0;
  /** Replies of batches, whose duration is that of the batch and not a latency. */
  batched = 0;
  cached = 0;
  readonly latencies: number[] = [];

  add(trial: Trial): void {
    this.trials++;
    if (trial.outcome.kind === "broken") this.broken++;
    else if (trial.verdict?.grade === "pass" && !trial.copy) this.passed++;
    for (const turn of trial.turns) this.#addTurn(turn);
    if (trial.lost) this.#addUsage(trial.lost);
    this.costUsd = addCost(this.costUsd, trial.costUsd);
  }

  #addTurn(turn: Turn): void {
    if (turn.cached) this.cached++;
    else this.calls++;
    for (const { execution, role } of turn.calls) {
      // Searches, calls of a host's own tools and mocked calls do not reach a server.
      if (execution?.status !== "executed" || execution.mock !== undefined || role !== undefined) continue;
      this.executed++;
      if (execution.result.isError) this.toolErrors++;
    }
    this.#addUsage(turn.usage);
    if (turn.batch !== undefined) this.batched++;
    else if (!turn.cached) this.latencies.push(turn.ms);
  }

  #addUsage(usage: Usage): void {
    this.inputTokens += promptTokens(usage);
    this.cacheReadTokens += usage.cacheReadTokens;
    this.outputTokens += usage.outputTokens;
  }
}

/** All tokens of a prompt, cached or not. */
export const promptTokens = (usage: Usage) => usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;

/** The parts of a trial that are counted, without its texts. */
type Counted = { [K in "cell" | "outcome" | "verdict" | "ms"]: Trial[K] };

const noParaphrases: CaseTally["paraphrases"] = [];

/** What the reasons begin with that say why a trial is not gradable. */
export const notGradable = "not gradable: ";

/** The trials of one case on one model in one arm. If a trial was repeated, its last attempt counts. */
export class CaseTally {
  passed = 0;
  failed = 0;
  broken = 0;
  notGradable = 0;
  /** Time of all trials, from query to score, in milliseconds. */
  ms = 0;
  readonly outcomes = new Counter();
  readonly stages = new Counter();
  readonly reasons = new Counter();
  /** What failed trials did: their outcome and pick, on two lines. */
  readonly missed = new Counter();
  /** Passes and graded trials of each paraphrase of the query. */
  readonly paraphrases: readonly { passed: number; trials: number }[];
  /** Trials without a grade so far, which may be repeated. Created for the first of them. */
  #open: Map<number, Counted> | undefined;

  /** `paraphrases`: the number of wordings of the query that take turns, if there are several. */
  constructor(paraphrases = 0) {
    this.paraphrases =
      paraphrases === 0 ? noParaphrases : Array.from({ length: paraphrases }, () => ({ passed: 0, trials: 0 }));
  }

  add(trial: Trial): void {
    if (trial.copy) return;
    const { trial: number, attempt } = trial.cell;
    const before = this.#open?.get(number);
    if (before && attempt !== undefined) this.#count(before, -1);
    this.#open?.delete(number);
    const { cell, outcome, verdict, ms } = trial;
    const counted = { cell, outcome, verdict, ms };
    this.#count(counted, 1);
    if (outcome.kind === "broken" || (verdict?.grade ?? "not-gradable") === "not-gradable")
      this.#open = (this.#open ?? new Map<number, Counted>()).set(number, counted);
  }

  #count({ cell, outcome, verdict, ms }: Counted, by: 1 | -1): void {
    this.ms += by * ms;
    if (outcome.kind === "broken") {
      this.broken += by;
      this.stages.add(outcome.stage, by);
      this.reasons.add(`broken (${outcome.stage}): ${outcome.message}`, by);
      return;
    }
    if (!verdict || verdict.grade === "not-gradable") {
      this.notGradable += by;
      if (verdict) this.reasons.add(`${notGradable}${verdict.reason}`, by);
      return;
    }
    this.outcomes.add(readOutcome(verdict), by);
    const asked = this.paraphrases[paraphraseAt(cell.trial, this.paraphrases.length)];
    if (asked) {
      asked.trials += by;
      if (verdict.grade === "pass") asked.passed += by;
    }
    if (verdict.grade === "pass") this.passed += by;
    else {
      this.failed += by;
      this.missed.add(`${readOutcome(verdict)}\n${verdict.picked}`, by);
      for (const check of verdict.checks) if (check.met === "no") this.reasons.add(describeFailure(check), by);
    }
  }
}
