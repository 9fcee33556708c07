import { sumOf } from "../../../base/sum.ts";
import type { CheckSummary, ComparedCheck } from "../../../base/types/check.ts";
import { exitCodes } from "../../../base/types/errors.ts";
import type { CaseSummary, RunSummary, SuiteSummary } from "../../../base/types/run.ts";
import type { Tone } from "../../../reports/document.ts";
import { count, integer, range, some, tallyPhrase } from "../../../reports/format.ts";
import { checkNext, checkReason, type FollowUp, isCompared, isExhausted, lostLines } from "../../check/report.ts";
import { driftLead, driftWord } from "../../drift/report.ts";
import {
  type CaseState,
  caseState,
  isBelowBefore,
  isGatedByRate,
  lostPhrase,
  modelLabel,
  redFirst,
} from "../../results/text.ts";
import { askedPhrase, leftOutPhrase } from "./partial.ts";

// What a run came to, in one table: the headline, the lines below it and the explanation of the exit code follow from
// its row.

/** How many cases there are, how many of them passed or are red, and the red ones by state: `2 failed, 1 broken`. */
type CaseCounts = { total: string; passed: string; red: number; byState: string; areAllFailed: boolean };

/**
 * A status. `holds`: whether a run has it, if it has none of those above. `result`: the cases in the headline. `decides`:
 * for a status of suites, which of them have it. `certainty` and `next` are the lines below the headline.
 */
type StatusRow = {
  tone: Tone;
  holds(summary: RunSummary): boolean;
  result?(cases: CaseCounts): string;
  decides?(suite: SuiteSummary): boolean;
  certainty?(summary: RunSummary): string;
  next?(summary: RunSummary, followUp: FollowUp): string;
};

const hasVerdict = (kind: CheckSummary["kind"]) => (suite: SuiteSummary) => suite.verdict?.kind === kind;
const hasDrifted = ({ drift }: SuiteSummary) => drift?.verdict.kind === "drifted";
const hasRegressed = hasVerdict("regressed");
const hasChanged = hasVerdict("changed");

const isIncomplete = ({ exitCode }: RunSummary) => exitCode === exitCodes.incomplete;
/** A run without cases never passes. */
const hasPassed = ({ ok, exitCode, suites }: RunSummary) =>
  ok && exitCode === exitCodes.passed && suites.some(({ cases }) => cases.length > 0);
/** A suite on the keyword search without any gate: it asks no language model. */
const isUngated = (suite: SuiteSummary) =>
  suite.kind === "retrieval baseline" && !isGatedByRate(suite) && !(suite.verdict && isCompared(suite.verdict));

/** All statuses; the first that holds is that of the run. A regression takes precedence over what `--fail-on` names. */
const statuses = {
  /** It used cached replies, so it decides nothing. */
  DRAFT: {
    tone: "warn",
    holds: ({ cache, exitCode }) => cache !== undefined && exitCode === exitCodes.passed,
    next: () => "Next: when the cases are written, run again without --cache.",
  },
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
    certainty: () => "",
  },
  "SMOKE CHECK": {
    tone: "warn",
    holds: (summary) => hasPassed(summary) && summary.suites.every(isUngated),
    result: ({ passed }) => `a keyword search picks the right tool in ${passed}`,
    certainty: ({ suites }) => {
      const unjudged = sumOf(suites, ({ unchecked = [] }) => sumOf(unchecked, ({ n }) => n));
      const trials = unjudged === 0 ? "" : ` (${count(unjudged, "trial")})`;
      return `How sure: this shows what a host's keyword tool search finds. No language model was asked; arguments and results are not judged${trials}.`;
    },
    next: () =>
      "Next: ask a language model with `evals run -m anthropic:claude-haiku-5-5` (`--dry-run` prints the cost first), or gate this check with `--fail-on rate`.",
  },
  /** All cases that ran passed, but not every case ran. */
  PARTIAL: {
    tone: "warn",
    holds: (summary) => hasPassed(summary) && summary.partial !== undefined,
    next: () => "Next: ask every case with `evals run` before you rely on it.",
    certainty: ({ partial, totals }) =>
      partial
        ? `How sure: a quick look at ${askedPhrase(partial)} with ${count(totals.trials, "trial")}, and no verdict on the suite.`
        : "",
  },
  PASSED: {
    tone: "good",
    holds: hasPassed,
    result: ({ total, passed, red }) => (red === 0 ? passed : total),
    next: ({ suites }, { accept = false }) =>
      accept || suites.some(({ verdict }) => verdict)
        ? ""
        : "Next: keep this as the baseline of later checks with `evals baseline accept`.",
  },
  INCOMPLETE: {
    tone: "warn",
    holds: ({ exitCode }) => exitCode === exitCodes.incomplete || exitCode >= exitCodes.sigint,
    next: ({ run, totals, suites }) => {
      if (totals.missing > 0 || suites.some(isStopped))
        return `Next: ${totals.broken > 0 ? "fix what broke (below), then " : ""}finish the run with \`evals run --resume ${run}\`.`;
      return suites.some(({ verdict }) => verdict && "lost" in verdict)
        ? "Next: update the tool names in these cases or restore the old names, then run again."
        : "Next: see below what broke or could not be decided, fix its cause, then run again.";
    },
  },
  FAILED: {
    tone: "bad",
    holds: () => true,
    result: ({ total, red, byState, areAllFailed }) =>
      withDetail(`${integer(red)} of ${total}`, areAllFailed ? "" : byState),
    next: ({ run, suites, partial }) => {
      // A red case of a suite without a gate is not why the run failed.
      const failed = suites.filter(({ failed: gates = [] }) => gates.length > 0);
      const [red] = redFirst((failed.length > 0 ? failed : suites).flatMap(({ cases }) => cases));
      const named = red && !red.ok && /^[\w./:@-]+$/.test(red.id) ? ` ${red.id}` : "";
      const look = red
        ? `read what the model did with \`evals show${named} --failed${partial ? ` --run ${run}` : ""}\``
        : "add a case";
      return `Next: ${look}, then improve the descriptions or correct the cases.`;
    },
  },
} as const satisfies Record<string, StatusRow>;

