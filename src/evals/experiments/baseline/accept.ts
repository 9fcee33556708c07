import { relative, resolve } from "node:path";
import { sumOf } from "../../base/collections.ts";
import { redactValue } from "../../base/secrets/secrets.ts";
import { pool } from "../../base/stats/counts.ts";
import type { Baseline } from "../../base/types/check.ts";
import {
  EvalsError,
  type ExitCode,
  exitCodes,
  type Problem,
  printProblem,
  usageError,
} from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { RunManifest, SuiteSummary } from "../../base/types/run.ts";
import { isCallable, type OfferedTool } from "../../base/types/tool.ts";
import {
  baselineFile,
  createBaseline,
  expectSuite,
  readBaseline,
  withPlacebo,
  writeBaseline,
} from "../../records/baseline.ts";
import { findRecord } from "../../records/find.ts";
import { type Block, heading, text } from "../../reports/document.ts";
import { count, integer, some } from "../../reports/format.ts";
import { renderTerminal } from "../../reports/terminal.ts";
import { readResults } from "../pipeline/record.ts";
import { countOffered } from "../results/text.ts";

export type AcceptOptions = { targets?: string[] | undefined; baselines: string; out: string; force: boolean };

/** Accepts a run that just ended, whatever its outcome. With `json`, standard output has the JSON of the run alone. */
export async function acceptRun(
  run: string,
  { json, ...options }: { baselines: string; out: string; json?: boolean },
  io: Io,
): Promise<void> {
  await accept({ ...options, targets: [run], force: true }, json ? { ...io, out: io.err } : io);
}

/** `evals baseline accept`: writes one baseline for each suite and model of a run. Writes nothing on an error. */
export async function accept({ targets = [], baselines: dir, out, force }: AcceptOptions, io: Io): Promise<ExitCode> {
  const [run = "latest", ...more] = targets;
  if (more.length > 0)
    throw usageError("Only one run can be accepted at a time.", "Name one run, or none for the latest.");
  const { dir: folder, manifest: found } = await findRecord("run", run, resolve(io.cwd, out));
  // Another environment, with other secrets, may have written the record.
  const manifest = redactValue(found, io);
  refusePartial(manifest);
  const results = await readResults(folder, manifest);
  // Lift is measured within each run, against the same queries without the skill, so there is nothing to accept.
  const suites = results.summary().suites.filter(({ arms = [] }) => !arms.some(({ axis }) => axis === "skill"));
  if (suites.length === 0 && results.summary().suites.length > 0) {
    io.err("There is nothing to accept: what a skill is worth is measured within each run.\n");
    return exitCodes.passed;
  }
  const graded = suites.filter(({ cases }) => cases.some(({ trials }) => trials > 0));
  refuseUnfit(manifest, suites, graded, force);
  for (const problem of listWarnings(manifest, suites, graded)) printProblem(io)(problem);

  const now = new Date();
  const made = await Promise.all(
    graded.map(async ({ name, model, cases, repliedBy }) => {
      const file = baselineFile(resolve(io.cwd, dir), name, model);
      const fresh = createBaseline(manifest, name, model, new Map(cases.map((one) => [one.id, one])), now, repliedBy);
      return { file, fresh, old: await readReplaced(file, fresh, io) };
    }),
  );
  for (const { file, fresh, old } of made) {
    await writeBaseline(file, old?.placebo ? withPlacebo(fresh, old.placebo) : fresh);
    io.out(renderTerminal(acceptedDocument(fresh, relative(io.cwd, file)), io));
  }
  return exitCodes.passed;
}

type Summaries = readonly SuiteSummary[];
const nameSuites = (suites: Summaries) => suites.map(({ name, model }) => `${name} on ${model}`);

/** Throws for a run that asked only some cases, even with `force`: the baseline would lose the others. */
function refusePartial({ id, partial, suites }: RunManifest): void {
  if (!partial) return;
  const asked = sumOf(suites, ({ cases }) => cases.length);
  const leftOut = sumOf(partial.leftOut, ({ cases }) => cases);
  const what =
    leftOut > 0 ? `it asked ${asked} of ${count(asked + leftOut, "case")}` : "it was made with --changed or --watch";
  throw usageError(
    `The run ${id} is partial: ${what}.`,
    "Run `evals run` without --changed and --watch, and accept that run.",
  );
}

