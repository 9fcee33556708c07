import { appendFile, copyFile, mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { replaceFile } from "../../base/files/files.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import type { Io } from "../../base/types/io.ts";
import type { RunManifest } from "../../base/types/run.ts";
import { failToWrite, writeError } from "../../records/disk.ts";
import { recordMode } from "../../records/journal.ts";
import { recordResult } from "../../records/record.ts";
import { renderMarkdown } from "../../reports/markdown.ts";
import { type Form, forms, type Report, runReport } from "../run/report/forms.ts";
import type { PageTrialCollector } from "../run/report/pageTrials.ts";
import { type RunInput, runDocument } from "../run/report/run.ts";

/** The folder under `out` with the reports of the last run, at a fixed path for CI. It is not a record. */
const lastResult = "last-result";
/** The files that it can contain. */
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
  await replaceFile(file, redacted(), { mode: recordMode }).catch(failToWrite(file));
}

/** GitHub accepts 1 MiB for a step summary, and 65,536 characters for a comment. */
const limits = { summary: 1_000_000, comment: 60_000 } as const;

/** The first line of every comment, by which the next run finds it. */
const commentMark = "<!-- tool-evals -->";

/**
 * Writes `comment.md`, the body of a comment on a pull request, next to the other reports. In a GitHub workflow, also
 * adds the run to the step summary. `blame`: the blame report in Markdown. Throws EvalsError if a file cannot be
 * written.
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
