import { changesByCase } from "../changes/changes.ts";
import type { Counts } from "../stats/counts.ts";
import { isSignificant } from "../stats/hypothesisTests.ts";
import type { CheckSummary } from "../types/run.ts";
import type { OfferedTool } from "../types/tool.ts";
import type { Trial } from "../types/trial.ts";
import { ConfusionGrowth, comparedSummary, deterministic, readObservation } from "./check.ts";
import { type ComparedRun, comparability } from "./comparable.ts";
import { type Evidence, EvidenceBook, pool, regressionArms } from "./design.ts";
import { toExitCode } from "./exitCode.ts";
import { type CaseChange, type RegressionVerdict, regressionDefaults } from "./regression.ts";
import { compareRecords } from "./thorough.ts";

/**
 * What a record tells of one suite on one model. `settings` is absent where it is not known what the model ran with.
 * `seen`: the trials of the arm `head`, or the counts that a baseline kept of them, by case.
 */
export type ComparedRecord = Omit<ComparedRun, "settings" | "cases"> & {
  settings?: string;
  deterministic: boolean;
  /** `expected`: the label of what the case wants, where the record keeps it. */
  cases: readonly { id: string; hash: string; toolset: string; expected?: string }[];
  toolsets: Readonly<Record<string, readonly OfferedTool[]>>;
  seen: { kind: "trials"; trials: readonly Trial[] } | { kind: "counts"; counts: ReadonlyMap<string, Counts> };
};

/**
 * Which of two records is better. `mixed`: some cases dropped and others improved, or one dropped while the mean rose.
 * `p` is two-sided, and null where nothing was left to chance, or nothing was scored.
 */
type Better = { kind: "base" | "head" | "mixed" | "none"; p: number | null };

type CheckResult = Extract<CheckSummary, { kind: "regressed" | "no-regression" | "inconclusive" }>;

export type Comparison = { suite: string; model: string; exitCode: number } & (
  | { kind: "refused"; reasons: readonly string[] }
  | {
      kind: "compared";
      /** How many were scored in both, and their passes and scored trials together. */
      cases: number;
      base: Counts;
      head: Counts;
      better: Better;
      check: CheckResult;
      improved: readonly CaseChange[];
    }
);

/**
 * Two finished records of a suite against each other, without new calls. Their trials were not interleaved, so a change
 * of the model in between looks like a change of the wording. Refused, with every reason, when they are not comparable.
 */
export function compareSides(
  base: ComparedRecord,
  head: ComparedRecord,
  margin: number = regressionDefaults.margin,
): Comparison {
  const { suite, model } = head;
  const compared = comparability(...identities(base, head));
  if (compared.kind === "not comparable")
    return { kind: "refused", suite, model, reasons: compared.reasons, exitCode: toExitCode({ undecided: true }) };
  if (compared.cases.length === 0)
    return { kind: "refused", suite, model, reasons: compared.notes, exitCode: toExitCode({ undecided: true }) };
  const { cases, notes } = compared;
  const certain = base.deterministic && head.deterministic;
  const verdict = decideRegression(base, head, cases, margin, certain);
  const reverse = decideRegression(head, base, cases, margin, certain);
  const grew = measureGrowth(base, head, cases);
  const moved = new Set([...verdict.flagged, ...reverse.flagged].map((one) => one.case));
  const involved = [
    ...head.cases.filter(({ id }) => moved.has(id)).map(({ expected = "" }) => expected),
    ...grew.flatMap(({ expected, picked }) => [expected, picked]),
  ];
  const check = summariseCheck(verdict, grew, collectChanges(base, head, cases, involved), notes);
  const scored = verdict.cases.filter((one) => one.base.trials > 0 && one.head.trials > 0);
  return {
    kind: "compared",
    suite,
    model,
    cases: scored.length,
    base: scored.map((one) => one.base).reduce(pool, { passed: 0, trials: 0 }),
    head: scored.map((one) => one.head).reduce(pool, { passed: 0, trials: 0 }),
    better: decideBetter(verdict, reverse),
    check,
    improved: reverse.flagged.map((one) => ({ ...one, base: one.head, head: one.base })),
    exitCode: check.exitCode,
  };
}

