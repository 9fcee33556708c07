import { join } from "node:path";
import * as z from "zod";
import {
  hashPrompt,
  type JudgeFigure,
  judgeFigureSchema,
  type Opinion,
  type OpinionCounts,
  opinions,
} from "../../asking/scoring/judge.ts";
import { sumOf } from "../../base/collections.ts";
import { readIfPresent } from "../../base/files/files.ts";
import { kappa, wilson } from "../../base/stats/intervals.ts";
import { intervalSchema } from "../../base/types/check.ts";
import { formatIssues, messageOf, usageError } from "../../base/types/errors.ts";
import { parseBoundedJson } from "../../base/types/json.ts";
import { count, integer } from "../../reports/format.ts";

/** A count out of a total, with the interval of the rate; null if the total is 0. */
const shareSchema = z.object({ n: z.int().min(0), of: z.int().min(0), interval: intervalSchema.nullable() });

/** How far a judge agrees with people. */
export const judgeMeasuresSchema = z.object({
  agreed: shareSchema,
  kappa: z
    .object({ value: z.number(), interval: intervalSchema.nullable() })
    .nullable()
    .describe("null where kappa is not defined; its interval where nothing was disagreed on"),
  falsePasses: shareSchema.describe("the judge finds met what people find not met"),
  falseFails: shareSchema.describe("the reverse"),
  cannotTell: shareSchema,
});
export type JudgeMeasures = z.infer<typeof judgeMeasuresSchema>;

/** Agreement and error rates from the counts. A rate's interval is Wilson's, at 95 %, as is that of kappa. */
export function measureJudge(counts: OpinionCounts): JudgeMeasures {
  const table = opinions.map((human) => opinions.map((judge) => counts[human][judge]));
  const sum = (values: readonly number[]) => sumOf(values, (value) => value);
  const measured = sum(table.flat());
  const share = (passed: number, trials: number) => ({
    n: passed,
    of: trials,
    interval: wilson({ passed, trials }) ?? null,
  });
  const human = (opinion: Opinion) => sum(Object.values(counts[opinion]));
  const agreement = kappa(table);
  return {
    agreed: share(sum(opinions.map((opinion) => counts[opinion][opinion])), measured),
    kappa: agreement ? { value: agreement.kappa, interval: agreement.interval ?? null } : null,
    falsePasses: share(counts["not met"].met, human("not met")),
    falseFails: share(counts.met["not met"], human("met")),
    cannotTell: share(sum(opinions.map((opinion) => counts[opinion]["cannot tell"])), measured),
  };
}

/** One sentence on a judge, for reports of the runs it grades. */
export function judgeSentence(judge: string, { agreed, kappa, falsePasses }: JudgeMeasures): string {
  const agreement = kappa === null ? "kappa not defined" : `kappa ${kappa.value.toFixed(2)}`;
  const passes = count(falsePasses.n, "false pass", "false passes");
  return `judge ${judge}: agreed with people on ${integer(agreed.n)} of ${count(agreed.of, "label")} (${agreement}), ${passes}`;
}

/** The default folder of judge figures. */
export const judgesFolder = "evals/judges";

/** The file of a judge's figure, `<dir>/<judge>.json`, with the id in characters that every file system accepts. */
export function judgeFigureFile(dir: string, judge: string): string {
  const slug = judge.toLowerCase().replace(/[^a-z0-9._-]+/g, "-");
  return join(dir, `${slug}.json`);
}

/** Reads the figure of a judge; undefined if not measured with this prompt. Throws a usage error for another file. */
export async function readJudgeFigure(dir: string, judge: string) {
  const file = judgeFigureFile(dir, judge);
  const text = await readIfPresent("The judge's figure", file);
  if (text === undefined) return undefined;
  const figure = parseFigure(text, file);
  if (figure.judge !== judge || figure.prompt !== hashPrompt()) return undefined;
  return { figure, sentence: judgeSentence(judge, measureJudge(figure.counts)) };
}

function parseFigure(text: string, file: string): JudgeFigure {
  const again = "Measure the judge again with `evals judge check`, or remove the file.";
  try {
    return judgeFigureSchema.parse(parseBoundedJson(text));
  } catch (error) {
    const why =
      error instanceof z.ZodError
        ? `This is not the figure of a judge: ${formatIssues(error)}`
        : `The judge's figure is not JSON: ${messageOf(error)}`;
    throw usageError(`${why}.`, again, { file });
  }
}

/** Formats a figure with its keys in a fixed order, so that a diff shows only what changed. */
export function formatJudgeFigure(figure: JudgeFigure): string {
  return `${JSON.stringify(judgeFigureSchema.parse(figure), null, 2)}\n`;
}
