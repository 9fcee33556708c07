import type { CheckBasis, CheckSummary, RunSummary, SuiteSummary } from "../types/run.ts";
import { type Block, heading, makeRows, section, type TextChange, type Tone, text } from "./document.ts";
import {
  capital,
  count,
  integer,
  level,
  money,
  pointsWithInterval,
  probability,
  pValue,
  ratio,
  share,
  size,
  some,
} from "./format.ts";

/** A check in which two lists were compared, with any verdict. */
export type ComparedCheck = Exclude<CheckSummary, { kind: "unchanged" | "not-comparable" }>;

/** How the two arms of a comparison are called. */
export type ArmNames = { base: string; head: string };
const arms: ArmNames = { base: "baseline", head: "now" };

export const checkTone: Readonly<Record<CheckSummary["kind"], Tone>> = {
  ...{ regressed: "bad", "no-regression": "good", inconclusive: "warn", unchanged: "good", "not-comparable": "warn" },
};

/** True for a deterministic model. That leaves nothing to chance, so there is no interval and no p. */
export const isCertain = ({ method }: ComparedCheck): boolean => method === "deterministic";

/** The verdict in one line, and for an open one what would settle it. */
export function checkHeadline(check: CheckSummary): string {
  switch (check.kind) {
    case "unchanged":
      return "UNCHANGED: the tool list is byte-identical to the baseline's, so nothing had to be compared";
    case "not-comparable":
      return `NOT COMPARABLE with the baseline: ${check.reasons[0] ?? "no case is the same as in it"}`;
    case "regressed":
      return "REGRESSED";
    case "no-regression":
      return `NO REGRESSION within ${size(check.margin)}`;
    case "inconclusive": {
      const { basis, furtherTrials } = check;
      if (basis.kind === "stopped") return `INCONCLUSIVE: the run was stopped at look ${basis.look}`;
      if (furtherTrials === null || basis.kind === "cases not scored") return "INCONCLUSIVE";
      return `INCONCLUSIVE: ${count(furtherTrials, "more trial")} per case and arm would settle it`;
    }
  }
}

/** Why the verdict is what it is, in one sentence. */
export function checkReason({ basis, flagged, margin }: ComparedCheck): string {
  switch (basis.kind) {
    case "stopped":
      return "Resume the run to finish the look.";
    case "nothing scored":
      return "No case was scored in both arms, so nothing can be compared.";
    case "cases not scored":
      return `No trial of ${count(basis.cases.length, "case")} could be scored: ${some(basis.cases)}.`;
    case "too much variance":
      return "No case looks worse than its baseline, but the suite varies too much to rule out a mean drop beyond the margin.";
    case "neither shown":
      return `Neither a drop (${testText(basis.test)}) nor its absence is shown: a mean drop of ${size(basis.drop)} is not ruled out.`;
    case "drop ruled out":
      if (basis.drop === null) return "No case that passed before fails now. The model is deterministic.";
      return `A mean drop of ${size(basis.drop)} or more is ruled out, within the margin of ${size(margin)}${lookText(basis, " (", ")")}.`;
    case "dropped": {
      const list = some(flagged.map((one) => `${one.case} ${ratio(one.base)} -> ${ratio(one.head)}`));
      if (basis.test === null)
        return `${count(flagged.length, "case")} passed before and ${flagged.length === 1 ? "fails" : "fail"} now: ${list}.`;
      const what =
        flagged.length === 0
          ? "At least one case dropped, but none can be named individually"
          : `${count(flagged.length, "case")} dropped: ${list}`;
      return `${what} (${testText(basis.test)}${lookText(basis, ", ", "")}).`;
    }
  }
}

type Test = NonNullable<Extract<CheckBasis, { kind: "dropped" }>["test"]>;

function testText(test: Test): string {
  if (test.kind === "p-value") return `${pValue(test.p)} against alpha = ${level(test.alpha)}`;
  return `e-value ${Number(test.e.toPrecision(3))} against ${test.threshold}`;
}

/** A single look goes without saying. */
function lookText({ look, looks }: { look: number; looks: number }, before: string, after: string): string {
  return looks === 1 ? "" : `${before}look ${look} of ${looks}${after}`;
}

