import { appendFile, copyFile, mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import * as z from "zod";
import { importModule, releaseSignals } from "../../base/code/module.ts";
import { replaceFile } from "../../base/files/files.ts";
import { knownSecrets, redactValue } from "../../base/secrets/secrets.ts";
import type { Reporter } from "../../base/types/custom.ts";
import {
  type ExitCode,
  exitCodes,
  formatIssues,
  messageOf,
  printProblem,
  usageError,
} from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { RunManifest } from "../../base/types/run.ts";
import { folderInRepository } from "../../input/parsing/folders.ts";
import { baselineFile, readBaseline } from "../../records/baseline.ts";
import { failToWrite, incompleteError, writeError } from "../../records/disk.ts";
import { findAnyRecord } from "../../records/find.ts";
import { recordMode } from "../../records/journal.ts";
import { readTrials, recordResult } from "../../records/record.ts";
import { renderMarkdown } from "../../reports/markdown.ts";
import { printJson } from "../../reports/result.ts";
import { renderTerminal } from "../../reports/terminal.ts";
import { readResults } from "../pipeline/record.ts";
import {
  csvHead,
  csvWriter,
  type Form,
  type FormName,
  formNames,
  forms,
  type Report,
  runReport,
} from "../run/report/forms.ts";
import { PageTrialCollector } from "../run/report/page.ts";
import { briefDocument, type RunInput, runDocument } from "../run/report/run.ts";
import { exportTraces } from "./otlp.ts";

type ReportOptions = {
  run?: string | undefined;
  format: FormName | "csv";
  out: string;
  otlp?: string | undefined;
};

/** `evals show`: reads a record and prints it in the requested form. `csv` lists its trials, one per line. */
export async function report({ run, format, out, otlp }: ReportOptions, io: Io): Promise<ExitCode> {
  const record = await findAnyRecord(run ?? "latest", resolve(io.cwd, out), printProblem(io));
  const { dir, manifest } = record;
  const problem = otlp === undefined ? undefined : await exportTraces(dir, manifest.id, otlp, io);
  if (problem) printProblem(io)(problem);
  if (format === "csv") {
    const write = csvWriter(manifest);
    io.out(csvHead);
    for await (const trial of readTrials(dir, manifest.id)) io.out(write(trial));
  } else {
    const accept = await isAccepted(manifest, io);
    printReport(format, await readReport(record, { withTrials: format === "html", accept }), io);
  }
  return problem ? exitCodes.incomplete : exitCodes.passed;
}

/** Whether a run is the baseline of all of its suites by now, so that its report does not propose to accept it. */
async function isAccepted({ id, flags, suites, models }: RunManifest, { cwd }: Io): Promise<boolean> {
  const { baselines } = flags;
  if (typeof baselines !== "string" || suites.length === 0) return false;
  const dir = resolve(cwd, baselines);
  const files = suites.flatMap(({ name }) => models.map((model) => baselineFile(dir, name, model.id)));
  // One that cannot be read is reported where it is used.
  const found = await Promise.all(files.map((file) => readBaseline(file).catch(() => undefined)));
  return found.every((baseline) => baseline?.run === id);
}

/** The report of a record. `accept`: it is the baseline. Throws a usage error without a result that can be read. */
export async function readReport(
  { dir, manifest }: { dir: string; manifest: RunManifest },
  { withTrials = false, accept = false }: { withTrials?: boolean; accept?: boolean },
): Promise<Report> {
  const { id, experiment } = manifest;
  const trials = new PageTrialCollector(manifest);
  const read = () => readResults(dir, manifest, withTrials ? trials : undefined);
  if (!experiment) return runReport({ summary: (await read()).summary(), manifest, trials, followUp: { accept } });
  if (withTrials) await read();
  if (!experiment.result)
    throw usageError(
      `The record ${id} of \`evals ${experiment.command}\` has no result.`,
      `Finish it with \`evals ${experiment.command} --resume ${id}\`: no recorded trial is asked again.`,
    );
  const { experimentReport } = await import("./experimentForms.ts");
  try {
    return experimentReport(manifest, experiment, trials);
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    throw usageError(
      `The result of the record ${id} cannot be read: ${formatIssues(error)}.`,
      `Another version of tool-evals wrote it. Run \`evals ${experiment.command}\` again.`,
    );
  }
}

/** Prints what a run came to: on about a screen, or with `json` as an object. */
export function printRun(input: RunInput, json: boolean, io: Io): void {
  const { summary } = input;
  const short = relative(io.cwd, summary.dir);
  const dir = short.startsWith("..") ? summary.dir : short;
  if (json) printReport("json", runReport(input), io);
  else io.out(renderTerminal(briefDocument({ ...input, summary: { ...summary, dir } }), io));
}

/** Prints a report in one form. */
export function printReport(name: FormName, made: Report, io: Io): void {
  const form: Form = forms[name];
  if (name === "json") printJson(made.json(), made.document(), io);
  else for (const part of form.parts?.(made) ?? [form.render(made, io, folderInRepository(io.cwd))]) io.out(part);
}

const reporterFile = (name: string) => /^custom:(.*)$/s.exec(name)?.[1];

/** Throws a usage error for a custom reporter without a file, before the run that it would report is paid for. */
export async function refuseMissingReporters(names: readonly string[] = [], cwd: string): Promise<void> {
  for (const file of names.flatMap((name) => reporterFile(name) ?? [])) {
    const found = await stat(resolve(cwd, file)).catch(() => undefined);
    if (!found?.isFile())
      throw usageError(`There is no file "${file}" for a reporter.`, "Name it relative to the working directory.");
  }
}

/**
 * Prints an additional form of a run, or calls a custom reporter. With --json, standard output is reserved for the JSON
 * object: other forms are not printed, and the text of a reporter goes to standard error. Throws an error with exit
 * code 3 if a reporter fails, because the run is already recorded.
 */
export async function printForm(name: string, input: RunInput & { dir: string }, json: boolean, io: Io): Promise<void> {
  const { summary, manifest, dir } = input;
  const file = reporterFile(name);
  if (file === undefined) {
    const form = formNames.find((known) => known === name);
    if (!json && form) printReport(form, runReport(input), io);
    return;
  }
  let text: unknown;
  let restore = () => {};
  try {
    const { default: report } = await importModule(resolve(io.cwd, file));
    if (typeof report !== "function") throw new Error("its default export is not a function");
    restore = releaseSignals();
    text = await (report as Reporter)(redactValue({ summary, manifest, dir }, io));
  } catch (error) {
    throw incompleteError(`The reporter failed: ${messageOf(error)}.`, `The run is recorded in ${dir}.`, { file });
  } finally {
    restore();
  }
  if (typeof text === "string") (json ? io.err : io.out)(text.endsWith("\n") ? text : `${text}\n`);
}

/** The folder under `out` with the reports of the last run, at a fixed path for CI. It is not a record. */
const lastResult = "last-result";
const resultFiles = [...Object.values<Form>(forms).flatMap(({ file }) => file ?? []), "blame.md", "comment.md"];

/** Writes the forms that have a file, and their copy in `last-result/`. */
export async function writeReports(
  dir: string,
  input: RunInput & { trials: PageTrialCollector },
  io: Pick<Io, "env">,
): Promise<void> {
  await writeForms(runReport(input), dir, io);
  await publish(dir);
}

/** Writes one report file of a run, and copies it to `last-result/`. */
export async function writeReport(dir: string, name: string, text: string, io: Pick<Io, "env">): Promise<void> {
  await writeText(dir, name, text, io);
  await publish(dir);
}

/** Replaces `last-result/` by a copy of a run's reports, as a whole because several runs can end at the same time. */
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
      // Fails if another run has created the folder meanwhile.
      isDone = await ignoring(["ENOTEMPTY", "EEXIST"], rename(made, last));
    }
    await remove(replaced);
  } catch (error) {
    throw writeError(last, error);
  }
}