export type RunStatus = keyof typeof statuses;

export function runStatus(summary: RunSummary): RunStatus {
  const words = Object.keys(statuses) as RunStatus[];
  return words.find((word) => statuses[word].holds(summary)) ?? "FAILED";
}

const findRow = (summary: RunSummary): StatusRow => statuses[runStatus(summary)];

export const statusTone = (summary: RunSummary): Tone => findRow(summary).tone;

const isStopped = ({ verdict }: SuiteSummary) =>
  verdict !== undefined && "because" in verdict && verdict.because === "stopped";

/** `3 of 10 cases (2 failed, 1 broken)` */
function withDetail(main: string, detail: string): string {
  return detail === "" ? main : `${main} (${detail})`;
}

/** The result in one line: `FAILED 3 of 10 cases · 50 trials · lexical-2 (keyword search, not a language model)`. */
export function headline(summary: RunSummary): string {
  const { suites, totals, partial } = summary;
  const status = runStatus(summary);
  const { decides }: StatusRow = statuses[status];
  const moved = decides && `${integer(suites.filter(decides).length)} of ${count(suites.length, "suite")}`;
  const open = (["inconclusive", "not-comparable"] as const).map((kind) => {
    const checks = suites.filter(hasVerdict(kind)).length;
    return checks > 0 ? `${count(checks, "check")} ${kind.replace("-", " ")}` : "";
  });
  const parts = [
    ...(moved === undefined ? [] : [moved]),
    resultText(summary, status),
    ...open,
    status === "SMOKE CHECK" ? "" : belowRate(summary, status),
    partial ? ["partial run", leftOutPhrase(partial)].filter(Boolean).join(", ") : "",
    withDetail(count(totals.trials, "trial"), lostPhrase(totals)),
    some([...new Set(suites.map(modelLabel))], 3),
  ];
  return `${status} ${parts.filter(Boolean).join(" · ")}`;
}

/** How many cases passed or failed, and the red cases by state if not all of them failed. */
function resultText({ suites }: RunSummary, status: RunStatus): string {
  const cases = suites.flatMap((suite) => suite.cases);
  if (cases.length === 0) return "no case was run";
  const states: Partial<Record<CaseState, number>> = {};
  for (const state of cases.map(caseState)) if (state !== "passed") states[state] = (states[state] ?? 0) + 1;
  const red = cases.filter((one) => !one.ok).length;
  const total = count(cases.length, "case");
  const passed = `${integer(cases.length - red)} of ${total}`;
  const byState = tallyPhrase(states);
  const { result }: StatusRow = statuses[status];
  if (!result) return withDetail(`${passed} passed`, byState);
  return result({ total, passed, red, byState, areAllFailed: states.failed === red });
}

/** The number of cases below a pass rate that is not gated. The headline of a run that failed has counted them already. */
function belowRate({ suites }: RunSummary, status?: RunStatus): string {
  const free = suites.filter((suite) => !isGatedByRate(suite));
  const below = free.flatMap(({ cases }) => cases.filter((one) => caseState(one) === "failed"));
  if (below.length === 0) return "";
  const known = below.filter(isBelowBefore).length;
  const part = known === below.length ? "" : ` ${integer(known)} of them`;
  const asBefore = known === 0 ? "" : `,${part} as in the baseline`;
  if (status === "FAILED") return `${integer(below.length)} of them not gated${asBefore}`;
  return `${count(below.length, "case")} below ${below.length === 1 ? "its" : "their"} pass rate${asBefore}`;
}

