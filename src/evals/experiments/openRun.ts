import { join } from "node:path";
import { usageError } from "../errors.ts";
import { compactJournal, createRun } from "../runs/record.ts";
import { canonicalJson, jsonObjectSchema } from "../types/json.ts";
import type { Experiment, RunManifest } from "../types/run.ts";
import { cellKey, type Trial } from "../types/trial.ts";
import { type Summariser, summariser } from "../verdicts/summary.ts";
import { neverListed } from "../workspace/prepare.ts";
import type { OpenRecord } from "./asking.ts";
import type { Resumed } from "./resume.ts";

/** A run on disk that trials can be added to. */
export type OpenRun = OpenRecord & { manifest: RunManifest; results: Summariser };

/** Starts a new record under `out`, in a folder that is named by its id. */
export async function startRun(out: string, manifest: RunManifest): Promise<OpenRun> {
  const dir = join(out, manifest.id);
  await createRun(dir, manifest);
  return { dir, manifest, done: new Set(), spentUsd: 0, results: summariser(manifest, dir) };
}

/**
 * Opens a record to be finished. Trials that were cancelled, or not asked for want of budget, are asked again, and with
 * `retryBroken` all that broke. Refused when the suites, the tools or the models are no longer those of the record.
 */
export async function resumeRun(
  { dir, manifest: before }: Pick<Resumed, "dir" | "manifest">,
  now: RunManifest,
  retryBroken: boolean,
  onKept: (trial: Trial) => void = () => {},
): Promise<OpenRun> {
  refuseChanges(before, now);
  // What could not be listed before is listed now; all else was just found to be the same.
  const suites = now.suites.map((suite) => {
    const checks = before.suites.find(({ name }) => name === suite.name)?.checks;
    return { ...suite, ...(checks && { checks }) };
  });
  const manifest = { ...before, suites, toolsets: { ...before.toolsets, ...now.toolsets } };
  const done = new Set<string>();
  const results = summariser(manifest, dir);
  let spentUsd = 0;
  const final = ({ outcome }: Trial) =>
    outcome.kind === "answered" || !(retryBroken || outcome.stage === "cancelled" || outcome.stage === "budget");
  await compactJournal(dir, final, (trial) => {
    done.add(cellKey(trial.cell));
    results.add(trial);
    onKept(trial);
    if (trial.costUsd !== "unknown") spentUsd += trial.costUsd;
  });
  return { dir, manifest, done, spentUsd, results };
}

function refuseChanges(before: RunManifest, now: RunManifest): void {
  const changed = [
    ...(sameExperiment(before, now) ? [] : ["it is asked with other wordings, sizes or trials"]),
    ...before.suites.flatMap((suite) => {
      const current = now.suites.find(({ name }) => name === suite.name);
      if (!current) return [`the suite ${suite.name} is gone`];
      if (current.hash !== suite.hash) return [`the suite ${suite.name} was edited`];
      return sameLists(suite, current) ? [] : [`the tools of the suite ${suite.name} changed`];
    }),
    ...(sameJudge(before, now) ? [] : ["another judge is asked, or in another way"]),
    ...before.models.flatMap((model) => {
      const current = now.models.find(({ id }) => id === model.id);
      return current && canonicalJson(current.settings) === canonicalJson(model.settings)
        ? []
        : [`the settings of ${model.id} changed`];
    }),
  ];
  if (changed.length === 0) return;
  throw usageError(
    `the run ${before.id} cannot be resumed: ${changed.join("; ")}`,
    "Its record stays as it is. Start a new run.",
  );
}

/** What is asked, beside the suite itself. Arms that are made as they are asked for are not compared. */
function sameExperiment({ experiment: before }: RunManifest, { experiment: now }: RunManifest): boolean {
  const listed = ({ cases, arms, setup }: Experiment) =>
    canonicalJson(jsonObjectSchema.parse({ cases, setup, ...(now?.arms.length && { arms }) }));
  return before && now ? listed(before) === listed(now) : before === now;
}

function sameJudge({ judge: before }: RunManifest, { judge: now }: RunManifest): boolean {
  const asked = (judge: RunManifest["judge"]) =>
    judge && canonicalJson({ model: judge.model, settings: judge.settings });
  return asked(before) === asked(now);
}

type ManifestSuite = RunManifest["suites"][number];

/** Whether every case is asked with the list it was asked with before. A server that was never reached may be now. */
function sameLists(before: ManifestSuite, now: ManifestSuite): boolean {
  return before.cases.every(
    ({ toolset }, index) => toolset === neverListed.hash || toolset === now.cases[index]?.toolset,
  );
}
