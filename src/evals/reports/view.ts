import { exitCodes } from "../errors.ts";
import type { CaseSummary, CheckSummary, RunManifest, RunSummary, SuiteSummary } from "../types/run.ts";
import { atMost, count, duration, integer, money, percent, range, tally, tallyPhrase } from "./format.ts";

// What all reports say alike, as raw text: each report makes it safe for its own medium.

/** What became of a case. All but `passed` are red: nothing passes for want of an answer. */
export type CaseState = "passed" | "failed" | "not gradable" | "broken" | "missing";

export const stateMark: Record<CaseState, string> = {
  passed: "✓",
  failed: "✗",
  "not gradable": "?",
  broken: "!",
  missing: "!",
};

/** `failed` only where graded trials missed the gate; otherwise the first cause that kept the case from an answer. */
export function caseState(one: CaseSummary): CaseState {
  if (one.ok) return "passed";
  if (one.rate !== null && one.rate < one.passRate) return "failed";
  if (one.notGradable > 0) return "not gradable";
  if (one.broken > 0) return "broken";
  return missingTrials(one) > 0 || one.trials === 0 ? "missing" : "failed";
}

/** Trials that were planned and are not on the record. */
function missingTrials(one: CaseSummary): number {
  return Math.max(0, one.planned - one.trials - one.broken - one.notGradable);
}

/** The cases with what needs an eye first; otherwise in the order of the suite. */
export function redFirst(cases: readonly CaseSummary[]): CaseSummary[] {
  return [...cases.filter((one) => !one.ok), ...cases.filter((one) => one.ok)];
}

export type RunStatus = "PASSED" | "REGRESSED" | "FAILED" | "INCOMPLETE";

/** What a word means for the reader; each report has a colour or a sign of its own for it. */
export type Tone = "good" | "bad" | "warn";
export const statusTone: Record<RunStatus, Tone> = {
  PASSED: "good",
  REGRESSED: "bad",
  FAILED: "bad",
  INCOMPLETE: "warn",
};

/** The word for the whole run. A regression goes before all else; a run without a case never passed. */
export function runStatus({ suites, ok, exitCode }: RunSummary): RunStatus {
  if (suites.some(({ verdict }) => verdict?.kind === "regressed")) return "REGRESSED";
  if (ok && exitCode === exitCodes.passed && suites.some((suite) => suite.cases.length > 0)) return "PASSED";
  return exitCode === exitCodes.incomplete || exitCode >= exitCodes.sigint ? "INCOMPLETE" : "FAILED";
}

