import { relative, resolve } from "node:path";
import { sumOf } from "../../base/collections.ts";
import { redactValue } from "../../base/secrets/secrets.ts";
import { pool } from "../../base/stats/counts.ts";
import { didYouMean } from "../../base/text/nearest.ts";
import { type Baseline, toComparedRun } from "../../base/types/check.ts";
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
import type { OfferedTool } from "../../base/types/tool.ts";
import {
  baselineFile,
  createBaseline,
  expectSuite,
  type NamedBaseline,
  readBaseline,
  readBaselines,
  withPlacebo,
  writeBaseline,
} from "../../records/baseline.ts";
import { findRecord } from "../../records/find.ts";
import {
  type Block,
  type Blocks,
  diff,
  facts,
  heading,
  makeColumns,
  section,
  table,
  text,
  unlimited,
} from "../../reports/document.ts";
import { count, integer, share, some } from "../../reports/format.ts";
import { renderTerminal } from "../../reports/terminal.ts";
import { listChangesByCase } from "../../servers/changes/changes.ts";
import { comparability } from "../design/comparable.ts";
import { readResults } from "../pipeline/record.ts";
import { countOffered } from "../results/text.ts";

/** Recommended graded trials per case. They show how the model performed; no test of a check depends on them. */
const bank = 3;

export type BaselineOptions = {
  action: "accept" | "show";
  targets?: string[] | undefined;
  baselines: string;
  out: string;
  force: boolean;
};

/** `evals baseline`: accepts a run as baselines, or shows them. */
export function baseline(flags: BaselineOptions, io: Io): Promise<ExitCode> {
  return { accept, show }[flags.action](flags, io);
}

/** Accepts a run that just ended, whatever its outcome. With `json`, standard output has the JSON of the run alone. */
export async function acceptRun(
  run: string,
  { json, ...options }: { baselines: string; out: string; json?: boolean },
  io: Io,
): Promise<void> {
  await accept({ ...options, action: "accept", targets: [run], force: true }, json ? { ...io, out: io.err } : io);
}

