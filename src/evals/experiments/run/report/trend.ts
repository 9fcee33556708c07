import * as z from "zod";
import { sumOf } from "../../../base/collections.ts";
import { wilson } from "../../../base/stats/intervals.ts";
import { intervalSchema } from "../../../base/types/check.ts";
import type { CaseSummary, ManifestSuite, RunManifest, SuiteSummary } from "../../../base/types/run.ts";
import { listChangesByCase } from "../../../servers/changes/changes.ts";

const number = z.number().int().min(0);

const historyEntrySchema = z.object({
  run: z.string(),
  startedAt: z.string(),
  rate: z.number().nullable().describe("the mean pass rate over the cases with a graded trial"),
  interval: intervalSchema.nullable().describe("95 % Wilson score interval of rate"),
  cases: number,
  passed: number.describe("cases that reached their pass rate"),
  trials: number,
  verdict: z.string().describe("of the check, else of the drift monitor, else whether the suite passed"),
  changes: z.array(z.string()).exactOptional().describe("of the tool list since the run before; absent for the first"),
  suiteChanged: z.literal(true).exactOptional().describe("the suite file differs from that of the run before"),
});
export type HistoryEntry = z.infer<typeof historyEntrySchema>;

/** The runs of one suite on one model, the oldest first. */
const historySchema = z.object({ suite: z.string(), model: z.string(), runs: z.array(historyEntrySchema) });
export type History = z.infer<typeof historySchema>;

/** The output of `evals show --history --json`. */
export const historyOutputSchema = z.object({ histories: z.array(historySchema) });

/** A run with the summaries of its suites. */
export type PastRun = { manifest: RunManifest; suites: readonly SuiteSummary[] };

/** The history of every suite and model in these runs, which are sorted from old to new. */
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

/** The mean pass rate over graded cases, with its 95% Wilson interval with n = cases. Null without such a case. */
function meanRate(cases: readonly CaseSummary[]): Pick<HistoryEntry, "rate" | "interval"> {
  const rates = cases.flatMap((one) => one.rate ?? []);
  const sum = sumOf(rates, (rate) => rate);
  return {
    rate: rates.length === 0 ? null : sum / rates.length,
    interval: wilson({ passed: sum, trials: rates.length }) ?? null,
  };
}

function makeEntry({ id, startedAt, cache }: RunManifest, suite: SuiteSummary): HistoryEntry {
  const { cases, verdict, drift, totals, ok, kind, failOn } = suite;
  const checked = verdict && verdict.kind !== "unchanged" ? verdict.kind : undefined;
  const passed = kind === "retrieval baseline" && failOn?.length === 0 ? "smoke check" : "passed";
  const plain = cache ? "draft" : ok ? passed : "not passed";
  return {
    run: id,
    startedAt,
    ...meanRate(cases),
    cases: cases.length,
    passed: cases.filter((one) => one.ok).length,
    trials: totals.trials,
    verdict: checked ?? readDrift(drift) ?? plain,
  };
}

/** The verdict of a night, or for another run only whether its model drifted. */
function readDrift(drift: SuiteSummary["drift"]): string | undefined {
  if (!drift || (drift.nightly && drift.uncounted)) return undefined;
  const { kind } = drift.verdict;
  return kind === "drifted" || drift.nightly ? kind.replace("-", " ") : undefined;
}

type Listed = { manifest: RunManifest; suite: ManifestSuite };

/** The labels of the changes between the tools that the cases of both runs were shown, each once. */
function listToolChanges(before: Listed, now: Listed): string[] {
  const toLists = ({ manifest: { toolsets }, suite: { cases } }: Listed) => ({ cases, toolsets });
  const changed = listChangesByCase(toLists(before), toLists(now));
  return [...new Set(changed.flatMap(({ changes }) => changes.map(({ label }) => label)))];
}