/** The result in one line: `FAILED 3 of 10 cases · 50 trials · lexical (a retrieval baseline, not a language model)`. */
export function headline(summary: RunSummary): string {
  const models = atMost([...new Set(summary.suites.map(modelLabel))], 3);
  const { status, main, detail, beside } = outcome(summary);
  const parts = [
    `${status} ${withDetail(main, detail)}`,
    ...beside,
    trialsPhrase(summary),
    models.shown.join(", ") + (models.left > 0 ? ` and ${count(models.left, "more model")}` : ""),
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

/** `3 of 10 cases (2 failed, 1 broken)` */
export function withDetail(main: string, detail: string): string {
  return detail === "" ? main : `${main} (${detail})`;
}

/**
 * The result in its parts: `FAILED`, `3 of 10 cases`, `2 failed, 1 broken` or nothing, and what has to be known beside
 * it: the cases of a run that regressed, and the checks that came to no answer.
 */
export function outcome(summary: RunSummary): { status: RunStatus; main: string; detail: string; beside: string[] } {
  const status = runStatus(summary);
  const checks = (kind: CheckSummary["kind"]) => summary.suites.filter(({ verdict }) => verdict?.kind === kind).length;
  const open = (["inconclusive", "not-comparable"] as const).flatMap((kind) =>
    checks(kind) > 0 ? [`${count(checks(kind), "check")} ${kind.replace("-", " ")}`] : [],
  );
  const { main, detail } = caseCounts(summary, status);
  if (status !== "REGRESSED") return { status, main, detail, beside: open };
  const suites = `${integer(checks("regressed"))} of ${count(summary.suites.length, "suite")}`;
  return { status, main: suites, detail: "", beside: [withDetail(main, detail), ...open] };
}

/** How many cases passed or failed, and how the others are red where that is not all one thing. */
function caseCounts({ suites }: RunSummary, status: RunStatus): { main: string; detail: string } {
  const cases = suites.flatMap((suite) => suite.cases);
  if (cases.length === 0) return { main: "no case was run", detail: "" };
  const red: Partial<Record<CaseState, number>> = {};
  for (const state of cases.map(caseState)) if (state !== "passed") red[state] = (red[state] ?? 0) + 1;
  const redCount = cases.filter((one) => !one.ok).length;
  const detail = tallyPhrase(red);
  const total = count(cases.length, "case");
  if (status === "FAILED")
    return { main: `${integer(redCount)} of ${total}`, detail: red.failed === redCount ? "" : detail };
  const main = `${integer(cases.length - redCount)} of ${total}`;
  return { main: status === "PASSED" ? main : `${main} passed`, detail };
}

/** The planned trials, and how many of them broke or are missing. */
export function trialsPhrase({ totals }: Pick<RunSummary, "totals">): string {
  const lost = lostPhrase(totals);
  return `${count(totals.trials, "trial")}${lost === "" ? "" : ` (${lost})`}`;
}

/** The planned trials without an answer: `6 broken, 3 missing`; empty where there are none. */
export function lostPhrase({ broken, missing }: RunSummary["totals"]): string {
  return tallyPhrase({ broken, missing });
}

/** A model with the note that says how its figures must be read. */
export function modelLabel({ model, note }: Pick<SuiteSummary, "model" | "note">): string {
  return note === undefined ? model : `${model} (${note})`;
}

/** `4/5 80% (38–96%)`: the rate never stands without its count and its 95 % interval. */
export function rateText(one: CaseSummary): string {
  if (one.rate === null || one.interval === null) return one.notGradable > 0 ? "not gradable" : "no graded trial";
  return `${integer(one.passed)}/${integer(one.trials)} ${percent(one.rate)} (${range(one.interval)})`;
}

/** What stands beside the graded trials of a case: `2 not gradable, 1 broken`; empty if nothing does. */
export function ungraded(one: CaseSummary): string {
  return tallyPhrase({ "not gradable": one.notGradable, broken: one.broken, missing: missingTrials(one) });
}

/** One sentence on a case, for places where it stands alone (an annotation, a test report). */
export function caseSentence(one: CaseSummary): string {
  const graded =
    one.rate === null || one.interval === null
      ? `none of ${count(one.planned, "trial")} was graded`
      : `${integer(one.passed)} of ${count(one.trials, "graded trial")} passed: ${percent(one.rate)} (95% interval ${range(one.interval)})`;
  const beside = ungraded(one);
  return `${graded}, needs ${percent(one.passRate)}${beside === "" ? "" : `; ${beside}`}`;
}

/** The pairs of the confusion table in which the pick was not the expected one. */
export function wrongPairs(suite: SuiteSummary): SuiteSummary["confusion"] {
  return suite.confusion.filter(({ expected, picked }) => expected !== picked);
}

/** The trials of a case that got no answer, by stage: `3 of 5 (model 2, timeout 1)`. */
export function lossOf(one: CaseSummary): string {
  const missing = missingTrials(one);
  return `${integer(one.broken + missing)} of ${integer(one.planned)} (${tally({ ...one.brokenStages, missing })})`;
}

/** Cases with trials that got no answer: they broke, or are not on the record. */
export function unansweredCases(suite: SuiteSummary): CaseSummary[] {
  return suite.cases.filter((one) => one.broken + missingTrials(one) > 0);
}

/** Cases that have something to explain beside broken trials, the red ones first. */
export function explainedCases(suite: SuiteSummary): CaseSummary[] {
  return redFirst(suite.cases).filter((one) => one.reasons.length > 0 && !onlyBroke(one));
}

/** True when every reason of the case is one of a broken trial: no other trial of it went wrong. */
export function onlyBroke(one: CaseSummary): boolean {
  return one.broken > 0 && one.passed === one.trials && one.notGradable === 0;
}

/** How many of the server's tools the suite asks for. */
export function coverageText({ coverage }: SuiteSummary): string {
  if (coverage.tools === 0) return "no tool is offered";
  const verb = coverage.expected === 1 ? "is" : "are";
  return `${integer(coverage.expected)} of ${count(coverage.tools, "tool")} ${verb} expected by a case`;
}

/** What the trials took, as label and value. Latency is a suite's own, so totals alone have none. */
export function figures({
  totals,
  latencyMs,
}: Pick<SuiteSummary, "totals"> & Partial<SuiteSummary>): [string, string][] {
  const latency = latencyMs && `p50 ${duration(latencyMs.p50)}, p95 ${duration(latencyMs.p95)}`;
  const errors = totals.toolErrors > 0 ? `, ${count(totals.toolErrors, "tool error")}` : "";
  return [
    ["model replies", integer(totals.calls)],
    ["calls executed", `${integer(totals.executed)}${errors}`],
    ["tokens in", integer(totals.inputTokens)],
    ["tokens out", integer(totals.outputTokens)],
    ["cost", money(totals.costUsd)],
    ...(latencyMs === undefined ? [] : [["latency", latency ?? "unknown"] satisfies [string, string]]),
  ];
}

/** What is needed to repeat the run, as label and value. */
export function provenance(manifest: RunManifest): [string, string][] {
  const { git } = manifest;
  return [
    ["seed", String(manifest.seed)],
    ["commit", git === undefined ? "none" : `${git.commit.slice(0, 12)}${git.dirty ? " and uncommitted changes" : ""}`],
    ["harness", `${manifest.harness}, Node ${manifest.node.replace(/^v/, "")}`],
    ["names shown as", manifest.host],
    ["started", manifest.startedAt],
  ];
}