function refuseUnfit(manifest: RunManifest, suites: Summaries, graded: Summaries, force: boolean): void {
  const { id, finishedAt } = manifest;
  if (manifest.cache)
    throw usageError(
      `The run ${id} was made with --cache: it repeats replies of earlier runs, so it shows no pass rate.`,
      "Run again without --cache, and accept that run.",
    );
  if (manifest.suites.some(({ arms }) => arms?.axis === "distractors"))
    throw usageError(
      `The run ${id} was made with --distractors, so its cases saw a part of their tools.`,
      "Run again without --distractors, and accept that run.",
    );
  const missing = sumOf(suites, ({ totals }) => totals.missing);
  if (!force && (finishedAt === undefined || missing > 0)) {
    const what = missing > 0 ? `${count(missing, "trial")} missing` : "it was interrupted at its end";
    const hint = `Finish it with \`evals run --resume ${id}\`, or accept it as it is with --force.`;
    throw usageError(`The run ${id} is incomplete: ${what}.`, hint);
  }
  if (!force) refuseUnwanted(manifest, suites);
  const ungraded = nameSuites(suites.filter((suite) => !graded.includes(suite)));
  if (graded.length > 0 && (force || ungraded.length === 0)) return;
  const rest = graded.length > 0 ? " With --force, the graded suites are accepted without it." : "";
  const hint = `Find the cause with \`evals show\`, then run again.${rest}`;
  throw usageError(`The run ${id} has no graded trial${ungraded.length > 0 ? ` of ${some(ungraded)}` : ""}.`, hint);
}

function refuseUnwanted({ id, flags }: RunManifest, suites: Summaries): void {
  if (flags.case !== undefined)
    throw usageError(
      `The run ${id} was made with --case: its baseline would cover no other cases.`,
      "Run without --case and accept that run, or accept this one with --force.",
    );
  const failed = suites.filter((suite) => (suite.failed ?? []).length > 0);
  if (failed.length === 0) return;
  const what = failed.map((suite) => `${suite.name} on ${suite.model} (${suite.failed?.join(", ")})`);
  throw usageError(
    `The run ${id} failed: ${some(what)}.`,
    "Fix what failed and run again. To accept it as it is: `evals baseline accept --force`, or `evals run --accept`.",
  );
}

function listWarnings({ git, flags }: RunManifest, suites: Summaries, graded: Summaries): Problem[] {
  const warning = (message: string, hint: string): Problem => ({ severity: "warning", message, hint });
  const leftOut = nameSuites(suites.filter((suite) => !graded.includes(suite)));
  const open = graded.flatMap(({ name, model, cases }) => {
    const ids = cases.filter(({ trials }) => trials === 0).map(({ id }) => id);
    const message = `"${name}" on ${model} has no graded trial of ${some(ids)}.`;
    return ids.length > 0 ? [warning(message, "Run it again and accept that run, to know how they pass.")] : [];
  });
  const dirty = `The run was made with changes that are not in commit ${git?.commit.slice(0, 12)}.`;
  const again = "Commit, run and accept again if the commit should identify these tools.";
  return [
    ...leftOut.map((name) => warning(`Skipped ${name}: nothing was graded.`, "Run it again, then accept that run.")),
    ...open,
    ...(flags.case === undefined ? [] : [warning("The run was made with --case.", "It covers no other cases.")]),
    ...(git?.dirty ? [warning(dirty, again)] : []),
  ];
}

/** Reads the baseline that is replaced. Warns if it is unreadable. Throws if it is of another suite. */
async function readReplaced(file: string, fresh: Baseline, io: Io): Promise<Baseline | undefined> {
  const old = await readBaseline(file).catch((error: unknown) => {
    if (!(error instanceof EvalsError)) throw error;
    for (const problem of error.problems)
      printProblem(io)({ ...problem, severity: "warning", hint: "It is replaced." });
  });
  if (old) expectSuite(old, fresh.suite, fresh.model.id, file);
  return old ?? undefined;
}

function acceptedDocument({ suite, model, cases, toolsets }: Baseline, file: string): Block[] {
  const { passed, trials } = pool(cases);
  const counts = [
    count(cases.length, "case"),
    ...countOffered(countNames(toolsets, isCallable), countNames(toolsets, isSkill)),
    `${integer(passed)} of ${count(trials, "trial")} passed`,
  ];
  return [
    heading(1, `ACCEPTED ${suite} · ${model.id} · ${counts.join(", ")}`, "good"),
    text(`Written to ${file}`, "Next: commit the file; `evals run` compares with it once the tools change."),
  ];
}

const isSkill = ({ origin }: OfferedTool) => origin === "skill";
const countNames = (toolsets: Baseline["toolsets"], isCounted: (tool: OfferedTool) => boolean) =>
  new Set(Object.values(toolsets).flatMap((list) => list.filter(isCounted).map(({ name }) => name))).size;
