import { appendFile, copyFile, type FileHandle, mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import * as z from "zod";
import { importModule } from "../code/module.ts";
import { replaceFile } from "../files/replaceFile.ts";
import { csvHead, csvWriter } from "../reports/csv.ts";
import { type Form, type FormName, formNames, forms, listForms, type Report, runReport } from "../reports/index.ts";
import { renderMarkdown } from "../reports/markdown.ts";
import { PageTrialCollector } from "../reports/pageTrials.ts";
import { type RunInput, runDocument } from "../reports/run.ts";
import {
  BenchmarkFigures,
  type BenchmarkRun,
  benchmarkMetadata,
  benchmarkRun,
  evalMetadata,
  findPlace,
  gradingSchema,
  listPlaces,
  listWorkspaces,
  type ResultFolder,
  runFiles,
  type SkillCreatorWorkspace,
  timingSchema,
} from "../reports/skillCreator.ts";
import { writeError } from "../runs/disk.ts";
import { findAnyRecord } from "../runs/find.ts";
import { readTrials, recordResult } from "../runs/record.ts";
import type { Reporter, ReporterInput } from "../types/custom.ts";
import { EvalsError, type ExitCode, exitCodes, messageOf, printProblem, usageError } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import type { RunManifest } from "../types/run.ts";
import { knownSecrets } from "../types/secrets.ts";
import type { Trial } from "../types/trial.ts";
import { summariser } from "../verdicts/summary.ts";
import { exportTraces } from "./otlp.ts";

export type ReportOptions = {
  run?: string | undefined;
  as: FormName | "csv";
  out: string;
  explain?: boolean;
  /** The collector that gets each trial as a trace. */
  otlp?: string | undefined;
};

/** `evals report`: reads a record and prints it in the form that was asked for; `csv` is its trials, one a line. */
export async function report({ run, as, out, explain = false, otlp }: ReportOptions, io: Io): Promise<ExitCode> {
  const record = await findAnyRecord(run ?? "latest", resolve(io.cwd, out), printProblem(io));
  const { dir, manifest } = record;
  const problem = otlp === undefined ? undefined : await exportTraces({ dir, run: manifest.id }, otlp, io);
  if (problem) printProblem(io)(problem);
  if (as === "csv") {
    const write = csvWriter(manifest);
    io.out(csvHead);
    for await (const trial of readTrials(dir, manifest.id)) io.out(write(trial));
  } else {
    const read = await readReport(record, { explain, withTrials: as === "html" });
    const suited = listForms(read);
    if (!suited.includes(as))
      throw usageError(
        `A record of \`evals ${read.command}\` has no report as ${as}.`,
        `Use one of ${[...suited, "csv"].join(", ")}.`,
      );
    printReport(as, read, io);
  }
  return problem ? exitCodes.incomplete : exitCodes.passed;
}

/**
 * The report of a record: made from the journal of a run, or from the result that an experiment recorded. Throws a usage
 * error for an experiment without a result, or with one that cannot be read.
 */
export async function readReport(
  { dir, manifest }: { dir: string; manifest: RunManifest },
  { explain = false, withTrials = false }: { explain?: boolean; withTrials?: boolean },
): Promise<Report> {
  const { id, experiment } = manifest;
  const results = summariser(manifest, dir);
  const trials = new PageTrialCollector(manifest);
  if (withTrials || !experiment)
    for await (const trial of readTrials(dir, id)) {
      if (!experiment) results.add(trial);
      if (withTrials) trials.add(trial);
    }
  if (!experiment) return runReport({ summary: results.summary(), manifest, explain, trials });
  const hint = `Finish it with \`evals ${experiment.command} --resume ${id}\`: no recorded trial is asked again.`;
  if (!experiment.result) throw usageError(`The record ${id} of \`evals ${experiment.command}\` has no result.`, hint);
  const { experimentReport } = await loadExperiments();
  try {
    return experimentReport(manifest, experiment, trials);
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    throw usageError(`The result of the record ${id} cannot be read:\n${z.prettifyError(error)}`, hint);
  }
}

/** A run needs none of their reports. */
const loadExperiments = () => import("../reports/experiments.ts");

/** The folder under `out` with the reports of the last run: CI finds them under one path. It holds no record. */
const lastResult = "last-result";
/** What it can hold: the forms with a file of their own, and what is added to them. */
const resultFiles = [...Object.values<Form>(forms).flatMap(({ file }) => file ?? []), "blame.md", "comment.md"];

/**
 * Writes every form that has a file of its own into the run's folder, and the workspaces of skill-creator. The folder
 * `last-result/` next to it then has the reports of this run and of no other.
 */
export async function writeReports(
  dir: string,
  input: RunInput & { trials: PageTrialCollector },
  io: Pick<Io, "env">,
): Promise<void> {
  await writeForms(runReport(input), dir, io);
  await publish(dir);
  await writeSkillCreator(dir, input);
}

/** Writes one report of a run, also into `last-result/`. */
export async function writeReport(dir: string, name: string, text: string, io: Pick<Io, "env">): Promise<void> {
  await writeText(dir, name, text, io);
  await publish(dir);
}

/** Makes `last-result/` a copy of a run's reports. It is replaced as a whole, because several runs can end at once. */
async function publish(dir: string): Promise<void> {
  const last = join(dirname(dir), lastResult);
  const [made, replaced] = [join(dir, ".last-result"), join(dir, ".replaced")];
  const remove = (folder: string) => rm(folder, { recursive: true, force: true });
  try {
    await remove(made);
    await mkdir(made);
    for (const name of resultFiles) await ignoring(["ENOENT"], copyFile(join(dir, name), join(made, name)));
    let isDone = false;
    while (!isDone) {
      await remove(replaced);
      await ignoring(["ENOENT"], rename(last, replaced));
      // Another run can come between.
      isDone = await ignoring(["ENOTEMPTY", "EEXIST"], rename(made, last));
    }
    await remove(replaced);
  } catch (error) {
    throw writeError(last, error);
  }
}

/** Whether it was done; false where it failed for one of these reasons. Rejects for any other. */
async function ignoring(reasons: readonly string[], work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (reasons.includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

/** Puts the result of an experiment on its record, and writes its reports beside it. Returns the report. */
export async function recordExperiment(
  { dir, manifest, trials }: { dir: string; manifest: RunManifest; trials: PageTrialCollector },
  result: object,
  io: Pick<Io, "env">,
): Promise<Report> {
  const decided = await recordResult(dir, manifest, result, knownSecrets(io.env).redact);
  if (!decided.experiment) throw new Error("the record of an experiment has its question");
  const { experimentReport } = await loadExperiments();
  const made = experimentReport(decided, decided.experiment, trials);
  await writeForms(made, dir, io);
  return made;
}

async function writeForms(made: Report, dir: string, io: Pick<Io, "env">): Promise<void> {
  // One after the other: of a long run each is large.
  for (const name of listForms(made)) {
    const form: Form = forms[name];
    if (form.file !== undefined) await writeText(dir, form.file, form.parts?.(made) ?? form.render(made), io);
  }
}

async function writeText(
  dir: string,
  name: string,
  text: string | Generator<string>,
  { env }: Pick<Io, "env">,
): Promise<void> {
  const file = join(dir, name);
  const { redact } = knownSecrets(env);
  const redacted = function* () {
    for (const part of typeof text === "string" ? [text] : text) yield redact(part);
  };
  await replaceFile(file, redacted()).catch((error) => {
    throw writeError(file, error);
  });
}

/** Prints one form of a run. */
export function printRun(name: FormName, input: RunInput, io: Io): void {
  printReport(name, runReport(input), io);
}

/** Prints one form of a report. */
export function printReport(name: FormName, made: Report, io: Io): void {
  const form: Form = forms[name];
  for (const part of form.parts?.(made) ?? [form.render(made, io)]) io.out(part);
}

/** GitHub takes 1 MiB of a step's summary, and 65,536 characters of a comment. */
const limits = { summary: 1_000_000, comment: 60_000 } as const;

/** Starts every comment, so that the next run finds it again. */
const commentMark = "<!-- tool-evals -->";

/**
 * In a workflow of GitHub, adds the run to the summary of the step, and writes the body of a comment on a pull request:
 * `comment.md` beside the other reports. `blame`: its report in Markdown. Throws EvalsError when a file cannot be written.
 */
export async function writeGithubFiles(dir: string, input: RunInput, blame: string | undefined, io: Io): Promise<void> {
  const text = [renderMarkdown(runDocument(input)), ...(blame === undefined ? [] : [blame])].join("\n");
  await writeReport(dir, "comment.md", `${commentMark}\n${cutLines(text, limits.comment)}`, io);
  const file = io.env.GITHUB_STEP_SUMMARY;
  if (file === undefined || file === "") return;
  const safe = knownSecrets(io.env).redact(cutLines(text, limits.summary));
  await appendFile(file, `${safe}\n`).catch((error) => {
    throw writeError(file, error);
  });
}

/** The whole lines that fit, and a note if some do not. Folded parts that are cut are closed. */
function cutLines(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text;
  const kept = Buffer.from(text).subarray(0, most).toString("utf8");
  const whole = kept.slice(0, kept.lastIndexOf("\n"));
  const open = whole.split("<details").length - whole.split("</details>").length;
  return `${whole}\n${"</details>\n".repeat(Math.max(0, open))}\nThe rest is in the report of the run.\n`;
}

/**
 * Prints one further form of a run. With --json, standard output holds the one object: then only what users report to
 * elsewhere is called. Throws an error with exit code 3 for a reporter that fails: the run is on the record by then.
 */
export async function printForm(name: string, input: ReporterInput, json: boolean, io: Io): Promise<void> {
  const file = /^custom:(.*)$/s.exec(name)?.[1];
  if (file === undefined) {
    const form = formNames.find((known) => known === name);
    if (!json && form) printRun(form, input, io);
    return;
  }
  const fail = (message: string, hint: string) =>
    new EvalsError({ severity: "error", message, hint, place: { file } }, exitCodes.incomplete);
  let text: unknown;
  try {
    const { default: report } = await importModule(resolve(io.cwd, file));
    if (typeof report !== "function") throw new Error("its default export is not a function");
    text = await (report as Reporter)(input);
  } catch (error) {
    throw fail(`The reporter failed: ${messageOf(error)}.`, `The run is recorded in ${input.dir}.`);
  }
  if (typeof text === "string") (json ? io.err : io.out)(text.endsWith("\n") ? text : `${text}\n`);
}

/**
 * Writes the workspaces that skill-creator's viewer and aggregation read, for a run that measures the lift of skills. The
 * journal is read trial by trial and the benchmark is made from the written files, so neither is held in memory. Other
 * files there, such as a reader's feedback, are kept.
 */
async function writeSkillCreator(dir: string, { summary, manifest }: RunInput): Promise<void> {
  const workspaces = listWorkspaces(manifest);
  if (workspaces.length === 0) return;
  for (const workspace of workspaces) await writeMetadata(join(dir, workspace.folder), workspace);
  for await (const trial of readTrials(dir, manifest.id)) {
    for (const workspace of workspaces) {
      const place = findPlace(workspace, trial.cell);
      if (place) await writeRun(join(dir, workspace.folder, place.folder), trial);
    }
  }
  for (const workspace of workspaces) {
    const figures = new BenchmarkFigures();
    const file = join(dir, workspace.folder, "benchmark.json");
    const written = await open(`${file}.part`, "w");
    try {
      await written.write(`{"metadata":${JSON.stringify(benchmarkMetadata(workspace, manifest))},\n"runs":[`);
      await writeRuns(join(dir, workspace.folder), listPlaces(workspace), figures, written);
      const notes = JSON.stringify(figures.notes(workspace, summary));
      await written.write(`\n],\n"run_summary":${JSON.stringify(figures.runSummary())},\n"notes":${notes}}\n`);
    } finally {
      await written.close();
    }
    await rename(`${file}.part`, file);
  }
}

async function writeMetadata(dir: string, workspace: SkillCreatorWorkspace): Promise<void> {
  for (const { eval: one, folder, run } of listPlaces(workspace)) {
    if (run > 1) continue;
    const metadata = json(evalMetadata(one));
    const configuration = dirname(join(dir, folder));
    await mkdir(configuration, { recursive: true });
    await Promise.all(
      [configuration, dirname(configuration)].map((at) => writeFile(join(at, "eval_metadata.json"), metadata)),
    );
  }
}

async function writeRun(dir: string, trial: Trial): Promise<void> {
  const { grading, timing, output } = runFiles(trial);
  await mkdir(join(dir, "outputs"), { recursive: true });
  await Promise.all([
    ...(grading ? [writeFile(join(dir, "grading.json"), json(grading))] : []),
    writeFile(join(dir, "timing.json"), json(timing)),
    writeFile(join(dir, "outputs/answer.md"), output),
  ]);
}

async function writeRuns(dir: string, places: readonly ResultFolder[], figures: BenchmarkFigures, into: FileHandle) {
  let separator = "\n";
  for (const place of places) {
    const run = await readRun(dir, place);
    if (!run) continue;
    figures.add(run);
    await into.write(separator + JSON.stringify(run));
    separator = ",\n";
  }
}

/** A graded run as it was written; undefined when there is none. */
async function readRun(dir: string, place: ResultFolder): Promise<BenchmarkRun | undefined> {
  const read = async (name: string) => JSON.parse(await readFile(join(dir, place.folder, name), "utf8"));
  try {
    return benchmarkRun(
      place,
      gradingSchema.parse(await read("grading.json")),
      timingSchema.parse(await read("timing.json")),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