/** Writes one baseline for each suite and model of a run, and prints the changes. Writes nothing on an error. */
async function accept({ targets = [], baselines: dir, out, force }: BaselineOptions, io: Io): Promise<ExitCode> {
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
    const known = typeof old === "object" ? old.placebo : undefined;
    await writeBaseline(file, known ? withPlacebo(fresh, known) : fresh);
    io.out(renderTerminal(acceptedDocument(fresh, relative(io.cwd, file), old), io));
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

function listWarnings({ models, git, flags }: RunManifest, suites: Summaries, graded: Summaries): Problem[] {
  const warning = (message: string, hint: string): Problem => ({ severity: "warning", message, hint });
  const leftOut = nameSuites(suites.filter((suite) => !graded.includes(suite)));
  const thin = graded.flatMap(({ name, model, cases }) => {
    const wanted = models.find(({ id }) => id === model)?.deterministic ? 1 : bank;
    const few = cases
      .filter(({ trials }) => trials < wanted)
      .map(({ id, trials }) => (trials > 0 ? `${id} (${trials})` : id));
    const hint =
      wanted === 1
        ? "They cannot be compared."
        : `Checks ask both lists anew, but cannot tell how the model was: run with -n ${bank} or more.`;
    const least = wanted === 1 ? "no graded trial" : `fewer than ${wanted} graded trials`;
    const message = `"${name}" on ${model} has ${least} of ${some(few)}.`;
    return few.length > 0 ? [warning(message, hint)] : [];
  });
  const dirty = `The run was made with changes that are not in commit ${git?.commit.slice(0, 12)}.`;
  const again = "Commit, run and accept again if the commit should identify these tools.";
  return [
    ...leftOut.map((name) => warning(`Skipped ${name}: nothing was graded.`, "Run it again, then accept that run.")),
    ...thin,
    ...(flags.case === undefined ? [] : [warning("The run was made with --case.", "It covers no other cases.")]),
    ...(git?.dirty ? [warning(dirty, again)] : []),
  ];
}

/** Reads the baseline that is replaced. Warns if it is unreadable. Throws if it is of another suite. */
async function readReplaced(file: string, fresh: Baseline, io: Io): Promise<Baseline | "none" | "unreadable"> {
  const old = await readBaseline(file).catch((error: unknown) => {
    if (!(error instanceof EvalsError)) throw error;
    const hint = "It is replaced without a comparison.";
    for (const problem of error.problems) printProblem(io)({ ...problem, severity: "warning", hint });
    return "unreadable" as const;
  });
  if (typeof old === "object") expectSuite(old, fresh.suite, fresh.model.id, file);
  return old ?? "none";
}

async function show({ targets = [], baselines: dir }: BaselineOptions, io: Io): Promise<ExitCode> {
  const named = await Promise.all(targets.map((target) => findNamed(target, dir, io)));
  const found = targets.length > 0 ? named.flat() : await readAll(dir, io);
  const texts = found.map((one) => renderTerminal(baselineDocument(one.baseline, relative(io.cwd, one.file)), io));
  io.out(texts.join("\n"));
  return exitCodes.passed;
}

async function findNamed(target: string, dir: string, io: Io): Promise<NamedBaseline[]> {
  const file = resolve(io.cwd, target);
  const given = target.endsWith(".json") ? await readBaseline(file) : undefined;
  if (given) return [{ file, baseline: given }];
  const all = await readAll(dir, io);
  const found = all.filter((one) => one.baseline.suite === target);
  if (found.length > 0) return found;
  const suites = [...new Set(all.map((one) => one.baseline.suite))];
  const hint = didYouMean(target, suites, `There are baselines of ${some(suites)}.`);
  throw usageError(`There is no baseline of a suite or in a file "${target}".`, hint);
}

async function readAll(dir: string, io: Io): Promise<NamedBaseline[]> {
  const found = await readBaselines(resolve(io.cwd, dir));
  if (found.length > 0) return found;
  const hint = `Create one with \`evals run -n ${bank}\`, then \`evals baseline accept\`, or set the folder with --baselines.`;
  throw usageError(`There is no baseline under ${dir}.`, hint);
}

const describeBaseline = ({ suite, model }: Baseline) => `${suite} · ${model.id}`;

/** `4 cases, 14 tools, 78 of 80 trials passed` */
function contents({ cases, toolsets }: Baseline): string {
  const { passed, trials } = pool(cases);
  const { tools, skills } = listNames(toolsets);
  const lists = countOffered(tools.length, skills.length);
  return [count(cases.length, "case"), ...lists, `${integer(passed)} of ${count(trials, "trial")} passed`].join(", ");
}

/** The distinct names in all lists of a baseline. `tools` excludes the instructions of servers. */
function listNames(toolsets: Baseline["toolsets"]) {
  const entries = Object.values(toolsets).flat();
  const list = (all: readonly OfferedTool[]) => [...new Set(all.map(({ name }) => name))].sort();
  return {
    all: list(entries),
    tools: list(entries.filter(({ origin }) => origin !== "skill" && origin !== "instructions")),
    skills: list(entries.filter(({ origin }) => origin === "skill")),
  };
}

function baselineDocument(baseline: Baseline, file: string): Block[] {
  const { git, run, acceptedAt, harness, host, node, cases, model, toolsets } = baseline;
  const commit = git && `commit ${git.commit}${git.dirty ? " with uncommitted changes" : ""}`;
  const varies = model.deterministic ? "deterministic" : "varies";
  const rows = cases.map((one) => [one.id, rate(one)]);
  return [
    heading(1, `${describeBaseline(baseline)} · ${contents(baseline)}`),
    facts(
      ["File", file],
      ["Accepted", [acceptedAt, `from run ${run}`, ...(commit ? [commit] : [])].join(" · ")],
      ["Written by", [`tool-evals ${harness}`, ...(node ? [`Node ${node}`] : []), `host ${host}`].join(" · ")],
      ["Model", `${model.kind}, ${varies}, ${JSON.stringify(model.settings)}`],
      ["Tools", some(listNames(toolsets).all, 40)],
    ),
    table("case", makeColumns(["id", "case"], ["figure", "passed"]), rows, { max: unlimited }),
  ];
}

function acceptedDocument(fresh: Baseline, file: string, old: Baseline | "none" | "unreadable"): Block[] {
  const title = heading(1, `ACCEPTED ${describeBaseline(fresh)} · ${contents(fresh)}`, "good");
  const next = "Next: commit the file; `evals run` compares with it once the tools change.";
  const lines = [
    `Written to ${file}`,
    ...(old === "none" ? ["The first baseline of this suite and model."] : []),
    next,
  ];
  if (typeof old === "string") return [title, text(...lines)];
  const before = `the baseline of ${old.acceptedAt.slice(0, 10)} (run ${old.run})`;
  const changes = section(`Changes since ${before}`, differenceBlocks(old, fresh));
  return [title, text(...lines, changes.length === 0 ? `Nothing changed since ${before}.` : undefined), ...changes];
}

function differenceBlocks(before: Baseline, now: Baseline): Blocks {
  const comparable = comparability(toComparedRun(before), toComparedRun(now));
  const notes = comparable.kind === "comparable" ? comparable.notes : comparable.reasons;
  const blocks = listChangesByCase(before, now).flatMap(({ cases, changes }): Block[] => [
    text(cases.length < before.cases.length ? `Tools of ${some(cases)}:` : undefined),
    diff(changes, unlimited),
  ]);
  return [...blocks, text(...notes, ...rateChanges(before, now))];
}

/** The unchanged cases whose pass rate differs: `rename: 20/20 (100%) before, 11/20 (55%) now`. */
function rateChanges(before: Baseline, now: Baseline): string[] {
  const known = new Map(before.cases.map((one) => [one.id, one]));
  return now.cases.flatMap((one) => {
    const old = known.get(one.id);
    if (!old || old.hash !== one.hash || old.passed * one.trials === one.passed * old.trials) return [];
    return [`${one.id}: ${rate(old)} before, ${rate(one)} now`];
  });
}

const rate = (one: Baseline["cases"][number]) => (one.trials === 0 ? "not graded" : share(one));
