import { groupBy, sumOf } from "../../../base/collections.ts";
import { shellWord } from "../../../base/text/display.ts";
import type { CheckSummary, ComparedCheck } from "../../../base/types/check.ts";
import { exitCodes } from "../../../base/types/errors.ts";
import type { CaseSummary, PartialRun, RunManifest, RunSummary, SuiteSummary, Touch } from "../../../base/types/run.ts";
import type { Tone } from "../../../reports/document.ts";
import { count, integer, some, tallyPhrase } from "../../../reports/format.ts";
import {
  checkNext,
  checkReason,
  type FollowUp,
  isCompared,
  isExhausted,
  isPlacebo,
  lostLines,
} from "../../check/sentences.ts";
import { driftLead, driftWord } from "../../drift/report.ts";
import { type CaseState, caseState, isBelowBefore, isGatedByRate, redFirst } from "../../results/text.ts";

// What a run came to, in one table: the headline, the lines below it and the explanation of the exit code follow from
// its row.

/**
 * A status. `holds`: whether a run has it, if it has none of those above. `decides`: for a status of suites, which of
 * them have it. `cases`: how many cases pass, for the headline. `certainty` and `next` are the lines below the
 * headline.
 */
type StatusRow = {
  tone: Tone;
  holds(summary: RunSummary): boolean;
  decides?(suite: SuiteSummary): boolean;
  cases?(cases: readonly CaseSummary[]): string;
  certainty?(summary: RunSummary): string;
  next?(summary: RunSummary, followUp: FollowUp): string;
};

const hasVerdict = (kind: CheckSummary["kind"]) => (suite: SuiteSummary) => suite.verdict?.kind === kind;
const hasPlacebo = ({ verdict }: SuiteSummary) => verdict !== undefined && isPlacebo(verdict);
const hasDrifted = ({ drift }: SuiteSummary) => drift?.verdict.kind === "drifted";
const hasRegressed = hasVerdict("regressed");
const hasChanged = hasVerdict("changed");

const listCases = ({ suites }: Pick<RunSummary, "suites">) => suites.flatMap(({ cases }) => cases);
const isIncomplete = ({ exitCode }: RunSummary) => exitCode === exitCodes.incomplete;
/** A run without cases never passes. */
const hasPassed = (summary: RunSummary) =>
  summary.ok && summary.exitCode === exitCodes.passed && listCases(summary).length > 0;
/** A suite on the keyword search without any gate: it asks no language model. */
const isUngated = (suite: SuiteSummary) =>
  suite.kind === "retrieval baseline" && !isGatedByRate(suite) && !(suite.verdict && isCompared(suite.verdict));
const isDraft = ({ cases, unreviewed }: SuiteSummary) => unreviewed === cases.length;
const hasFailingCase = (summary: RunSummary) => listCases(summary).some(({ ok }) => !ok);

const defaultModel = "anthropic:claude-haiku-5-5";

const acceptNext: NonNullable<StatusRow["next"]> = ({ suites }, { accept = false }) =>
  accept || suites.some(({ verdict }) => verdict)
    ? ""
    : "Next: keep this as the baseline of later checks with `evals baseline accept`.";

