import type { CheckSummary } from "../../base/types/check.ts";
import { exitCodes } from "../../base/types/errors.ts";
import type { CaseSummary, RunManifest, RunSummary, SuiteSummary } from "../../base/types/run.ts";
import type { Cost } from "../../base/types/trial.ts";
import type { Inline, Mark, Tone } from "../../reports/document.ts";
import {
  count,
  duration,
  integer,
  money,
  percent,
  range,
  rateWithInterval,
  some,
  tally,
  tallyPhrase,
} from "../../reports/format.ts";
import { leftOutPhrase } from "../run/report/partial.ts";

// Phrases about runs, suites and cases that several reports share, as raw text that each form escapes.

/** The state of a case. All except `passed` are red: nothing passes without an answer. */
export type CaseState = "passed" | "failed" | "not gradable" | "broken" | "missing";

export const stateMark: Record<CaseState, Mark> = {
  passed: "good",
  failed: "bad",
  "not gradable": "open",
  broken: "warn",
  missing: "warn",
};

/** `failed` only if graded trials missed the gate; otherwise the first reason why the case has no result. */
export function caseState(one: CaseSummary): CaseState {
  if (one.ok) return "passed";
  if (one.rate !== null && one.rate < one.passRate) return "failed";
  if (one.notGradable > 0) return "not gradable";
  if (one.broken > 0) return "broken";
  return missingTrials(one) > 0 || one.trials === 0 ? "missing" : "failed";
}

function missingTrials(one: CaseSummary): number {
  return Math.max(0, one.planned - one.trials - one.broken - one.notGradable);
}

/** Red cases first, otherwise in the order of the suite. */
export function redFirst(cases: readonly CaseSummary[]): CaseSummary[] {
  return [...cases.filter((one) => !one.ok), ...cases.filter((one) => one.ok)];
}

export type RunStatus =
  | "PASSED"
  | "PARTIAL"
  | "DRAFT"
  | "SMOKE CHECK"
  | "REGRESSED"
  | "CHANGED"
  | "DRIFTED"
  | "FAILED"
  | "INCOMPLETE";

export const statusTone: Record<RunStatus, Tone> = {
  PASSED: "good",
  PARTIAL: "warn",
  DRAFT: "warn",
  "SMOKE CHECK": "warn",
  REGRESSED: "bad",
  CHANGED: "warn",
  DRIFTED: "bad",
  FAILED: "bad",
  INCOMPLETE: "warn",
};

/**
 * The status of the whole run. DRAFT: it used cached replies, so it decides nothing. A regression takes precedence over
 * the rest, even if `--fail-on` does not name it. A run without cases never passes. PARTIAL: all cases that ran passed,
 * but not every case ran.
 */
export function runStatus(summary: RunSummary): RunStatus {
  const { suites, ok, exitCode } = summary;
  if (summary.cache && exitCode === exitCodes.passed) return "DRAFT";
  if (suites.some(({ verdict }) => verdict?.kind === "regressed")) return "REGRESSED";
  if (exitCode !== exitCodes.incomplete && suites.some(({ verdict }) => verdict?.kind === "changed")) return "CHANGED";
  if (exitCode !== exitCodes.incomplete && suites.some(hasDrifted)) return "DRIFTED";
  if (ok && exitCode === exitCodes.passed && suites.some((suite) => suite.cases.length > 0))
    return suites.every(isUngated) ? "SMOKE CHECK" : summary.partial ? "PARTIAL" : "PASSED";
  return exitCode === exitCodes.incomplete || exitCode >= exitCodes.sigint ? "INCOMPLETE" : "FAILED";
}

/** A suite on the keyword search without any gate: it asks no language model. */
const isUngated = (suite: SuiteSummary) =>
  suite.kind === "retrieval baseline" && !isGatedByRate(suite) && !(suite.verdict && "method" in suite.verdict);

const hasDrifted = ({ drift }: SuiteSummary) => drift?.verdict.kind === "drifted";

