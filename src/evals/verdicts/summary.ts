import { exitCodes } from "../errors.ts";
import { wilson } from "../stats/wilson.ts";
import type { CaseSummary, RunManifest, RunSummary, SuiteSummary } from "../types/run.ts";
import { addCost, type Selection, type Trial } from "../types/trial.ts";
import { CaseTally, Spending } from "./tally.ts";

type ManifestSuite = RunManifest["suites"][number];
type ManifestCase = ManifestSuite["cases"][number];
type Totals = RunSummary["totals"];

/** Trials in, a summary out. A run's summary is always made by feeding every trial of its record to one of these. */
export type Summariser = { add(trial: Trial): void; summary(): RunSummary };

const key = (suite: string, model: string) => JSON.stringify([suite, model]);

/**
 * Makes the summariser of a run. The gate: a case is ok when it was graded at all, no trial was left ungraded, and its
 * rate is at least its pass rate. Broken trials are in no rate. The run is ok when every case is ok and nothing broke or
 * is missing. Exit code 1 when a graded case missed its rate, else 3 when the run is incomplete, else 0.
 */
export function summariser(manifest: RunManifest, dir: string): Summariser {
  const tallies = new Map<string, SuiteTally>();
  for (const suite of manifest.suites)
    for (const model of manifest.models) tallies.set(key(suite.name, model.id), new SuiteTally(manifest, suite, model));
  return {
    add: (trial) => tallies.get(key(trial.cell.suite, trial.cell.model))?.add(trial),
    summary() {
      const suites = [...tallies.values()].map((tally) => tally.summary());
      const ok = suites.length > 0 && suites.every((suite) => suite.ok);
      const failed = suites.some((suite) => suite.cases.some((one) => one.rate !== null && one.rate < one.passRate));
      const exitCode = failed ? exitCodes.failed : ok ? exitCodes.passed : exitCodes.incomplete;
      return { run: manifest.id, dir, suites, totals: addTotals(suites.map((suite) => suite.totals)), ok, exitCode };
    },
  };
}

class SuiteTally {
  readonly #manifest: RunManifest;
  readonly #suite: ManifestSuite;
  readonly #model: RunManifest["models"][number];
  readonly #cases = new Map<string, CaseTally>();
  readonly #confusion = new Map<string, { expected: string; picked: string; n: number }>();
  readonly #spending = new Spending();

  constructor(manifest: RunManifest, suite: ManifestSuite, model: RunManifest["models"][number]) {
    this.#manifest = manifest;
    this.#suite = suite;
    this.#model = model;
    for (const one of suite.cases) this.#cases.set(one.id, new CaseTally());
  }

  add(trial: Trial): void {
    this.#cases.get(trial.cell.case)?.add(trial);
    this.#spending.add(trial);
    const verdict = trial.verdict;
    if (!verdict || verdict.grade === "not-gradable" || !confusions.has(verdict.selection)) return;
    const { expected, picked } = verdict;
    const pair = JSON.stringify([expected, picked]);
    this.#confusion.set(pair, { expected, picked, n: (this.#confusion.get(pair)?.n ?? 0) + 1 });
  }

  summary(): SuiteSummary {
    const cases = this.#suite.cases.map((one) => this.#caseSummary(one));
    const sum = (count: (one: CaseSummary) => number) => cases.reduce((total, one) => total + count(one), 0);
    const planned = sum((one) => one.planned);
    const broken = sum((one) => one.broken);
    const missing = planned - sum((one) => one.trials) - broken - sum((one) => one.notGradable);
    const { calls, executed, toolErrors, inputTokens, outputTokens, costUsd, latencies } = this.#spending;
    return {
      name: this.#suite.name,
      model: this.#model.id,
      ...(this.#model.note && { note: this.#model.note }),
      cases,
      confusion: [...this.#confusion.values()].sort(byCountThenName),
      coverage: coverageOf(this.#manifest, this.#suite),
      latencyMs: percentiles(latencies),
      totals: {
        trials: planned,
        passed: sum((one) => one.passed),
        broken,
        missing,
        calls,
        executed,
        toolErrors,
        inputTokens,
        outputTokens,
        costUsd,
      },
      ok: cases.length > 0 && cases.every((one) => one.ok) && broken === 0 && missing === 0,
    };
  }

  #caseSummary(one: ManifestCase): CaseSummary {
    const tally = this.#cases.get(one.id) ?? new CaseTally();
    const graded = tally.passed + tally.failed;
    const rate = graded > 0 ? tally.passed / graded : null;
    return {
      id: one.id,
      input: one.input,
      expected: one.expected,
      trials: graded,
      planned: this.#model.deterministic ? 1 : one.trials,
      passed: tally.passed,
      broken: tally.broken,
      notGradable: tally.notGradable,
      rate,
      interval: wilson({ passed: tally.passed, trials: graded }) ?? null,
      passRate: one.passRate,
      outcomes: tally.outcomes.toObject(),
      brokenStages: tally.stages.toObject(),
      reasons: tally.reasons.ranked().map(([text, n]) => ({ text, n })),
      ok: rate !== null && rate >= one.passRate && tally.notGradable === 0,
      file: one.file,
      line: one.line,
    };
  }
}

/** Picks that were not the expected ones. A right pick with wrong arguments is a fault, but no confusion. */
const confusions: ReadonlySet<Selection> = new Set([
  "wrong-tool",
  "no-call",
  "unknown-tool",
  "several-calls",
  "over-triggered",
  "refused",
]);

function byCountThenName(a: { expected: string; picked: string; n: number }, b: typeof a): number {
  return b.n - a.n || (`${a.expected}\n${a.picked}` < `${b.expected}\n${b.picked}` ? -1 : 1);
}

/** Tools of the suite's own servers against tools that an expectation names. Distractors are not the suite's to cover. */
function coverageOf(manifest: RunManifest, suite: ManifestSuite): SuiteSummary["coverage"] {
  const own = new Set<string>();
  for (const hash of new Set(suite.cases.map((one) => one.toolset)))
    for (const tool of manifest.toolsets[hash] ?? []) if (tool.origin !== "distractor") own.add(tool.name);
  const expected = new Set(suite.cases.flatMap((one) => one.expectedTools));
  const missing = [...own].filter((name) => !expected.has(name)).sort();
  return { tools: own.size, expected: own.size - missing.length, missing };
}

/** Nearest-rank percentiles. */
function percentiles(values: readonly number[]): { p50: number; p95: number } | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95) };
}

function addTotals(all: readonly Totals[]): Totals {
  const zero: Totals = {
    trials: 0,
    passed: 0,
    broken: 0,
    missing: 0,
    calls: 0,
    executed: 0,
    toolErrors: 0,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0,
  };
  return all.reduce(
    (sum, one) => ({
      trials: sum.trials + one.trials,
      passed: sum.passed + one.passed,
      broken: sum.broken + one.broken,
      missing: sum.missing + one.missing,
      calls: sum.calls + one.calls,
      executed: sum.executed + one.executed,
      toolErrors: sum.toolErrors + one.toolErrors,
      inputTokens: sum.inputTokens + one.inputTokens,
      outputTokens: sum.outputTokens + one.outputTokens,
      costUsd: addCost(sum.costUsd, one.costUsd),
    }),
    zero,
  );
}
