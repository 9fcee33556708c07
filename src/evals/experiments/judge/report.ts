import * as z from "zod";
import { type Opinion, type OpinionCounts, opinions } from "../../asking/scoring/judge.ts";
import type { ExitCode } from "../../base/types/errors.ts";
import { costSchema } from "../../base/types/trial.ts";
import {
  type Block,
  type Fact,
  facts,
  heading,
  type Inline,
  type Item,
  list,
  makeColumns,
  section,
  table,
  text,
} from "../../reports/document.ts";
import { count, integer, money, percent, range } from "../../reports/format.ts";
import { toExitCode } from "../results/outcome.ts";
import { type JudgeMeasures, judgeMeasuresSchema, measureJudge } from "../workspace/judgeFigure.ts";

const natural = z.number().int().min(0);
const opinionSchema = z.enum(opinions);

const disagreementSchema = z.object({
  id: z.string(),
  line: natural,
  criterion: z.string(),
  human: opinionSchema,
  judge: opinionSchema,
  why: z.string().nullable(),
  evidence: z.string().nullable(),
});
type Disagreement = z.infer<typeof disagreementSchema>;

/** The result of `evals judge check`: the object that `--json` prints and the report is made from. */
export const judgeCheckSummarySchema = judgeMeasuresSchema.extend({
  judge: z.string(),
  prompt: z.string(),
  labels: z.object({ file: z.string(), sha256: z.string(), count: natural }),
  counts: z.record(opinionSchema, z.record(opinionSchema, natural)),
  stopped: z.boolean(),
  minKappa: z.number().nullable(),
  disagreements: z
    .array(disagreementSchema)
    .readonly()
    .describe("the worst first: false passes, false fails, then the others"),
  broken: z
    .array(z.object({ id: z.string(), line: natural, why: z.string() }))
    .readonly()
    .describe("labels that the judge gave no usable answer to; they are excluded from rates"),
  costUsd: costSchema,
  written: z.string().nullable().describe("where the figure was written; null when it was not"),
  exitCode: natural,
});
export type JudgeCheckSummary = z.infer<typeof judgeCheckSummarySchema>;

/** A label with the opinion of the judge, or with the reason why there is none (`broken`). */
export type JudgedLabel = Omit<Disagreement, "judge"> & ({ judge: Opinion } | { broken: string });

type CheckFacts = Pick<JudgeCheckSummary, "prompt" | "labels" | "minKappa" | "costUsd"> & {
  judge: string;
  /** The exit code of a check that was stopped. */
  stopped: ExitCode | undefined;
};

/** The summary of a check, before the figure is written. */
export function summarizeJudgeCheck(judged: readonly JudgedLabel[], { stopped, ...facts }: CheckFacts) {
  const none = () => ({ met: 0, "not met": 0, "cannot tell": 0 });
  const counts: OpinionCounts = { met: none(), "not met": none(), "cannot tell": none() };
  const answered = judged.flatMap((one) => ("judge" in one ? [one] : []));
  for (const { human, judge } of answered) counts[human][judge]++;
  const measures = measureJudge(counts);
  const broken = judged.flatMap((one) => ("broken" in one ? [{ id: one.id, line: one.line, why: one.broken }] : []));
  const isBelow = facts.minKappa !== null && (measures.kappa === null || measures.kappa.value < facts.minKappa);
  const wasStopped = stopped !== undefined && broken.length > 0;
  return {
    ...facts,
    counts,
    ...measures,
    stopped: wasStopped,
    disagreements: answered
      .filter(({ human, judge }) => human !== judge)
      .sort((a, b) => harm(a) - harm(b) || a.line - b.line),
    broken,
    // A broken label makes the measurement incomplete; only a complete one passes or fails the gate.
    exitCode: toExitCode({
      failed: isBelow && broken.length === 0,
      undecided: broken.length > 0,
      stopped: wasStopped ? stopped : undefined,
    }),
  };
}