/** The result in one line: `FAILED 3 of 10 cases · 50 trials · lexical-2 (keyword search, not a language model)`. */
export function headline(summary: RunSummary): string {
  const { status, main, detail, others } = outcome(summary);
  const parts = [
    `${status} ${withDetail(main, detail)}`,
    ...others,
    trialsPhrase(summary),
    some([...new Set(summary.suites.map(modelLabel))], 3),
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

/** `3 of 10 cases (2 failed, 1 broken)` */
function withDetail(main: string, detail: string): string {
  return detail === "" ? main : `${main} (${detail})`;
}

/**
 * The parts of the headline: `FAILED`, `3 of 10 cases`, `2 failed, 1 broken` or nothing, and `others`: the cases of a
 * run that regressed, checks without a verdict, cases below an ungated rate, and what a partial run left out.
 */
function outcome(summary: RunSummary): { status: RunStatus; main: string; detail: string; others: string[] } {
  const status = runStatus(summary);
  const checks = (kind: CheckSummary["kind"]) => summary.suites.filter(({ verdict }) => verdict?.kind === kind).length;
  const open = (["inconclusive", "not-comparable"] as const).flatMap((kind) =>
    checks(kind) > 0 ? [`${count(checks(kind), "check")} ${kind.replace("-", " ")}`] : [],
  );
  const { main, detail } = caseCounts(summary, status);
  const below = status === "SMOKE CHECK" ? undefined : belowRate(summary, status);
  const left = summary.partial && ["partial run", leftOutPhrase(summary.partial)].filter((part) => part !== "");
  const rest = [...open, ...(below === undefined ? [] : [below]), ...(left ? [left.join(", ")] : [])];
  if (status !== "REGRESSED" && status !== "CHANGED" && status !== "DRIFTED")
    return { status, main, detail, others: rest };
  const moved =
    status === "DRIFTED"
      ? summary.suites.filter(hasDrifted).length
      : checks(status === "REGRESSED" ? "regressed" : "changed");
  const suites = `${integer(moved)} of ${count(summary.suites.length, "suite")}`;
  return { status, main: suites, detail: "", others: [withDetail(main, detail), ...rest] };
}

/** Whether a case below its pass rate fails the suite. */
export function isGatedByRate({ failOn = ["rate"] }: Pick<SuiteSummary, "failOn">): boolean {
  return failOn.some((gate) => gate === "rate" || gate === "any");
}

/** Whether a case was below its pass rate when the baseline was accepted. */
export function isBelowBefore({ before, passRate }: CaseSummary): boolean {
  return before !== undefined && before.trials > 0 && before.passed / before.trials < passRate;
}

/** The number of cases below a pass rate that is not gated. The headline of a run that failed has counted them already. */
function belowRate({ suites }: RunSummary, status?: RunStatus): string | undefined {
  const free = suites.filter((suite) => !isGatedByRate(suite));
  const below = free.flatMap(({ cases }) => cases.filter((one) => caseState(one) === "failed"));
  const known = below.filter(isBelowBefore).length;
  const part = known === below.length ? "" : ` ${integer(known)} of them`;
  const asBefore = known === 0 ? "" : `,${part} as in the baseline`;
  if (below.length === 0) return undefined;
  if (status === "FAILED") return `${integer(below.length)} of them not gated${asBefore}`;
  return `${count(below.length, "case")} below ${below.length === 1 ? "its" : "their"} pass rate${asBefore}`;
}

/** Explains the exit code if it is not obvious: which `--fail-on` gates failed, or that none did despite findings. */
export function exitText(summary: RunSummary): string | undefined {
  const { suites, exitCode } = summary;
  const named = [...new Set(suites.flatMap(({ failed = [] }) => failed))];
  if (exitCode === exitCodes.failed && named.length > 0) return `1, because of --fail-on ${named.join(", ")}`;
  if (exitCode !== exitCodes.passed) return undefined;
  const gates = [...new Set(suites.flatMap(({ failOn = [] }) => failOn))];
  const isOpen =
    suites.some(hasDrifted) ||
    suites.some(({ verdict }) => verdict && !["no-regression", "unchanged"].includes(verdict.kind));
  if (gates.length === 0 || runStatus(summary) === "SMOKE CHECK") return undefined;
  if (!isOpen && belowRate(summary) === undefined) return undefined;
  return `0, because --fail-on ${gates.join(", ")} did not trigger`;
}

/** How many cases passed or failed, and the red cases by state if not all of them failed. */
function caseCounts({ suites }: RunSummary, status: RunStatus): { main: string; detail: string } {
  const cases = suites.flatMap((suite) => suite.cases);
  if (cases.length === 0) return { main: "no case was run", detail: "" };
  const red: Partial<Record<CaseState, number>> = {};
  for (const state of cases.map(caseState)) if (state !== "passed") red[state] = (red[state] ?? 0) + 1;
  const redCount = cases.filter((one) => !one.ok).length;
  const detail = tallyPhrase(red);
  const total = count(cases.length, "case");
  const main = `${integer(cases.length - redCount)} of ${total}`;
  if (status === "SMOKE CHECK") return { main: `a keyword search picks the right tool in ${main}`, detail: "" };
  if (status === "FAILED")
    return { main: `${integer(redCount)} of ${total}`, detail: red.failed === redCount ? "" : detail };
  if (status === "PASSED") return redCount === 0 ? { main, detail } : { main: total, detail: "" };
  return { main: `${main} passed`, detail };
}

function trialsPhrase({ totals }: Pick<RunSummary, "totals">): string {
  const lost = lostPhrase(totals);
  return `${count(totals.trials, "trial")}${lost === "" ? "" : ` (${lost})`}`;
}

/** The trials of an experiment and their cost: `40 (2 broken, excluded from rates) · cost $0.12`. */
export function madeText({ trials, broken, costUsd }: { trials: number; broken: number; costUsd: Cost }): string {
  const lost = broken > 0 ? ` (${integer(broken)} broken, excluded from rates)` : "";
  return `${integer(trials)}${lost} · cost ${money(costUsd)}`;
}

/** The planned trials without an answer: `6 broken, 3 missing`; empty if there are none. */
export function lostPhrase({ broken, missing }: RunSummary["totals"]): string {
  return tallyPhrase({ broken, missing });
}

/** A model with the note on how to read its results: `lexical-2 (keyword search, not a language model)`. */
export function modelLabel({ model, note }: { model: string; note?: string | null | undefined }): string {
  return note ? `${model} (${note})` : model;
}

/** `4/5 80% (38-96%)` */
export function rateText(one: CaseSummary): string {
  if (one.rate === null || one.interval === null) return one.notGradable > 0 ? "not gradable" : "no graded trial";
  return rateWithInterval(one, one.interval);
}

/** The trials of a case that were not graded: `2 not gradable, 1 broken`; empty if there are none. */
function ungraded(one: CaseSummary): string {
  return tallyPhrase({ "not gradable": one.notGradable, broken: one.broken, missing: missingTrials(one) });
}

/** One sentence on a case that can stand alone, such as in an annotation or a test report. */
export function caseSentence(one: CaseSummary): string {
  const graded =
    one.rate === null || one.interval === null
      ? `none of ${count(one.planned, "trial")} was graded`
      : `${integer(one.passed)} of ${count(one.trials, "graded trial")} passed: ${percent(one.rate)} (95% CI ${range(one.interval)})`;
  const { substituted = 0 } = one.outcomes;
  const rest = [substituted > 0 ? `${integer(substituted)} substituted` : "", ungraded(one)]
    .filter((part) => part !== "")
    .join(", ");
  return `${graded}, needs ${percent(one.passRate)}${rest === "" ? "" : `; ${rest}`}`;
}

/** `3x expected read_file, picked get_file` */
export function describePair({ expected, picked, n }: SuiteSummary["confusion"][number]): Inline {
  return [`${integer(n)}x expected `, { code: expected, max: 60 }, ", picked ", { code: picked, max: 60 }];
}

/** The unanswered trials of a case by stage: `3 of 5 (model 2, timeout 1)`. */
export function lossText(one: CaseSummary): string {
  const missing = missingTrials(one);
  return `${integer(one.broken + missing)} of ${integer(one.planned)} (${tally({ ...one.brokenStages, missing }).join(", ")})`;
}

/** Cases with broken or missing trials. */
export function unansweredCases(suite: SuiteSummary): CaseSummary[] {
  return suite.cases.filter((one) => one.broken + missingTrials(one) > 0);
}

/** Cases with reasons other than broken trials, red ones first. */
export function explainedCases(suite: SuiteSummary): CaseSummary[] {
  return redFirst(suite.cases).filter((one) => one.reasons.length > 0 && !onlyBroke(one));
}

/** Whether the only thing that went wrong in the case is broken trials. */
export function onlyBroke(one: CaseSummary): boolean {
  return one.broken > 0 && one.passed === one.trials && one.notGradable === 0;
}

/** Replies, calls, tokens, cost and latency. Totals over several suites have no latency. */
export function usageText({
  totals,
  latencyMs,
  batched,
}: Pick<SuiteSummary, "totals"> & Partial<Pick<SuiteSummary, "latencyMs" | "batched">>): string {
  const errors = totals.toolErrors > 0 ? ` (${count(totals.toolErrors, "tool error")})` : "";
  return [
    `${count(totals.calls, "model reply")}${batched ? ` (${integer(batched)} in batches)` : ""}`,
    ...(totals.cached ? [`${integer(totals.cached)} more from the cache`] : []),
    `${count(totals.executed, "call")} executed${errors}`,
    `${integer(totals.inputTokens)} tokens in`,
    `${integer(totals.outputTokens)} out`,
    `cost ${money(totals.costUsd)}`,
    ...(latencyMs ? [`latency p50 ${duration(latencyMs.p50)}, p95 ${duration(latencyMs.p95)}`] : []),
  ].join(" · ");
}

/** What is needed to reproduce the run. */
export function provenance({ git, seed, harness, node, host, startedAt }: RunManifest): string {
  const commit =
    git === undefined ? "none" : `${git.commit.slice(0, 12)}${git.dirty ? " and uncommitted changes" : ""}`;
  return [
    `seed ${seed}`,
    `commit ${commit}`,
    `tool-evals ${harness}`,
    `Node ${node.replace(/^v/, "")}`,
    host === "plain" ? "tool names as listed by the server" : `tool names as ${host} shows them`,
    `started ${startedAt}`,
  ].join(" · ");
}
