import { join } from "node:path";
import { hashPrompt, type JudgeFigure, judgeFigureSchema } from "../../asking/scoring/judge.ts";
import { readRegularFile } from "../../base/files/files.ts";
import { formatIssues, messageOf, usageError } from "../../base/types/errors.ts";
import { parseBoundedJson } from "../../base/types/json.ts";
import { judgeSentence, measureJudge } from "../results/judgeMeasures.ts";

/** The default folder of judge figures. */
export const judgesFolder = "evals/judges";

/** The file of a judge's figure, `<dir>/<judge>.json`, with the id in characters that every file system accepts. */
export function judgeFigureFile(dir: string, judge: string): string {
  const slug = judge.toLowerCase().replace(/[^a-z0-9._-]+/g, "-");
  return join(dir, `${slug}.json`);
}

/** Reads the figure of a judge; undefined if not measured with this prompt. Throws a usage error for another file. */
export async function readJudgeFigure(
  dir: string,
  judge: string,
): Promise<{ figure: JudgeFigure; sentence: string } | undefined> {
  const file = judgeFigureFile(dir, judge);
  const text = await readRegularFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw usageError(`The judge's figure cannot be read: ${error.message}.`, undefined, { file });
  });
  if (text === undefined) return undefined;
  const figure = parseFigure(text, file);
  if (figure.judge !== judge || figure.prompt !== hashPrompt()) return undefined;
  return { figure, sentence: judgeSentence(judge, measureJudge(figure.counts)) };
}

function parseFigure(text: string, file: string): JudgeFigure {
  const again = "Measure the judge again with `evals judge check`, or remove the file.";
  let data: unknown;
  try {
    data = parseBoundedJson(text);
  } catch (error) {
    throw usageError(`The judge's figure is not JSON: ${messageOf(error)}.`, again, { file });
  }
  const parsed = judgeFigureSchema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw usageError(`This is not the figure of a judge: ${formatIssues(parsed.error)}.`, again, { file });
}

/** Formats a figure with its keys in a fixed order, so that a diff shows only what changed. */
export function formatJudgeFigure(figure: JudgeFigure): string {
  return `${JSON.stringify(judgeFigureSchema.parse(figure), null, 2)}\n`;
}