/** The order of the report: false passes do the most harm, doubts the least. */
function harm({ human, judge }: Disagreement): number {
  if (judge === "cannot tell") return 4;
  return (judge === "met" ? 0 : 2) + (human === "cannot tell" ? 1 : 0);
}

type Share = JudgeMeasures["agreed"];

/** The report of `evals judge check`: how well the judge agrees with people, then where it erred. */
export function judgeDocument(summary: JudgeCheckSummary): Block[] {
  const { judge, labels, prompt, agreed, costUsd, written, exitCode, counts } = summary;
  const isMeasured = agreed.of > 0;
  const rows = opinions.map((human) => [human, ...opinions.map((opinion) => integer(counts[human][opinion]))]);
  const columns = makeColumns(["figure", "people say", ...opinions.map((opinion) => `judge: ${opinion}`)]);
  const errorRates: Fact[] = [
    ["False passes (judge: met, people: not met)", rateText(summary.falsePasses)],
    ["False fails (judge: not met, people: met)", rateText(summary.falseFails)],
    ["Judge undecided", rateText(summary.cannotTell)],
  ];
  const broken = summary.broken.map(({ id, why }): Inline => [{ code: id }, ": ", { code: why, max: 300 }]);
  const about = [judge, labels.file, count(labels.count, "label"), `prompt ${prompt}`].join(" · ");
  return [
    heading(1, headline(summary), exitCode === 0 ? "good" : isMeasured ? "bad" : "warn"),
    text(
      written === null
        ? `No figure was written${summary.broken.length > 0 ? ", because not every label was answered" : ""}.`
        : ["Next: commit the figure ", { code: written }, ", which reports of judged runs quote."],
    ),
    heading(2, about),
    ...(isMeasured ? [table("row", columns, rows), facts(...errorRates)] : []),
    ...disagreements(summary),
    ...section("Broken (excluded from rates)", [list("broken label", broken, 5)]),
    facts(["Cost", money(costUsd)]),
  ];
}

function headline({ agreed, kappa, stopped, minKappa, broken }: JudgeCheckSummary): string {
  if (agreed.of === 0) return stopped ? "STOPPED before a label was answered" : "NOT MEASURED: no label was answered";
  const agreement = `agrees with people on ${rateText(agreed, " labels")}, ${kappaText(kappa)}`;
  if (stopped) return `STOPPED: ${agreement}, of the labels answered so far`;
  if (broken.length > 0) return `INCOMPLETE: ${agreement}; ${count(broken.length, "label")} broke`;
  const isBelow = minKappa !== null && (kappa === null || kappa.value < minKappa);
  return isBelow ? `BELOW kappa ${minKappa.toFixed(2)}: ${agreement}` : `MEASURED: ${agreement}`;
}

function kappaText(kappa: JudgeMeasures["kappa"]): string {
  if (kappa === null) return "kappa not defined (only one answer was ever given)";
  const value = `kappa ${kappa.value.toFixed(2)}`;
  if (kappa.interval === null) return `${value} (no CI: no disagreement)`;
  return `${value} (95% CI ${kappa.interval.map((end) => end.toFixed(2)).join(" to ")})`;
}

/** `19 of 20 labels (95%, 95% CI 76-99%)` */
function rateText({ n, of, interval }: Share, unit = ""): string {
  if (interval === null) return "0 of 0";
  return `${integer(n)} of ${integer(of)}${unit} (${percent(n / of)}, 95% CI ${range(interval)})`;
}

function disagreements({ disagreements: all }: JudgeCheckSummary): Block[] {
  const items = all.map(({ id, human, judge, criterion, evidence, why }): Item => {
    return {
      text: [{ code: id }, `: people ${human}, judge ${judge}: `, { code: criterion, max: 300 }],
      items: [
        ...(evidence === null ? [] : [["Quoted: ", { code: evidence, max: 300 }]]),
        ...(why === null ? [] : [{ code: why, max: 300 }]),
      ],
    };
  });
  return section("Disagreements, worst first", [list("disagreement", items, 10)]);
}