/** All statuses; the first that holds is that of the run. A regression takes precedence over what `--fail-on` names. */
const statuses = {
  /** It used cached replies, so it decides nothing. */
  DRAFT: {
    tone: "warn",
    holds: ({ cache, exitCode }) => cache !== undefined && exitCode === exitCodes.passed,
    certainty: ({ totals: { cached = 0, calls } }) =>
      `No verdict: ${integer(cached)} of ${count(cached + calls, "reply")} came from the cache, and an old reply is not new evidence (--cache).`,
    next: () => "Next: when the cases are written, run again without --cache.",
  },
  PLACEBO: { tone: "good", holds: ({ ok, suites }) => ok && suites.some(hasPlacebo), decides: hasPlacebo },
  REGRESSED: { tone: "bad", holds: ({ suites }) => suites.some(hasRegressed), decides: hasRegressed },
  CHANGED: {
    tone: "warn",
    holds: (summary) => !isIncomplete(summary) && summary.suites.some(hasChanged),
    decides: hasChanged,
  },
  DRIFTED: {
    tone: "bad",
    holds: (summary) => !isIncomplete(summary) && summary.suites.some(hasDrifted),
    decides: hasDrifted,
  },
  /** Nobody has read any of the queries, and no language model was asked. */
  "NOT REVIEWED": {
    tone: "warn",
    holds: (summary) => hasPassed(summary) && summary.suites.every((suite) => isUngated(suite) && isDraft(suite)),
    cases: (cases) => `a keyword search says nothing about ${count(cases.length, "drafted query", "drafted queries")}`,
    certainty: () =>
      "Nobody has read them, and drafts of `evals init` have the words of the descriptions, by which the search finds a tool.",
    next: ({ suites }, { model = defaultModel }) =>
      `Next: correct the queries with \`evals queries${suites.length === 1 ? ` ${shellWord(suites[0]?.cases[0]?.file ?? "")}` : ""}\` (\`--writer <model>\` has a model rewrite them), then ask a language model with \`evals run -m ${model}\`.`,
  },
  "SMOKE CHECK": {
    tone: "warn",
    holds: (summary) => hasPassed(summary) && summary.suites.every(isUngated),
    cases: (cases) =>
      `a keyword search picks the right tool in ${integer(cases.filter(({ ok }) => ok).length)} of ${count(cases.length, "case")}`,
    certainty: () => "No language model was asked, and arguments and results are not judged.",
    next: (_, { model = defaultModel }) =>
      `Next: ask a language model with \`evals run -m ${model}\` (\`--dry-run\` prints the cost first), or gate this check with \`--fail-on rate\`.`,
  },
  /** All cases that ran passed, but not every case ran. */
  PARTIAL: {
    tone: "warn",
    holds: (summary) => hasPassed(summary) && summary.partial !== undefined,
    certainty: ({ partial }) =>
      partial ? `A quick look at ${askedPhrase(partial)}, and no verdict on the suite.` : "",
    next: () => "Next: ask every case with `evals run` before you rely on it.",
  },
  "NO REGRESSION": {
    tone: "good",
    holds: (summary) => hasPassed(summary) && summary.suites.some(hasVerdict("no-regression")),
  },
  /** The tools are those of the baseline. Cases that failed before may fail now. */
  UNCHANGED: {
    tone: "good",
    holds: (summary) => hasPassed(summary) && hasFailingCase(summary) && summary.suites.every(({ verdict }) => verdict),
  },
  "NOT GATED": {
    tone: "warn",
    holds: (summary) => hasPassed(summary) && hasFailingCase(summary),
    next: () => "Next: make failing cases fail the run with `--fail-on rate`.",
  },
  PASSED: { tone: "good", holds: hasPassed, next: acceptNext },
  INCOMPLETE: {
    tone: "warn",
    holds: ({ exitCode }) => exitCode === exitCodes.incomplete || exitCode >= exitCodes.sigint,
    next: ({ totals, suites, ...record }) => {
      if (totals.missing > 0 || suites.some(isStopped)) {
        const stages = listCases({ suites }).flatMap(({ brokenStages }) => Object.keys(brokenStages));
        const isFaulty = stages.some((stage) => stage !== "cancelled");
        return `Next: ${isFaulty ? "fix what broke (below), then " : ""}finish the run with \`evals run --resume ${nameRecord(record)}\`.`;
      }
      return suites.some(({ verdict }) => verdict && "lost" in verdict)
        ? "Next: update the tool names in these cases or restore the old names, then run again."
        : "Next: see below what broke or could not be decided, fix its cause, then run again.";
    },
  },
  FAILED: {
    tone: "bad",
    holds: () => true,
    next: ({ suites, partial, totals, ...record }) => {
      const run = nameRecord(record);
      const first = totals.missing > 0 ? `finish the run with \`evals run --resume ${run}\`; ` : "";
      // A red case of a suite without a gate is not why the run failed.
      const failed = suites.filter(({ failed: gates = [] }) => gates.length > 0);
      const [red] = redFirst(listCases({ suites: failed.length > 0 ? failed : suites }));
      const named = red && !red.ok && /^[\w./:@-]+$/.test(red.id) ? ` ${red.id}` : "";
      const look = red
        ? `read what the model did with \`evals show${named} --failed${partial || run !== record.run ? ` --run ${run}` : ""}\``
        : "add a case";
      return `Next: ${first}${look}, then improve the descriptions or correct the cases.`;
    },
  },
} as const satisfies Record<string, StatusRow>;

/** A record as commands find it: by its id in the default folder, otherwise by its own folder. */
function nameRecord({ run, dir }: { run: string; dir: string }): string {
  return /^(?:(?:[A-Za-z]:)?[/\\].*[/\\])?reports[/\\](?:partial[/\\])?[^/\\]+$/.test(dir) ? run : shellWord(dir);
}

export type RunStatus = keyof typeof statuses;

export function runStatus(summary: RunSummary): RunStatus {
  const words = Object.keys(statuses) as RunStatus[];
  return words.find((word) => statuses[word].holds(summary)) ?? "FAILED";
}

const findRow = (summary: RunSummary): StatusRow => statuses[runStatus(summary)];

export const statusTone = (summary: RunSummary): Tone => findRow(summary).tone;

const isStopped = ({ verdict }: SuiteSummary) =>
  verdict !== undefined && "because" in verdict && verdict.because === "stopped";

