import { paraphraseAt } from "../types/suite.ts";
import { type Assertion, addCost, type Cost, readOutcome, type Trial, type Turn, type Usage } from "../types/trial.ts";

/** Counts by name, ranked on demand. */
export class Counter {
  readonly #counts = new Map<string, number>();

  add(name: string, by = 1): void {
    const n = (this.#counts.get(name) ?? 0) + by;
    if (n > 0) this.#counts.set(name, n);
    else this.#counts.delete(name);
  }

  /** Highest count first; equal counts by name, so that the order never depends on who finished first. */
  ranked(): [string, number][] {
    return [...this.#counts].sort(([nameA, a], [nameB, b]) => b - a || (nameA < nameB ? -1 : 1));
  }

  toObject(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** What a check was about, and why it was not met; the reason itself often begins with the former. */
function describeFailure({ what, why = "not met" }: Assertion): string {
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
  outputTokens = 0;
  costUsd: Cost = 0;
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
    this.calls++;
    for (const { execution, role } of turn.calls) {
      // Searches, a host's own tools and what a mock answers reach no server.
      if (execution?.status !== "executed" || execution.mock !== undefined || role !== undefined) continue;
      this.executed++;
      if (execution.result.isError) this.toolErrors++;
    }
    this.#addUsage(turn.usage);
    this.latencies.push(turn.ms);
  }

  #addUsage(usage: Usage): void {
    this.inputTokens += promptTokens(usage);
    this.outputTokens += usage.outputTokens;
  }
}

/** All tokens of a prompt, whether they came from a cache or not. */
export const promptTokens = (usage: Usage) => usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;

/** The trials of one case on one model in one arm. A trial that was asked again counts as what its last attempt brought. */
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
  readonly picks = new Counter();
  /** Passes and graded trials of each paraphrase of the query. */
  readonly paraphrases: { passed: number; trials: number }[];
  /** Trials without a grade so far, which may be asked again. */
  readonly #open = new Map<number, Trial>();

  /** `paraphrases`: how many wordings of the query take turns. */
  constructor(paraphrases = 1) {
    this.paraphrases = Array.from({ length: paraphrases }, () => ({ passed: 0, trials: 0 }));
  }

  add(trial: Trial): void {
    if (trial.copy) return;
    const { trial: number, attempt } = trial.cell;
    const before = this.#open.get(number);
    if (before && attempt !== undefined) this.#count(before, -1);
    this.#open.delete(number);
    this.#count(trial, 1);
    if (trial.outcome.kind === "broken" || (trial.verdict?.grade ?? "not-gradable") === "not-gradable")
      this.#open.set(number, trial);
  }

  #count({ cell, outcome, verdict, ms }: Trial, by: 1 | -1): void {
    this.ms += by * ms;
    if (outcome.kind === "broken") {
      this.broken += by;
      this.stages.add(outcome.stage, by);
      this.reasons.add(`broken (${outcome.stage}): ${outcome.message}`, by);
      return;
    }
    if (!verdict || verdict.grade === "not-gradable") {
      this.notGradable += by;
      if (verdict) this.reasons.add(`not gradable: ${verdict.reason}`, by);
      return;
    }
    this.outcomes.add(readOutcome(verdict), by);
    this.picks.add(verdict.picked, by);
    const asked = this.paraphrases[paraphraseAt(cell.trial, this.paraphrases.length)];
    if (asked) {
      asked.trials += by;
      if (verdict.grade === "pass") asked.passed += by;
    }
    if (verdict.grade === "pass") this.passed += by;
    else {
      this.failed += by;
      for (const check of verdict.checks) if (check.met === "no") this.reasons.add(describeFailure(check), by);
    }
  }
}
