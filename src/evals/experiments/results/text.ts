import { sumOf } from "../../base/collections.ts";
import type { CaseSummary, ManifestSuite, RunManifest, RunSummary, SuiteSummary } from "../../base/types/run.ts";
import type { ListChange } from "../../base/types/trial.ts";
import type { Inline, Mark } from "../../reports/document.ts";
import {
  count,
  duration,
  integer,
  money,
  percent,
  range,
  rateWithInterval,
  ratio,
  tally,
  tallyPhrase,
} from "../../reports/format.ts";

/** A change of a tool list as labels, each with names of tools. */
export function describeListChange({ added, removed }: ListChange): [label: string, names: readonly string[]][] {
  const names = added.map(({ name }) => name);
  return [
    ...(names.length > 0 ? [["Tools added or redefined", names] as [string, string[]]] : []),
    ...(removed.length > 0 ? [["Tools removed", removed] as [string, string[]]] : []),
  ];
}

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

/** Whether a case below its pass rate fails the suite. */
export function isGatedByRate({ failOn = ["rate"] }: Pick<SuiteSummary, "failOn">): boolean {
  return failOn.some((gate) => gate === "rate" || gate === "any");
}

/** Whether a case was below its pass rate when the baseline was accepted. */
export function isBelowBefore({ before, passRate }: CaseSummary): boolean {
  return before !== undefined && before.trials > 0 && before.passed / before.trials < passRate;
}

/** The planned trials without an answer: `6 broken, 3 missing`; empty if there are none. */
export function lostPhrase({ broken, missing }: RunSummary["totals"]): string {
  return tallyPhrase({ broken, missing });
}

/** `2 of 7 queries`, of those that nobody had reviewed; undefined if there are none. */
export function countUnreviewed(suites: RunManifest["suites"]): string | undefined {
  const all = sumOf(suites, ({ cases }) => cases.length);
  const open = sumOf(suites, ({ cases, unreviewed }) => cases.filter(({ id }) => unreviewed?.includes(id)).length);
  return open === 0 ? undefined : `${integer(open)} of ${count(all, "query", "queries")}`;
}

/** How the figures of a suite on a model must be read: what the model is, and whether drafts were asked. */
export function readingNote(note: string | undefined, suite: ManifestSuite): string | undefined {
  const open = countUnreviewed([suite]);
  return [note ?? [], open === undefined ? [] : `${open} not reviewed`].flat().join("; ") || undefined;
}

/** How many tools and skills are offered: `14 tools`, `2 skills`. */
export function countOffered(tools: number, skills: number): string[] {
  const ofTools = tools > 0 || skills === 0 ? [count(tools, "tool")] : [];
  return skills > 0 ? [...ofTools, count(skills, "skill")] : ofTools;
}

/** A model with the note on how to read its results: `lexical-2 (keyword search, not a language model)`. */
export function modelLabel({ model, note }: { model: string; note?: string | null | undefined }): string {
  return note ? `${model} (${note})` : model;
}

/** `4/5 80% (38-96%)`, or `4/5 80%` without an interval. */
export function rateText(one: CaseSummary): string {
  if (one.rate === null) return one.notGradable > 0 ? "not gradable" : "no graded trial";
  return one.interval === null ? `${ratio(one)} ${percent(one.rate)}` : rateWithInterval(one, one.interval);
}

/** The trials of a case that were not graded: `not gradable 2`, `broken 1`; empty if there are none. */
export function ungraded(one: CaseSummary): string[] {
  return tally({ "not gradable": one.notGradable, broken: one.broken, missing: missingTrials(one) });
}

/** One sentence on a case that can stand alone, such as in an annotation or a test report. */
export function caseSentence(one: CaseSummary): string {
  const interval = one.interval ? ` (95% CI ${range(one.interval)})` : "";
  const graded =
    one.rate === null
      ? `none of ${count(one.planned, "trial")} was graded`
      : `${integer(one.passed)} of ${count(one.trials, "graded trial")} passed: ${percent(one.rate)}${interval}`;
  const { substituted = 0 } = one.outcomes;
  const { notGradable, broken } = one;
  const lost = tallyPhrase({ "not gradable": notGradable, broken, missing: missingTrials(one) });
  const rest = [substituted > 0 ? `${integer(substituted)} substituted` : "", lost].filter(Boolean).join(", ");
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
export function usageText(used: Pick<SuiteSummary, "totals"> & Partial<SuiteSummary>): string {
  const { totals, latencyMs, batched } = used;
  const errors = totals.toolErrors > 0 ? ` (${count(totals.toolErrors, "tool error")})` : "";
  return [
    `${count(totals.calls, "model reply")}${batched ? ` (${integer(batched)} in batches)` : ""}`,
    ...(totals.cached ? [`${integer(totals.cached)} more from the cache`] : []),
    `${count(totals.executed, "call")} executed${errors}`,
    `${integer(totals.inputTokens)} tokens in${cachedShare(totals)}`,
    `${integer(totals.outputTokens)} out`,
    `cost ${money(totals.costUsd)}`,
    ...(latencyMs ? [`latency p50 ${duration(latencyMs.p50)}, p95 ${duration(latencyMs.p95)}`] : []),
  ].join(" · ");
}

const cachedShare = ({ inputTokens, cacheReadTokens = 0 }: SuiteSummary["totals"]) =>
  cacheReadTokens > 0 ? ` (${percent(cacheReadTokens / inputTokens)} from the prompt cache)` : "";

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
