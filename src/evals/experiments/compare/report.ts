import * as z from "zod";
import { countPasses, TrialRecord } from "../../asking/trials/design.ts";
import { sumOf } from "../../base/collections.ts";
import { type Counts, comparable, pool, swapArms } from "../../base/stats/counts.ts";
import { type ComparedCheck, comparedSchema, countsSchema } from "../../base/types/check.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Trial } from "../../base/types/trial.ts";
import { type Block, diff, facts, heading, list, section, text } from "../../reports/document.ts";
import { capital, count, share } from "../../reports/format.ts";
import { listChangesByCase } from "../../servers/changes/changes.ts";
import { changedCases, checkFacts, checkTone, flippedCases, grownConfusions } from "../check/report.ts";
import { checkHeadline, checkReason, isExhausted, netSentence, withSentences } from "../check/sentences.ts";
import { summarizeCheck } from "../check/verdict.ts";
import { type ComparedRun, comparability } from "../design/comparable.ts";
import { compareRecords } from "../design/compare.ts";
import { addTrial, type CheckVerdict, pairArms, showsFall } from "../design/observe.ts";
import { defaultMargin } from "../design/statistics.ts";
import { ConfusionGrowth } from "../results/calls.ts";
import { toExitCode } from "../results/outcome.ts";

/** One suite on one model in a record. `seen`: the trials of `head`, or their counts in a baseline, by case. */
export type ComparedRecord = Omit<ComparedRun, "cases"> & {
  /** Of the suite, as the record names it. */
  file?: string;
  deterministic: boolean;
  /** `expected`: the label of the expectation, if the record has it. */
  cases: readonly { id: string; hash: string; toolset: string; expected?: string }[];
  toolsets: Readonly<Record<string, readonly OfferedTool[]>>;
  seen: { kind: "trials"; trials: readonly Trial[] } | { kind: "counts"; counts: ReadonlyMap<string, Counts> };
};

const location = {
  suite: z.string(),
  model: z.string(),
  file: z.string().optional().describe("the file of the suite"),
  ms: z.number().optional().describe("of the trials of both records; a baseline does not tell its own"),
  exitCode: z.number().int(),
};

const comparisonSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("refused"), ...location, reasons: z.array(z.string()).readonly() }),
  z.object({
    kind: z.literal("compared"),
    ...location,
    cases: z.number().int().describe("how many were scored in both"),
    base: countsSchema.describe("their passes and scored trials together"),
    head: countsSchema,
    better: z.enum(["base", "head", "mixed", "none"]).describe("mixed: some cases dropped and others improved"),
    check: comparedSchema,
    improved: comparedSchema.shape.flagged,
  }),
]);
export type Comparison = z.infer<typeof comparisonSchema>;
type Better = Extract<Comparison, { kind: "compared" }>["better"];

/**
 * Compares two finished records of a suite, without new calls. Their trials were not interleaved, so a change of the
 * model in between looks like a change of the wording. Both directions are tested, each one-sided at 5 % over all
 * `families` comparisons. Records that are not comparable are refused, with every reason.
 */
export function compareSides(
  base: ComparedRecord,
  head: ComparedRecord,
  { margin = defaultMargin, families = 1 }: { margin?: number; families?: number } = {},
): Comparison {
  const { suite, model, file } = head;
  const trials = [base, head].flatMap(({ seen }) => (seen.kind === "trials" ? seen.trials : []));
  const ms = sumOf(trials, (trial) => trial.ms);
  const location = { suite, model, ...(file !== undefined && { file }), ...(ms > 0 && { ms }) };
  const compared = comparability(base, head);
  const refuse = (reasons: readonly string[]): Comparison => {
    return { kind: "refused", ...location, reasons, exitCode: toExitCode({ undecided: true }) };
  };
  if (compared.kind === "not comparable") return refuse(compared.reasons);
  if (compared.cases.length === 0) return refuse(compared.notes);
  const { cases, notes } = compared;
  const record = buildRecord(base, head);
  const asked = cases.filter((id) => pairArms.every((arm) => record.answers(id, arm).length > 0));
  if (asked.length === 0) return refuse(["No case has a trial in both", ...notes]);
  const setup = {
    cases: asked,
    seed: 0,
    margin,
    families,
    samePairs: haveSameOrders(base, head),
    alwaysAlike: base.deterministic && head.deterministic,
  };
  const verdict = compareRecords({ ...setup, record });
  const reverse = compareRecords({ ...setup, record: buildRecord(head, base) });
  const grew = measureGrowth(base, head, cases);
  const moved = new Set([...verdict.flagged, ...reverse.flagged, ...verdict.flips].map((one) => one.case));
  const involved = [
    ...head.cases.filter(({ id }) => moved.has(id)).map(({ expected = "" }) => expected),
    ...grew.flatMap(({ expected, picked }) => [expected, picked]),
  ];
  const check = summarizeCheck(verdict, {
    grew,
    changes: collectChanges(base, head, cases, involved),
    notes,
    failOn: ["regressed"],
  });
  const scored = comparable(
    cases.map((id) => ({ base: countPasses(record, id, "base"), head: countPasses(record, id, "head") })),
  );
  return {
    kind: "compared",
    ...location,
    cases: scored.length,
    base: pool(scored.map((one) => one.base)),
    head: pool(scored.map((one) => one.head)),
    better: decideBetter(verdict, reverse),
    check,
    improved: reverse.flagged.map(swapArms),
    exitCode: check.exitCode,
  };
}