/** `Net change -12.5 pp (95% CI -19 to -4.2 pp), mean over 8 cases; the margin is 10 pp.`, or nothing. */
export function netSentence(check: ComparedCheck): string {
  const { net, margin } = check;
  if (net === null) return "";
  const certain = isCertain(check);
  const end = certain ? "the model is deterministic" : `the margin is ${size(margin)}`;
  return `Net change ${pointsWithInterval(net.change, certain ? null : net.interval)}, mean over ${count(net.cases, "case")}; ${end}.`;
}

/** The regression check of a suite as blocks, if one was made: the verdict and what it rests on. */
export function checkBlocks(suite: SuiteSummary): Block[] {
  const check = suite.verdict;
  if (!check) return [];
  const title = heading(3, checkHeadline(check), checkTone[check.kind]);
  if (!("basis" in check)) return [title, text(...listNotes(check))];
  const { net } = check;
  const labels = suite.cases
    .filter(({ id }) => check.flagged.some((one) => one.case === id))
    .map(({ expected }) => expected);
  return [
    title,
    text(checkReason(check), netSentence(check)),
    ...(net
      ? [
          {
            kind: "scale" as const,
            change: net.change,
            interval: isCertain(check) ? ([net.change, net.change] as const) : net.interval,
            margin: check.margin,
            tone: checkTone[check.kind],
          },
        ]
      : []),
    ...changedCases("Cases that dropped (passed/graded)", check.flagged, isCertain(check), arms),
    ...grownConfusions(check.grew, arms),
    ...changedTools(check, labels),
    { kind: "facts", facts: [...checkFacts(check), ["Spent on the suite", money(suite.totals.costUsd)]] },
    text(...listNotes(check)),
  ];
}

/** What was not compared, and how the model itself has changed. */
function listNotes(check: CheckSummary): string[] {
  const drift = driftText(check);
  return [
    ...(drift === null ? [] : [`Model drift: ${drift}`]),
    ...(check.kind === "not-comparable" ? check.reasons.slice(1) : []),
    ...check.notes.map(capital),
  ];
}

function driftText(check: CheckSummary): string | null {
  if (!("modelDrift" in check) || !check.modelDrift) return null;
  const { direction, p } = check.modelDrift;
  const way = direction === "down" ? "less" : "more";
  return `the model passes ${way} often with the baseline's own list than it did then (${pValue(p)}): the model has changed, not the wording.`;
}

/** A table of the cases that changed, with their tests. */
export function changedCases(
  title: string,
  cases: readonly ComparedCheck["flagged"][number][],
  certain: boolean,
  { base, head }: ArmNames,
): Block[] {
  const figures = [base, head, ...(certain ? [] : ["p", "adjusted p"])];
  const rows = cases.map((one) => [
    ...[one.case, ratio(one.base), ratio(one.head)],
    ...(certain ? [] : [probability(one.p), probability(one.adjusted)]),
  ]);
  const columns = [
    { head: "case", kind: "name" as const },
    ...figures.map((one) => ({ head: one, kind: "figure" as const })),
  ];
  return section(title, [{ kind: "table", columns, rows: makeRows(rows), noun: "case" }]);
}

/** A table of the confusions that got more frequent. */
export function grownConfusions(grew: ComparedCheck["grew"], { base, head }: ArmNames): Block[] {
  const rows = grew.map((one) => [one.expected, one.picked, share(one.base), share(one.head)]);
  const columns = [
    ...["expected", "picked"].map((one) => ({ head: one, kind: "name" as const })),
    ...[base, head].map((one) => ({ head: one, kind: "figure" as const })),
  ];
  return section("Confusions that grew (of graded trials)", [
    { kind: "table", columns, rows: makeRows(rows), noun: "pair" },
  ]);
}

/** Further changes are named without their wording: to compare words takes time, and nobody reads more of them. */
const mostWordings = 20;