/** Settings count only where both are known. */
function identities(base: ComparedRecord, head: ComparedRecord): [ComparedRun, ComparedRun] {
  const known = base.settings !== undefined && head.settings !== undefined;
  return [
    { ...base, settings: known ? (base.settings ?? "") : "" },
    { ...head, settings: known ? (head.settings ?? "") : "" },
  ];
}

function decideRegression(
  base: ComparedRecord,
  head: ComparedRecord,
  cases: readonly string[],
  margin: number,
  certain: boolean,
): RegressionVerdict {
  const evidence = buildEvidence(base, head);
  const step = certain ? deterministic(cases).next(evidence) : undefined;
  // A deterministic case without a trial on one side is left open by the exact test.
  return step?.kind === "decided" ? step.verdict : compareRecords(evidence, cases, margin);
}

function buildEvidence(...sides: readonly [ComparedRecord, ComparedRecord]): Evidence {
  const book = new EvidenceBook();
  for (const [at, { seen }] of sides.entries()) {
    const arm = regressionArms[at] ?? "";
    if (seen.kind === "trials") {
      for (const trial of seen.trials) book.add(trial.cell.case, arm, trial.cell.trial, readObservation(trial));
      continue;
    }
    for (const [id, { passed, trials }] of seen.counts)
      for (let t = 1; t <= trials; t++) book.add(id, arm, t, t <= passed ? "pass" : "fail");
  }
  return book.evidence;
}

/** None where one side is a baseline: it does not tell what was picked. */
function measureGrowth(base: ComparedRecord, head: ComparedRecord, cases: readonly string[]): CheckResult["grew"] {
  if (base.seen.kind === "counts" || head.seen.kind === "counts") return [];
  const [then, now] = regressionArms;
  const compared = new Set(cases);
  const growth = new ConfusionGrowth(then, now);
  for (const [arm, { trials }] of [[then, base.seen] as const, [now, head.seen] as const])
    for (const trial of trials)
      if (compared.has(trial.cell.case)) growth.add({ ...trial, cell: { ...trial.cell, arm } });
  return growth.pairs();
}

/** What changed between the lists of the compared cases, each change once, that of tools which `labels` name first. */
function collectChanges(
  base: ComparedRecord,
  head: ComparedRecord,
  cases: readonly string[],
  labels: readonly string[],
): CheckResult["changes"] {
  const compared = new Set(cases);
  const named = new Set(labels.flatMap((label) => label.split(/ [|+] |, /)));
  const then = { ...base, cases: base.cases.filter(({ id }) => compared.has(id)) };
  const all = changesByCase(then, head).flatMap(({ changes }) => changes);
  const ordered = [...all.filter(({ tool }) => named.has(tool)), ...all.filter(({ tool }) => !named.has(tool))];
  const shown = ordered.map(({ label, before, after }) => ({ label, before, after }));
  return [...new Map(shown.map((change) => [JSON.stringify(change), change])).values()];
}

/**
 * One is better only when its direction alone is shown, at two-sided 5 %, and the mean agrees: the test asks whether any
 * case dropped, so both directions can be shown at once.
 */
function decideBetter(verdict: RegressionVerdict, reverse: RegressionVerdict): Better {
  if (verdict.net.kind === "no cases") return { kind: "none", p: null };
  const { change } = verdict.net;
  const getP = ({ criterion }: RegressionVerdict) => (criterion.kind === "p-value" ? criterion.p : undefined);
  const [fell, rose] = [getP(verdict), getP(reverse)];
  const shown = (one: RegressionVerdict, p: number | undefined) =>
    p === undefined ? one.kind === "regressed" : isSignificant(2 * p, regressionDefaults.alpha);
  const [down, up] = [shown(verdict, fell), shown(reverse, rose)];
  const p = fell === undefined || rose === undefined ? null : Math.min(1, 2 * Math.min(fell, rose));
  if (!down && !up) return { kind: "none", p };
  if (down && up) return { kind: "mixed", p };
  if (down) return { kind: change < 0 ? "base" : "mixed", p };
  return { kind: change > 0 ? "head" : "mixed", p };
}

function summariseCheck(
  verdict: RegressionVerdict,
  grew: CheckResult["grew"],
  changes: CheckResult["changes"],
  notes: readonly string[],
): CheckResult {
  const undecided = verdict.bound.kind === "no cases";
  return {
    ...comparedSummary(verdict, { grew, changes, notes }),
    exitCode: toExitCode({ failed: verdict.kind === "regressed", undecided }),
  };
}