/** The result in one line: `NO REGRESSION · 3 of 10 cases pass, as in the baseline · anthropic:claude-haiku-5-5`. */
export function headline(summary: RunSummary): string {
  const { suites, partial } = summary;
  const { decides, cases = describeCases } = findRow(summary);
  const all = listCases(summary);
  const left = sumCases(partial?.leftOut ?? []);
  const open = (["inconclusive", "not-comparable"] as const).map((kind) => {
    const checks = suites.filter(hasVerdict(kind)).length;
    return checks > 0 ? `${count(checks, "check")} ${kind.replace("-", " ")}` : "";
  });
  const parts = [
    runStatus(summary),
    decides && suites.length > 1 ? `${integer(suites.filter(decides).length)} of ${count(suites.length, "suite")}` : "",
    all.length === 0 ? "no case was run" : cases(all),
    ...open,
    comparedPhrase(suites),
    partial ? `partial run${left > 0 ? `, ${count(left, "case")} left out` : ""}` : "",
    some([...new Set(suites.map(({ model }) => model))], 3),
  ];
  return parts.filter(Boolean).join(" · ");
}

/** `7 of 10 cases compared`; empty where checks compare all cases of their suites. */
function comparedPhrase(suites: RunSummary["suites"]): string {
  const checks = suites.flatMap(({ verdict }) => (verdict && isCompared(verdict) ? [verdict] : []));
  if (checks.every(({ of }) => of === undefined)) return "";
  const total = sumOf(checks, ({ cases, of = cases }) => of);
  return `${integer(sumOf(checks, ({ cases }) => cases))} of ${count(total, "case")} compared`;
}

/** `3 of 10 cases pass (5 failed, 2 broken), as in the baseline` */
function describeCases(cases: readonly CaseSummary[]): string {
  const passed = cases.filter(({ ok }) => ok).length;
  const states: Partial<Record<CaseState, number>> = {};
  for (const state of cases.map(caseState)) if (state !== "passed") states[state] = (states[state] ?? 0) + 1;
  const areAllFailed = (states.failed ?? 0) === cases.length - passed;
  const detail = areAllFailed ? "" : ` (${tallyPhrase(states)})`;
  const verb = passed === 1 || cases.length === 1 ? "passes" : "pass";
  return `${integer(passed)} of ${count(cases.length, "case")} ${verb}${detail}${describeBefore(cases)}`;
}

/** How many of the cases passed when the baseline was accepted; empty where none is the same as in it. */
function describeBefore(cases: readonly CaseSummary[]): string {
  const known = cases.filter(({ before }) => before && before.trials > 0);
  if (known.length === 0) return "";
  const passed = known.filter((one) => !isBelowBefore(one)).length;
  const isSame = known.length === cases.length && known.every((one) => one.ok !== isBelowBefore(one));
  if (isSame) return ", as in the baseline";
  return `, ${integer(passed)}${known.length === cases.length ? "" : ` of ${integer(known.length)}`} in the baseline`;
}

/** Why a run has its exit code, where gates were given: which of them failed, or that none did despite findings. */
export function exitText({ suites, exitCode }: RunSummary, manifest: RunManifest): string | undefined {
  const isGiven = manifest.failOn !== undefined || manifest.suites.some(({ failOn }) => failOn !== undefined);
  if (!isGiven) return undefined;
  const named = [...new Set(suites.flatMap(({ failed = [] }) => failed))];
  if (exitCode === exitCodes.failed && named.length > 0) return `1, because of --fail-on ${named.join(", ")}`;
  const gates = [...new Set(suites.flatMap(({ failOn = [] }) => failOn))];
  if (exitCode !== exitCodes.passed || gates.length === 0) return undefined;
  const isFine = ({ verdict }: SuiteSummary) => !verdict || ["no-regression", "unchanged"].includes(verdict.kind);
  const hasFinding = suites.some(hasDrifted) || !suites.every(isFine) || listCases({ suites }).some(({ ok }) => !ok);
  return hasFinding ? `0, because --fail-on ${gates.join(", ")} did not trigger` : undefined;
}

/** The suite whose check or night decides the status of the run. Its sentences are the lead of the report. */
export function leadingSuite(summary: RunSummary): SuiteSummary | undefined {
  const [only, ...others] = summary.suites;
  if (only?.drift?.nightly && others.length === 0) return only;
  const { decides } = findRow(summary);
  return (
    (decides && decides !== hasDrifted ? summary.suites.find(decides) : undefined) ??
    summary.suites.find(({ verdict }) => verdict !== undefined && isCompared(verdict))
  );
}

