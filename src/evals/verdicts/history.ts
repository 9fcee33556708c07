import { changesByCase } from "../changes/changes.ts";
import { type Interval, wilson } from "../stats/intervals.ts";
import type { RunManifest, SuiteSummary } from "../types/run.ts";

type ManifestSuite = RunManifest["suites"][number];

/** One run of a suite on a model. */
export type HistoryEntry = {
  run: string;
  startedAt: string;
  /** Mean pass rate over the cases with a graded trial; null without one. */
  rate: number | null;
  /** 95% Wilson interval of that mean with n = cases: what to expect of new queries. */
  interval: Interval | null;
  cases: number;
  /** Cases that reached their pass rate. */
  passed: number;
  trials: number;
  /** The check's verdict, else that of the drift monitor, else whether the suite passed. */
  verdict: string;
  /** What changed in the tool list since the run before; absent for the first run. */
  changes?: string[];
  /** The suite file is another one than in the run before. */
  suiteChanged?: true;
};

/** The runs of one suite on one model, the oldest first. */
export type History = { suite: string; model: string; runs: HistoryEntry[] };

/** A run with the summaries of its suites. */
export type PastRun = { manifest: RunManifest; suites: readonly SuiteSummary[] };

/** The history of every suite and model in these runs, which are given the oldest first. */
export function makeHistories(runs: Iterable<PastRun>): History[] {
  const histories = new Map<string, History & { last?: { manifest: RunManifest; suite: ManifestSuite } }>();
  for (const { manifest, suites } of runs) {
    for (const summary of suites) {
      const suite = manifest.suites.find(({ name }) => name === summary.name);
      if (!suite) continue;
      const key = JSON.stringify([summary.name, summary.model]);
      const history = histories.get(key) ?? { suite: summary.name, model: summary.model, runs: [] };
      const { last } = history;
      history.runs.push({
        ...makeEntry(manifest, summary),
        ...(last && { changes: listToolChanges(last, { manifest, suite }) }),
        ...(last && last.suite.hash !== suite.hash && { suiteChanged: true as const }),
      });
      histories.set(key, { ...history, last: { manifest, suite } });
    }
  }
  return [...histories.values()].map(({ suite, model, runs: all }) => ({ suite, model, runs: all }));
}

function makeEntry({ id, startedAt }: RunManifest, suite: SuiteSummary): HistoryEntry {
  const { cases, verdict, drift, totals, ok, kind, failOn } = suite;
  const rates = cases.flatMap((one) => one.rate ?? []);
  const sum = rates.reduce((total, rate) => total + rate, 0);
  const checked = verdict && verdict.kind !== "unchanged" ? verdict.kind : undefined;
  const plain = ok ? (kind === "retrieval baseline" && failOn?.length === 0 ? "smoke check" : "passed") : "not passed";
  return {
    run: id,
    startedAt,
    rate: rates.length === 0 ? null : sum / rates.length,
    interval: wilson({ passed: sum, trials: rates.length }) ?? null,
    cases: cases.length,
    passed: cases.filter((one) => one.ok).length,
    trials: totals.trials,
    verdict: checked ?? (drift?.verdict.kind === "drifted" ? "drifted" : plain),
  };
}

type Listed = { manifest: RunManifest; suite: ManifestSuite };

/** The labels of what changed in the tools that the cases of both runs were shown, each once. */
function listToolChanges(before: Listed, now: Listed): string[] {
  const toLists = ({ manifest: { toolsets }, suite: { cases } }: Listed) => ({ cases, toolsets });
  const changed = changesByCase(toLists(before), toLists(now));
  return [...new Set(changed.flatMap(({ changes }) => changes.map(({ label }) => label)))];
}
