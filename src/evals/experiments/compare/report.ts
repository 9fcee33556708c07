import * as z from "zod";
import { type Block, diff, facts, heading, list, section, text } from "../../reports/document.ts";
import { capital, count, share } from "../../reports/format.ts";
import { changedCases, checkFacts, checkTone, flippedCases, grownConfusions } from "../check/report.ts";
import { checkHeadline, checkReason, isExhausted, netSentence, withSentences } from "../check/sentences.ts";
import { intervalPlot, intervalRow } from "../results/figures.ts";
import { type Comparison, comparisonSchema } from "./comparison.ts";

/** The result of `evals compare`: A is `base`, B is `head`, each with its name and what kind of record it is. */
const recordSchema = z.object({ name: z.string(), what: z.string() });
const comparisonReportSchema = z.object({
  base: recordSchema,
  head: recordSchema,
  interleaved: z.literal(false),
  comparisons: z.array(comparisonSchema).readonly(),
  notes: z.array(z.string()).readonly(),
});
export type ComparisonReport = z.infer<typeof comparisonReportSchema>;

/** The output of `evals compare --json`. */
export const comparisonOutputSchema = comparisonReportSchema.extend({ exitCode: z.number().int() });

type Compared = Extract<Comparison, { kind: "compared" }>;
const arms = { base: "A", head: "B" };

/** The comparison of two records: which is better by which test, then the evidence. */
export function comparisonDocument({ base, head, comparisons, notes }: ComparisonReport): Block[] {
  return [
    ...comparisons.map((one) =>
      heading(1, answerText(one), one.kind === "refused" ? "warn" : checkTone[one.check.kind]),
    ),
    text(
      "How sure: less than a check. The two were recorded at different times, so a change of the model in between looks like a change of the wording.",
      nextStep(comparisons),
      `A: ${base.name} (${base.what})`,
      `B: ${head.name} (${head.what})`,
      ...notes,
    ),
    ...comparisons.flatMap((one) => [
      ...(comparisons.length > 1 ? [heading(2, locationText(one))] : []),
      ...(one.kind === "refused" ? [list("reason", one.reasons.map(capital))] : comparedBlocks(one)),
    ]),
  ];
}

function nextStep(comparisons: readonly Comparison[]): string {
  if (comparisons.every(({ kind }) => kind === "refused"))
    return "Next: name two records of the same suite, model and settings.";
  const differs = comparisons.some((one) => one.kind === "compared" && one.better !== "none");
  return differs
    ? "Next: confirm it with a check, which asks both tool lists in turn: `evals run --check on`."
    : "Next: compare with more trials (`-n`) if a smaller difference matters.";
}

/** The object that `evals compare --json` prints. */
export function comparisonJson(report: ComparisonReport) {
  const comparisons = report.comparisons.map((one) =>
    one.kind === "refused" ? one : { ...one, check: withSentences(one.check) },
  );
  return { ...report, comparisons };
}

const locationText = ({ suite, model }: Comparison) => `${suite} · ${model}`;

/** One line: which is better, and the verdict of the regression check from A to B. */
function answerText(one: Comparison): string {
  if (one.kind === "refused") return `NOT COMPARABLE · ${locationText(one)}`;
  const { better, check } = one;
  const answer = {
    base: "A is better than B",
    head: "B is better than A",
    mixed: "neither is better throughout: some cases dropped from A to B, others rose",
    none: "no difference shown",
  }[better];
  return `${capital(answer)} · A to B: ${checkHeadline(check)} · ${locationText(one)}`;
}

function comparedBlocks({ check, improved, base, head, cases }: Compared): Block[] {
  const exhausted = isExhausted(check);
  return [
    text(
      `Passed: A ${share(base)}, B ${share(head)}, in ${count(cases, "case")}`,
      checkReason(check),
      check.net === null
        ? "No case was scored in both."
        : netSentence(check).replace("Net change", "Net change from A to B:"),
    ),
    ...changedCases("Cases that dropped from A to B (passed/graded)", check.flagged, exhausted, arms),
    ...flippedCases(check, arms),
    ...changedCases("Cases that improved from A to B (passed/graded)", improved, exhausted, arms),
    ...intervalPlot(
      "Pass rate of the cases that differ, 95% CI",
      ["A", "B"],
      [...check.flagged, ...improved].map((one) => intervalRow(one.case, [one.base, one.head])),
    ),
    ...grownConfusions(check.grew, arms),
    ...(check.changes.length === 0
      ? [text("The tool lists are the same in both, so what differs between A and B is not in them.")]
      : section("Changes in the tool list", [diff(check.changes, 6)])),
    facts(...checkFacts(check)),
    text(...check.notes.map(capital)),
  ];
}
