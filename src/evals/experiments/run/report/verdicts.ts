import { exitCodes } from "../../../base/types/errors.ts";
import type { CaseSummary, RunManifest, SuiteSummary } from "../../../base/types/run.ts";
import { isRed, type Location, type Verdict, type VerdictList, type VerdictSuite } from "../../../reports/findings.ts";
import { tally } from "../../../reports/format.ts";
import { discoverySentence } from "../../arms/report.ts";
import { checkLines } from "../../check/report.ts";
import type { FollowUp } from "../../check/sentences.ts";
import { driftLines } from "../../drift/report.ts";
import { type CaseState, caseSentence, caseState, isGatedByRate, modelLabel } from "../../results/text.ts";
import { isDeterministic } from "./cases.ts";
import type { RunInput } from "./run.ts";
import { headline } from "./status.ts";

/** The verdicts of a run: each check, drift and case. A run that is red for another reason also has one of its own. */
export function runVerdicts({ summary, manifest, followUp = {} }: RunInput): VerdictList {
  const suites = summary.suites.map((suite): VerdictSuite => {
    const { name, model, note, discovery } = suite;
    const search = discovery && discoverySentence(discovery);
    return {
      name,
      model,
      facts: { model, note, ...manifestFacts(manifest), search },
      verdicts: [
        ...checkVerdicts(suite, followUp),
        ...driftVerdicts(suite),
        ...suite.cases
          .map((one) => (isDeterministic(model, manifest.models) ? { ...one, interval: null } : one))
          .map((one) => caseVerdict(suite, one)),
      ],
    };
  });
  // Every form on its own must show that the run is red.
  const isShown = summary.exitCode === exitCodes.passed || suites.some(({ verdicts }) => verdicts.some(isRed));
  const whole: Verdict = { name: `run ${summary.run}`, level: "error", kind: "run", lines: [headline(summary)] };
  return {
    suites: isShown ? suites : [...suites, { name: "the run as a whole", facts: {}, verdicts: [whole] }],
    where: ` in the report in ${summary.dir}`,
    ...measureTime(manifest),
  };
}

export const manifestFacts = ({ id, seed, git }: RunManifest) => ({
  run: id,
  seed: String(seed),
  commit: git?.commit,
});

/** When a record was started, and how long it took if finished. */
export function measureTime({ startedAt, finishedAt }: RunManifest): Pick<VerdictList, "startedAt" | "ms"> {
  const ms = Date.parse(finishedAt ?? "") - Date.parse(startedAt);
  return { startedAt, ...(Number.isFinite(ms) && { ms }) };
}

/** Placed on the case that dropped most, or on the first case of the suite. */
function checkVerdicts({ verdict, cases }: SuiteSummary, followUp: FollowUp): Verdict[] {
  if (!verdict) return [];
  const { kind, exitCode } = verdict;
  const worst = "flagged" in verdict ? verdict.flagged[0]?.case : undefined;
  const open = kind === "regressed" ? "warning" : "notice";
  const level = exitCode === exitCodes.failed ? "failed" : exitCode === exitCodes.passed ? open : "error";
  return [
    {
      name: "regression check",
      level,
      kind,
      lines: checkLines(verdict, 100, followUp),
      location: findLocation(cases, worst),
    },
  ];
}

/** Placed on the case that drifted, or on the first case of the suite. */
function driftVerdicts({ drift, failed = [], cases }: SuiteSummary): Verdict[] {
  const lines = drift ? driftLines(drift) : [];
  if (!drift || lines.length === 0) return [];
  const { verdict } = drift;
  const { kind } = verdict;
  const worst = "alarm" in verdict ? verdict.alarm.cases[0]?.case : undefined;
  const isFailed = (kind === "drifted" || kind === "inconclusive") && failed.includes(kind);
  const isOpen = drift.nightly && drift.uncounted !== null;
  const free = kind === "drifted" ? "warning" : "notice";
  const level = isFailed ? "failed" : isOpen ? "error" : free;
  return [{ name: "drift", level, kind, lines, location: findLocation(cases, worst) }];
}

function findLocation(cases: readonly CaseSummary[], id: string | undefined): Location | undefined {
  return caseLocation(cases.find((one) => one.id === id) ?? cases[0]);
}

/** Where a case is; undefined for one that was made from no file. */
export function caseLocation(one: { file: string; line: number } | undefined): Location | undefined {
  return one === undefined || one.file === "" ? undefined : { file: one.file, line: one.line };
}

function caseVerdict(suite: SuiteSummary, one: CaseSummary): Verdict {
  const kind = caseState(one);
  const level = caseLevel(suite, one, kind);
  const isPlain = level === "passed" && one.reasons.length === 0;
  const lines = isPlain ? [] : describeCase(suite, one);
  return { name: one.id, level, kind, lines, location: caseLocation(one), ms: one.ms };
}

function caseLevel(suite: SuiteSummary, one: CaseSummary, state: CaseState): Verdict["level"] {
  // A check does not gate on the pass rate, so missing it is only a warning.
  if (state === "failed") return isGatedByRate(suite) ? "failed" : "warning";
  if (state !== "passed") return "error";
  return one.trials >= one.planned ? "passed" : "warning";
}

function describeCase(suite: SuiteSummary, one: CaseSummary): string[] {
  return [
    caseSentence(one),
    `input: ${one.input}`,
    `expected: ${one.expected}`,
    `model: ${modelLabel(suite)}`,
    `outcomes: ${tally(one.outcomes).join(", ") || "none"}`,
    ...(one.broken > 0 ? [`broken (excluded from the rate): ${tally(one.brokenStages).join(", ")}`] : []),
    ...one.reasons.map(({ text, n }) => `${n}x ${text}`),
  ];
}