/** What happened if the headline does not say so, how sure that is, and what to do next: one line each. */
export function leadLines(summary: RunSummary, { flags }: RunManifest, followUp: FollowUp = {}): string[] {
  const { verdict: check, drift } = leadingSuite(summary) ?? {};
  const status = runStatus(summary);
  const { certainty, next: findNext }: StatusRow = statuses[status];
  if (drift?.nightly && status !== "INCOMPLETE") return driftLead(drift);
  const next = findNext?.(summary, followUp) ?? "";
  const nights = summary.suites.flatMap(({ name, drift: one }) => (one?.nightly ? [`${name} ${driftWord(one)}`] : []));
  const lines =
    check && isCompared(check) && status !== "DRIFTED"
      ? [checkReason(check), ...lostLines(check), checkCertainty(check), checkNext(check, followUp) || next]
      : [nights.length > 0 ? `Nights: ${some(nights)}.` : (certainty?.(summary) ?? ""), next];
  return lines.filter((line) => line !== "").map((line) => repeatGiven(line, flags));
}

/** A line whose `evals run` asks again, with what was given, apart from a model where the line names one. */
function repeatGiven(line: string, { paths = [], model, baseUrl, given = [] }: Partial<RunManifest["flags"]>): string {
  const isGiven = (name: string) => Array.isArray(given) && given.includes(name);
  return line.replace(/`evals run(?! --resume)([^`]*)`/g, (_, rest: string) => {
    const models = isGiven("model") && !/ -m /.test(rest) ? [model].flat().map((id) => `-m ${id}`) : [];
    const base = isGiven("baseUrl") && models.length > 0 ? [`--base-url ${baseUrl}`] : [];
    const files = isGiven("paths") ? [paths].flat().map((path) => (/\s/.test(`${path}`) ? `"${path}"` : path)) : [];
    const words = [...files, ...models, ...base];
    return `\`evals run${words.map((word) => ` ${word}`).join("")}${rest}\``;
  });
}

/** How often the statistics of a check are wrong; of a deterministic model, only what is assumed. */
function checkCertainty(check: ComparedCheck): string {
  const { kind, families, repeats } = check;
  const shared = families > 1 ? ` of ${count(families, "suite")}` : "";
  if (kind === "regressed") return `How sure: at most 5% of checks${shared} with unchanged tools report a regression.`;
  if (kind === "inconclusive" || isPlacebo(check)) return "";
  if (isExhausted(check))
    return repeats === undefined
      ? ""
      : `How sure: this assumes that the model is deterministic: ${count(repeats, "repeated request")} got the same ${repeats === 1 ? "answer" : "answers"} as before. A model that samples does so in at most 0.2% of checks.`;
  return `How sure: at most 5% of checks${shared} miss a larger mean drop.`;
}

const sumCases = (leftOut: PartialRun["leftOut"]) => sumOf(leftOut, ({ cases }) => cases);

/** How many cases a partial run asks: `3 of 12 cases`. */
function askedPhrase({ asked, leftOut }: PartialRun): string {
  return `${asked.length} of ${count(asked.length + sumCases(leftOut), "case")}`;
}

/** Which cases a partial run asks and leaves out, and why: one line per reason. */
export function describePartial(partial: PartialRun): string[] {
  const { asked, leftOut, since } = partial;
  const before = describeSince(since);
  const isOneSuite = new Set([...asked, ...leftOut].map(({ suite }) => suite)).size === 1;
  const groups = groupBy(asked, (one) => `${isOneSuite ? "" : ` of ${one.suite}`}: ${explainTouch(one, since)}`);
  const nothing = `No case is asked: no change ${before} affects any of ${count(sumCases(leftOut), "case")}.`;
  if (asked.length === 0) return [nothing];
  return [
    `Asking ${askedPhrase(partial)}.`,
    ...[...groups].map(([why, own]) => {
      const ids = own.map((one) => one.case);
      return `  ${some(ids, 10)}${why}`;
    }),
    ...describeLeftOut(partial).map((text) => `Left out: ${text}`),
  ];
}

/** What a partial run leaves out and why; empty if it asks all cases. */
export function describeLeftOut({ leftOut, since }: PartialRun): string[] {
  const list = leftOut.map(({ suite, cases }) => `${count(cases, "case")} of ${suite}`);
  return list.length === 0 ? [] : [`${some(list)}. No change ${describeSince(since)} touches them.`];
}

const describeSince = (since: PartialRun["since"]) =>
  since === "baseline" ? "since the accepted baseline" : "since they were last asked";

const reasons: Record<Exclude<Touch, "stale" | "neighbor" | "no record">, string> = {
  new: "new",
  edited: "the case, its mocks or its skill changed",
  "not graded": "no graded trial yet",
};

function explainTouch({ why, tools }: PartialRun["asked"][number], since: PartialRun["since"]): string {
  if (why === "no record") return since === "baseline" ? "there is no accepted baseline" : "not asked before";
  if (why === "stale") return `${some(tools)} changed`;
  if (why === "neighbor") return `${some(tools)} changed, which is similar to an expected tool`;
  return reasons[why];
}