/** Explains the exit code if it is not obvious: which `--fail-on` gates failed, or that none did despite findings. */
export function exitText(summary: RunSummary): string | undefined {
  const { suites, exitCode } = summary;
  const named = [...new Set(suites.flatMap(({ failed = [] }) => failed))];
  if (exitCode === exitCodes.failed && named.length > 0) return `1, because of --fail-on ${named.join(", ")}`;
  const gates = [...new Set(suites.flatMap(({ failOn = [] }) => failOn))];
  if (exitCode !== exitCodes.passed || gates.length === 0 || runStatus(summary) === "SMOKE CHECK") return undefined;
  const isFine = ({ verdict }: SuiteSummary) => !verdict || ["no-regression", "unchanged"].includes(verdict.kind);
  const hasFinding = suites.some(hasDrifted) || !suites.every(isFine) || belowRate(summary) !== "";
  return hasFinding ? `0, because --fail-on ${gates.join(", ")} did not trigger` : undefined;
}

/** The suite whose check or night decides the status of the run. Its sentences are the lead of the report. */
export function leadingSuite(summary: RunSummary): SuiteSummary | undefined {
  const [only, ...others] = summary.suites;
  if (only?.drift?.nightly && others.length === 0) return only;
  const status = runStatus(summary);
  if (status === "REGRESSED") return summary.suites.find(hasRegressed);
  if (status === "CHANGED") return summary.suites.find(hasChanged);
  return summary.suites.find(({ verdict }) => verdict !== undefined && isCompared(verdict));
}

/** What happened if the headline does not say so, how sure that is, and what to do next: one line each. */
export function leadLines(summary: RunSummary, followUp: FollowUp = {}): string[] {
  const { verdict: check, drift } = leadingSuite(summary) ?? {};
  const status = runStatus(summary);
  const row: StatusRow = statuses[status];
  if (drift?.nightly && status !== "INCOMPLETE") return driftLead(drift);
  const next = row.next?.(summary, followUp) ?? "";
  const lines =
    check && isCompared(check) && status !== "DRIFTED"
      ? [checkReason(check), ...lostLines(check), checkCertainty(check), checkNext(check, followUp) || next]
      : [certainty(summary, row), next];
  return lines.filter((line) => line !== "");
}

function checkCertainty(check: ComparedCheck): string {
  const shared = check.families > 1 ? ` of ${count(check.families, "suite")}` : "";
  switch (check.kind) {
    case "regressed":
      return `How sure: at most 5% of checks${shared} with unchanged tools report a regression.`;
    case "no-regression":
      return isExhausted(check)
        ? determinism(check)
        : `How sure: a check${shared} misses such a drop in at most 5% of cases.`;
    case "changed":
      return isExhausted(check)
        ? determinism(check)
        : "How sure: at most 1% of checks with unchanged tools name a case that did not change.";
    case "inconclusive":
      return "";
  }
}

/** Whether the model is known to be deterministic, or was only seen to repeat its answers. */
function determinism({ repeats }: ComparedCheck): string {
  if (repeats === undefined) return "How sure: certain, since the model is deterministic.";
  return `How sure: this assumes that the model is deterministic: ${count(repeats, "repeated request")} got the same ${repeats === 1 ? "answer" : "answers"} as before, which can be chance.`;
}

function certainty(summary: RunSummary, row: StatusRow): string {
  const { suites, totals, cache } = summary;
  const nights = suites.flatMap(({ name, drift }) => (drift?.nightly ? [`${name} ${driftWord(drift)}`] : []));
  if (nights.length > 0) return `Nights: ${some(nights)}.`;
  if (row.certainty) return row.certainty(summary);
  if (cache)
    return `No verdict: ${integer(totals.cached ?? 0)} of ${count((totals.cached ?? 0) + totals.calls, "reply")} came from the cache, and an old reply is not new evidence (--cache).`;
  const widest = widestCase(suites.flatMap(({ cases }) => cases));
  if (!widest?.interval) return "";
  const after = count(widest.trials, "trial");
  return `How sure: after ${after}, the true pass rate of a case may be anywhere in ${range(widest.interval)} (95% CI).`;
}

function widestCase(cases: readonly CaseSummary[]): CaseSummary | undefined {
  const width = ({ interval }: CaseSummary) => (interval ? interval[1] - interval[0] : -1);
  return cases.reduce<CaseSummary | undefined>(
    (found, one) => (found && width(found) >= width(one) ? found : one),
    undefined,
  );
}
