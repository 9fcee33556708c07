import { appendFile, type FileHandle, mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import writeFileAtomic from "write-file-atomic";
import { importModule } from "../code/module.ts";
import { csvHead, csvWriter } from "../reports/csv.ts";
import type { Blocks } from "../reports/document.ts";
import { renderPage } from "../reports/html.ts";
import { type ReportInput, type ReportName, reports } from "../reports/index.ts";
import { renderMarkdown } from "../reports/markdown.ts";
import { PageTrialCollector } from "../reports/pageTrials.ts";
import { type RunInput, runDocument } from "../reports/run.ts";
import { experimentPage } from "../reports/runPage.ts";
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
import { findRecord, readTrials } from "../runs/record.ts";
import type { Reporter, ReporterInput } from "../types/custom.ts";
import { EvalsError, type ExitCode, exitCodes, formatProblem, messageOf } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import type { RunManifest } from "../types/run.ts";
import { knownSecrets } from "../types/secrets.ts";
import type { Trial } from "../types/trial.ts";
import { summariser } from "../verdicts/summary.ts";
import { exportTraces } from "./otlp.ts";

export type ReportOptions = {
  run?: string | undefined;
  as: ReportName | "csv";
  out: string;
  explain?: boolean;
  /** The collector that gets each trial as a trace. */
  otlp?: string | undefined;
};

/** `evals report`: reads the record and prints it in the form that was asked for; `csv` is its trials, one a line. */
export async function report({ run, as, out, explain = false, otlp }: ReportOptions, io: Io): Promise<ExitCode> {
  const { dir, manifest } = await findRecord("run", run ?? "latest", resolve(io.cwd, out));
  const problem = otlp === undefined ? undefined : await exportTraces({ dir, run: manifest.id }, otlp, io);
  if (problem) io.err(`${formatProblem(problem)}\n`);
  const exitCode = problem ? exitCodes.incomplete : exitCodes.passed;
  if (as === "csv") {
    const write = csvWriter(manifest);
    io.out(csvHead);
    for await (const trial of readTrials(dir, manifest.id)) io.out(write(trial));
    return exitCode;
  }
  const results = summariser(manifest, dir);
  const trials = new PageTrialCollector(manifest);
  for await (const trial of readTrials(dir, manifest.id)) {
    results.add(trial);
    if (as === "html") trials.add(trial);
  }
  printReport(as, { summary: results.summary(), manifest, explain, trials }, io);
  return exitCode;
}

/** The folder under `out` with the reports of the last run: CI finds them under one path. It holds no record. */
const lastResult = "last-result";

/**
 * Writes every report that has a file of its own into the run's folder and into `last-result/` next to it, and the
 * workspaces of skill-creator. What another run left in `last-result/` is removed.
 */
export async function writeReports(dir: string, input: ReportInput, io: Pick<Io, "env">): Promise<void> {
  await rm(join(dirname(dir), lastResult), { recursive: true, force: true });
  const trials = new PageTrialCollector(input.manifest);
  for await (const trial of readTrials(dir, input.manifest.id)) trials.add(trial);
  const written = Object.values(reports).flatMap((report) =>
    "file" in report && report.file ? [writeReport(dir, report.file, report.render({ ...input, trials }), io)] : [],
  );
  await Promise.all([...written, writeSkillCreator(dir, input)]);
}

/** Writes one report of a run into its folder and into `last-result/`. */
export async function writeReport(dir: string, name: string, text: string, io: Pick<Io, "env">): Promise<void> {
  for (const folder of [dir, join(dirname(dir), lastResult)]) await writeText(folder, name, text, io);
}

/** Writes the reports of an experiment into the folder of its record. */
export async function writeExperimentReports(
  { dir, manifest }: { dir: string; manifest: RunManifest },
  blocks: Blocks,
  io: Pick<Io, "env">,
): Promise<void> {
  const trials = new PageTrialCollector(manifest);
  for await (const trial of readTrials(dir, manifest.id)) trials.add(trial);
  await Promise.all([
    writeText(dir, reports.html.file, renderPage(experimentPage(blocks, manifest, trials)), io),
    writeText(dir, reports.markdown.file, renderMarkdown(blocks), io),
  ]);
}

async function writeText(folder: string, name: string, text: string, { env }: Pick<Io, "env">): Promise<void> {
  const file = join(folder, name);
  await mkdir(folder, { recursive: true })
    .then(() => writeFileAtomic(file, knownSecrets(env).redact(text)))
    .catch((error) => {
      throw writeError(file, error);
    });
}

/** Prints one report as data. */
export function printReport(name: ReportName, input: ReportInput, io: Io): void {
  io.out(reports[name].render({ ...input, display: io }));
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
    if (!json && isReportName(name)) printReport(name, input, io);
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

const isReportName = (name: string): name is ReportName => Object.hasOwn(reports, name);

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