/** What changed in tools that a dropped case (`labels`) or a grown confusion names, or all where none is named; then others. */
function changedTools({ grew, changes }: ComparedCheck, labels: readonly string[]): Block[] {
  const all = [...labels, ...grew.flatMap(({ expected, picked }) => [expected, picked])];
  const named = new Set(all.flatMap((label) => label.match(/(?:skill:)?[\w-]+/g) ?? []));
  const isInvolved = ({ label }: TextChange) => named.has(/^(?:skill:)?[\w-]+/.exec(label)?.[0] ?? "");
  const first = changes.filter(isInvolved);
  const sorted = [...first, ...changes.filter((change) => !isInvolved(change))].map(toTextChange);
  const involved = first.length > 0 ? first.length : sorted.length;
  const others = sorted.slice(involved);
  return section("Changes in the tool list", [
    { kind: "diff", changes: sorted.slice(0, involved), most: 6 },
    {
      kind: "details",
      title: `${count(others.length, "change")} in tools that are not involved`,
      blocks: [{ kind: "diff", changes: others }],
      brief: true,
    },
  ]);
}

/** What a change does to callers is part of its label, where it does anything. */
function toTextChange(
  { label, class: known, before, after }: ComparedCheck["changes"][number],
  at: number,
): TextChange {
  const full = known === undefined || known === "description only" ? label : `${label} (${known})`;
  return at < mostWordings ? { label: full, ...(before && { before }), ...(after && { after }) } : { label: full };
}

/** What the check could detect and what it took. */
export function checkFacts(check: ComparedCheck): [string, string][] {
  const { pairedT, calls, method } = check;
  const { base, head, broken, saved } = calls;
  const smallest = reachText(check);
  const made = `${integer(base)} baseline, ${integer(head)} now${broken > 0 ? `, ${integer(broken)} broken` : ""}`;
  return [
    ...(smallest === null ? [] : [["Smallest detectable break of one case", smallest] satisfies [string, string]]),
    ...(pairedT === null || isCertain(check)
      ? []
      : [["Paired t-test (secondary)", pValue(pairedT)] satisfies [string, string]]),
    // Nothing is counted for a check that was cut short, nor for a comparison of records.
    ...(base + head === 0 || method === "records"
      ? []
      : [
          [
            `Trials of the ${method} design`,
            `${made}${saved > 0 ? `; ${integer(saved)} saved by stopping early` : ""}`,
          ] satisfies [string, string],
        ]),
  ];
}

function reachText({ reach }: ComparedCheck): string | null {
  if (!reach) return null;
  const { baseTrials, headTrials, headPasses, p } = reach;
  if (headPasses === null || p === null)
    return `none: with ${integer(baseTrials)} baseline and ${integer(headTrials)} new trials, not even a total break of one case can be detected`;
  const base = ratio({ passed: baseTrials, trials: baseTrials });
  return `${base} -> ${ratio({ passed: headPasses, trials: headTrials })} (${pValue(p)})`;
}

/** A check with its sentences, as `--json` has it. */
export function withSentences<C extends CheckSummary>(check: C): C {
  const headline = checkHeadline(check);
  if (check.kind === "unchanged") return { ...check, headline };
  if (check.kind === "not-comparable")
    return { ...check, headline, notes: [...check.reasons.slice(1), ...check.notes] };
  const compared = check as ComparedCheck;
  const texts = {
    headline,
    reason: checkReason(compared),
    smallestBreak: reachText(compared),
    drift: driftText(compared),
  };
  return { ...check, ...texts };
}

/** The object that `evals run --json` prints. */
export function runJson(summary: RunSummary): RunSummary {
  const suites = summary.suites.map((suite) => ({
    ...suite,
    ...(suite.verdict && { verdict: withSentences(suite.verdict) }),
  }));
  return { ...summary, suites };
}

/** The verdict and what it rests on in a few plain lines, for forms without layout. */
export function checkLines(check: CheckSummary, most: number): string[] {
  const headline = checkHeadline(check);
  if (!("basis" in check)) return [headline, ...listNotes(check)];
  return [
    `${headline} · ${checkReason(check)}`,
    netSentence(check),
    ...check.flagged.slice(0, most).map((one) => `Dropped: ${one.case}: ${ratio(one.base)} -> ${ratio(one.head)}`),
    ...check.grew
      .slice(0, most)
      .map((one) => `Confused more often: ${one.expected} -> ${one.picked}: ${share(one.base)} -> ${share(one.head)}`),
    ...check.changes.slice(0, most).map(({ label }) => `Changed: ${label}`),
    ...checkFacts(check).map((fact) => fact.join(": ")),
    ...listNotes(check),
  ].filter((line) => line !== "");
}