function buildRecord(...sides: readonly [ComparedRecord, ComparedRecord]): TrialRecord {
  const record = new TrialRecord();
  for (const [at, { seen }] of sides.entries()) {
    const arm = pairArms[at] ?? "";
    if (seen.kind === "trials") {
      for (const trial of seen.trials) addTrial(record, { ...trial, cell: { ...trial.cell, arm } });
      continue;
    }
    for (const [id, { passed, trials }] of seen.counts)
      for (let t = 1; t <= trials; t++) record.add(id, arm, t, t <= passed ? "pass" : "fail");
  }
  record.abandon();
  return record;
}

function haveSameOrders(base: ComparedRecord, head: ComparedRecord): boolean {
  if (base.seen.kind === "counts" || head.seen.kind === "counts") return false;
  const key = ({ cell: { case: id, trial } }: Trial) => JSON.stringify([id, trial]);
  const orders = new Map(base.seen.trials.map((trial) => [key(trial), trial.orderSeed]));
  const shared = head.seen.trials.filter((trial) => orders.has(key(trial)));
  return shared.length > 0 && shared.every((trial) => orders.get(key(trial)) === trial.orderSeed);
}

/** Empty if one side is a baseline, which does not record what was picked. */
function measureGrowth(base: ComparedRecord, head: ComparedRecord, cases: readonly string[]): ComparedCheck["grew"] {
  if (base.seen.kind === "counts" || head.seen.kind === "counts") return [];
  const [then, now] = pairArms;
  const compared = new Set(cases);
  const growth = new ConfusionGrowth(then, now);
  for (const [arm, { trials }] of [[then, base.seen] as const, [now, head.seen] as const])
    for (const trial of trials)
      if (compared.has(trial.cell.case)) growth.add({ ...trial, cell: { ...trial.cell, arm } });
  return growth.pairs();
}

/** The changes between the lists of the compared cases, each once, starting with the tools that `labels` name. */
function collectChanges(
  base: ComparedRecord,
  head: ComparedRecord,
  cases: readonly string[],
  labels: readonly string[],
): ComparedCheck["changes"] {
  const compared = new Set(cases);
  const named = new Set(labels.flatMap((label) => label.split(/ [|+>] |, /)));
  const then = { ...base, cases: base.cases.filter(({ id }) => compared.has(id)) };
  const all = listChangesByCase(then, head).flatMap(({ changes }) => changes);
  const ordered = [...all.filter(({ tool }) => named.has(tool)), ...all.filter(({ tool }) => !named.has(tool))];
  const shown = ordered.map(({ label, before, after }) => ({ label, before, after }));
  return [...new Map(shown.map((change) => [JSON.stringify(change), change])).values()];
}

/** A record is better if only its direction is significant. */
function decideBetter(verdict: CheckVerdict, reverse: CheckVerdict): Better {
  const [down, up] = [showsFall(verdict), showsFall(reverse)];
  return down && up ? "mixed" : down ? "base" : up ? "head" : "none";
}

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
  if (comparisons.some((one) => one.kind === "compared" && one.check.because === "missing"))
    return "Next: repeat the run whose answers are missing, then compare again.";
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
      check.net === null || cases === 0
        ? "No case was scored in both."
        : netSentence(check).replace("Net change", "Net change from A to B:"),
    ),
    ...changedCases("Cases that dropped from A to B (passed/graded)", check.flagged, exhausted, arms),
    ...flippedCases(check, arms),
    ...changedCases("Cases that improved from A to B (passed/graded)", improved, exhausted, arms),
    ...grownConfusions(check.grew, arms),
    ...(check.changes.length === 0
      ? [text("The tool lists are the same in both, so what differs between A and B is not in them.")]
      : section("Changes in the tool list", [diff(check.changes, 6)])),
    facts(...checkFacts(check)),
    text(...check.notes.map(capital)),
  ];
}