/** Returns false if the work fails with one of these error codes. Rejects with any other error. */
async function ignoring(reasons: readonly string[], work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (reasons.includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

/** Adds the result of an experiment to its record, and writes its reports next to it. Returns the report. */
export async function recordExperiment(
  { dir, manifest, trials }: { dir: string; manifest: RunManifest; trials: PageTrialCollector },
  result: object,
  io: Pick<Io, "env">,
): Promise<Report> {
  const decided = await recordResult(dir, manifest, result, knownSecrets(io.env).redact);
  if (!decided.experiment) throw new Error("the record of an experiment has its question");
  const { experimentReport } = await import("./experimentForms.ts");
  const made = experimentReport(decided, decided.experiment, trials);
  await writeForms(made, dir, io);
  return made;
}

async function writeForms(made: Report, dir: string, io: Pick<Io, "env">): Promise<void> {
  // One at a time, because the reports of a long run are large.
  for (const form of Object.values<Form>(forms)) {
    if (form.file !== undefined) await writeText(dir, form.file, form.parts?.(made) ?? form.render(made), io);
  }
}

async function writeText(dir: string, name: string, text: string | Generator<string>, { env }: Pick<Io, "env">) {
  const file = join(dir, name);
  const { redact } = knownSecrets(env);
  const redacted = function* () {
    for (const part of typeof text === "string" ? [text] : text) yield redact(part);
  };
  await replaceFile(file, redacted(), { mode: recordMode }).catch(failToWrite(file));
}

/** GitHub accepts 1 MiB for a step summary, and 65,536 characters for a comment. */
const limits = { summary: 1_000_000, comment: 60_000 } as const;

/** The first line of every comment, by which the next run finds it. */
const commentMark = "<!-- tool-evals -->";

/**
 * Writes `comment.md`, for a pull request, and in a GitHub workflow the step summary. `blame`: the blame report in
 * Markdown. Throws EvalsError if a file cannot be written.
 */
export async function writeGithubFiles(dir: string, input: RunInput, blame: string | undefined, io: Io): Promise<void> {
  const text = [renderMarkdown(runDocument(input)), ...(blame === undefined ? [] : [blame])].join("\n");
  await writeReport(dir, "comment.md", `${commentMark}\n${cutLines(text, limits.comment)}`, io);
  const file = io.env.GITHUB_STEP_SUMMARY;
  if (file === undefined || file === "") return;
  const safe = knownSecrets(io.env).redact(cutLines(text, limits.summary));
  await appendFile(file, `${safe}\n`).catch(failToWrite(file));
}

/** Truncates a text after whole lines, with a note. Closes `<details>` elements that are cut. */
function cutLines(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text;
  const kept = Buffer.from(text).subarray(0, most).toString("utf8");
  const whole = kept.slice(0, kept.lastIndexOf("\n"));
  const open = whole.split("<details").length - whole.split("</details>").length;
  return `${whole}\n${"</details>\n".repeat(Math.max(0, open))}\nThe rest is in the report of the run.\n`;
}
