import { SeenReplies } from "../../asking/trials/runPlan.ts";
import { usageError } from "../../base/types/errors.ts";
import { canonicalJson, jsonObjectSchema } from "../../base/types/json.ts";
import type { Experiment, RunManifest } from "../../base/types/run.ts";
import { budgetedUsd, cellKey, type Trial } from "../../base/types/trial.ts";
import { lockRun } from "../../records/lock.ts";
import { compactJournal, createRun, readTrials } from "../../records/record.ts";
import { PageTrialCollector } from "../run/report/page.ts";
import { summarizer } from "../run/summary.ts";
import { neverListed } from "../workspace/cases.ts";
import type { Resumed } from "./recordedOptions.ts";

/** Reads the trials of a record into its results, and into `trials` for its page. */
export async function readResults(dir: string, manifest: RunManifest, trials?: PageTrialCollector) {
  const results = summarizer(manifest, dir);
  for await (const trial of readTrials(dir, manifest.id)) {
    results.add(trial);
    trials?.add(trial);
  }
  return results;
}

type Redact = (text: string) => string;

/** Starts a new record under `out`, in a folder named by its id. */
export async function startRecord(out: string, planned: RunManifest, redact: Redact): Promise<OpenRecord> {
  const { dir, manifest } = await createRun(out, planned, redact);
  return await openEmpty(dir, manifest, redact);
}

async function openEmpty(dir: string, manifest: RunManifest, redact: Redact) {
  const lock = await lockRun(dir);
  return {
    dir,
    manifest,
    /** This process is the only writer of the record until it releases the lock. */
    lock,
    lines: 0,
    /** The keys of recorded cells, whose trials are already in `results` and `trials`. */
    done: new Set<string>(),
    /** The cost of its trials so far, including those that are asked again. */
    spentUsd: 0,
    /** The number of broken trials that are asked again. */
    dropped: 0,
    /** The number of answered trials whose lines were removed from the journal since the record was last stopped. */
    lost: 0,
    /** Keys of the cells that are asked again because of `retryBroken`. */
    retried: new Set<string>(),
    /** The replies of an experiment or of a run with checks, which ask a trial again if its reply is a copy. */
    seen: new SeenReplies(),
    results: summarizer(manifest, dir),
    trials: new PageTrialCollector(manifest, { redact }),
  };
}

/** A record that trials can be added to. */
export type OpenRecord = Awaited<ReturnType<typeof openEmpty>>;

/**
 * Opens a record to finish it, and calls `onKept` for each trial that stays on it. Trials that were cancelled, or broke
 * because of a limit or a stopped model, are dropped and asked again; with `retryBroken`, all broken trials. Throws a
 * usage error if the suites, the tools or the models have changed since, or another process is writing the record.
 */
export async function resumeRecord(
  { dir, manifest: before }: Resumed,
  now: RunManifest,
  { retryBroken, onKept, redact }: { retryBroken: boolean; onKept(trial: Trial): void; redact: Redact },
): Promise<OpenRecord> {
  refuseChanges(before, now);
  // Take the suites of now, because a server that could not be listed before may be listed now. The rest is unchanged.
  const suites = now.suites.map((suite) => {
    const checks = before.suites.find(({ name }) => name === suite.name)?.checks;
    return { ...suite, ...(checks && { checks }) };
  });
  const manifest = { ...before, suites, toolsets: { ...before.toolsets, ...now.toolsets } };
  const record = await openEmpty(dir, manifest, redact);
  const isFinal = ({ outcome }: Trial) =>
    outcome.kind === "answered" || !(outcome.again || outcome.stage === "cancelled" || outcome.stage === "budget");
  const isKept = (trial: Trial) => {
    const isRetried = retryBroken && trial.outcome.kind === "broken" && isFinal(trial);
    const kept = isFinal(trial) && !isRetried;
    if (!kept) record.dropped++;
    if (isRetried) record.retried.add(cellKey(trial.cell));
    // A dropped trial was paid for, too.
    record.spentUsd += budgetedUsd(trial);
    return kept;
  };
  const isRepeatable = manifest.experiment !== undefined || suites.some(({ checks }) => checks !== undefined);
  let answered = 0;
  const keep = (trial: Trial) => {
    if (trial.outcome.kind === "answered") answered++;
    record.done.add(cellKey(trial.cell));
    if (isRepeatable) record.seen.add(trial);
    record.results.add(trial);
    record.trials.add(trial);
    onKept(trial);
  };
  try {
    const isOwn = before.harness === now.harness;
    record.lines = await compactJournal(dir, manifest.id, { isOwn, keep: isKept, onKept: keep, redact });
  } catch (error) {
    await record.lock.release();
    throw error;
  }
  const { trials, broken, missing } = before.totals ?? { trials: 0, broken: 0, missing: 0 };
  record.lost = Math.max(0, trials - broken - missing - answered);
  return record;
}

function refuseChanges(before: RunManifest, now: RunManifest): void {
  const changed = listChanges(before, now);
  if (changed.length === 0) return;
  throw usageError(
    `The run ${before.id} cannot be resumed: ${changed.join("; ")}.`,
    "Start a new run; its record is kept.",
  );
}

/** What of a manifest affects the answers of a run. */
type AskedParts = Pick<RunManifest, "experiment" | "judge"> & {
  suites: readonly AskedSuite[];
  models: readonly Pick<RunManifest["models"][number], "id" | "settings">[];
};
type AskedSuite = { name: string; hash: string; cases: readonly { toolset: string }[] };

/** Lists what affects the answers of a run and has changed, as clauses. */
export function listChanges(before: AskedParts, now: AskedParts): string[] {
  return [
    ...(isSameExperiment(before, now) ? [] : ["its wordings, sizes or trials changed"]),
    ...before.suites.flatMap((suite) => {
      const current = now.suites.find(({ name }) => name === suite.name);
      if (!current) return [`the suite "${suite.name}" is missing`];
      if (current.hash !== suite.hash) return [`the suite "${suite.name}" was edited`];
      return hasSameLists(suite, current) ? [] : [`the tools of the suite "${suite.name}" changed`];
    }),
    ...(isSameJudge(before, now) ? [] : ["the judge or its settings changed"]),
    ...before.models.flatMap((model) => {
      const current = now.models.find(({ id }) => id === model.id);
      return current && canonicalJson(current.settings) === canonicalJson(model.settings)
        ? []
        : [`the settings of ${model.id} changed`];
    }),
  ];
}

/** Arms that are created while an experiment runs are not compared. */
function isSameExperiment({ experiment: before }: AskedParts, { experiment: now }: AskedParts): boolean {
  const listed = ({ cases, arms, setup }: Experiment) =>
    canonicalJson(jsonObjectSchema.parse({ cases, setup, ...(now?.arms.length && { arms }) }));
  return before && now ? listed(before) === listed(now) : before === now;
}

function isSameJudge({ judge: before }: AskedParts, { judge: now }: AskedParts): boolean {
  const identify = (judge: RunManifest["judge"]) =>
    judge && canonicalJson({ model: judge.model, settings: judge.settings });
  return identify(before) === identify(now);
}

/** Whether every case has the same tools as before, or had none because its server could not be reached. */
function hasSameLists(before: AskedSuite, now: AskedSuite): boolean {
  return before.cases.every(
    ({ toolset }, index) => toolset === neverListed.hash || toolset === now.cases[index]?.toolset,
  );
}
