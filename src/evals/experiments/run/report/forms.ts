import { sumOf } from "../../../base/collections.ts";
import { plain } from "../../../base/text/display.ts";
import { exitCodes } from "../../../base/types/errors.ts";
import type { CaseSummary, ManifestCase, RunManifest, RunSummary, SuiteSummary } from "../../../base/types/run.ts";
import { readQuery } from "../../../base/types/suite.ts";
import type { Trial } from "../../../base/types/trial.ts";
import type { Blocks } from "../../../reports/document.ts";
import { safeJson, safeJsonParts } from "../../../reports/escape.ts";
import { isRed, type Location, type Verdict, type VerdictList, type VerdictSuite } from "../../../reports/findings.ts";
import { tally } from "../../../reports/format.ts";
import { githubReport } from "../../../reports/github.ts";
import { renderPage } from "../../../reports/html.ts";
import { junit } from "../../../reports/junit.ts";
import { renderMarkdown } from "../../../reports/markdown.ts";
import { type Display, pipe, renderTerminal } from "../../../reports/terminal.ts";
import { discoverySentence } from "../../arms/report.ts";
import { checkLines } from "../../check/report.ts";
import { type FollowUp, withSentences } from "../../check/sentences.ts";
import { driftJson, driftLines } from "../../drift/report.ts";
import { describeFailure, promptTokens } from "../../results/tally.ts";
import { type CaseState, caseSentence, caseState, isGatedByRate, modelLabel } from "../../results/text.ts";
import { isDeterministic } from "./cases.ts";
import { PageTrialCollector, runPage, toPage, type WrittenReport } from "./page.ts";
import { type RunInput, runDocument } from "./run.ts";
import { headline } from "./status.ts";

/** The result of a command, with everything its forms need. `json` is the object that `--json` prints. */
export type Report = {
  document(): Blocks;
  json(): object;
  page(): WrittenReport;
  verdicts(): VerdictList;
};

/**
 * A form of a report. `file`: its name in the folder of the record; without it, the form goes to stdout. `folder`: of
 * the working directory in the repository. `parts`: the text in parts, for large reports.
 */
export type Form = {
  readonly file?: string;
  render(report: Report, display?: Display, folder?: string): string;
  parts?(report: Report): Generator<string>;
};

/** All forms by their `--format` name. */
export const forms = {
  terminal: { render: ({ document }, display = pipe) => renderTerminal(document(), display) },
  json: { render: ({ json }) => safeJson(json(), 2), parts: ({ json }) => safeJsonParts(json(), 2) },
  markdown: { file: "summary.md", render: ({ document }) => renderMarkdown(document()) },
  html: {
    file: "report.html",
    render: ({ page }) => [...renderPage(toPage(page()))].join(""),
    parts: ({ page }) => renderPage(toPage(page())),
  },
  junit: { file: "junit.xml", render: ({ verdicts }) => junit(verdicts()) },
  github: {
    render: ({ document, verdicts }, display = pipe, folder = "") =>
      githubReport(document(), verdicts(), display, folder),
  },
} as const satisfies Record<string, Form>;
export type FormName = keyof typeof forms;

export const formNames = Object.keys(forms) as readonly FormName[];

/** The report of a run. `trials`: the trials that its page lists; none if absent. */
export function runReport(input: RunInput & { trials?: PageTrialCollector | undefined }): Report {
  const { trials = new PageTrialCollector(input.manifest) } = input;
  return {
    document: () => runDocument(input),
    json: () => runJson(input),
    page: () => runPage(input, trials),
    verdicts: () => runVerdicts(input),
  };
}

function runJson({ summary, followUp }: RunInput): RunSummary {
  const suites = summary.suites.map((suite) => ({
    ...suite,
    ...(suite.verdict && { verdict: withSentences(suite.verdict, followUp) }),
    ...(suite.drift && { drift: driftJson(suite.drift) }),
  }));
  return { ...summary, suites };
}

/** The verdicts of a run: each check, drift and case. A run that is red for another reason also has one of its own. */
function runVerdicts({ summary, manifest, followUp = {} }: RunInput): VerdictList {
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

export const manifestFacts = ({ id, seed, git }: RunManifest) => ({ run: id, seed: String(seed), commit: git?.commit });

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
  const lines = checkLines(verdict, followUp);
  return [{ name: "regression check", level, kind, lines, location: findLocation(cases, worst) }];
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

type TrialColumn = readonly [head: string, value: (trial: Trial, one: ManifestCase | undefined) => string | number];

const columns: readonly TrialColumn[] = [
  ["suite", ({ cell }) => cell.suite],
  ["case", ({ cell }) => cell.case],
  ["model", ({ cell }) => cell.model],
  ["arm", ({ cell }) => cell.arm],
  ["trial", ({ cell }) => cell.trial],
  ["attempt", ({ cell }) => cell.attempt ?? 1],
  ["query", ({ cell }, one) => (one ? readQuery(one, cell.trial) : "")],
  ["outcome", ({ outcome }) => outcome.kind],
  ["stage", ({ outcome }) => (outcome.kind === "broken" ? outcome.stage : "")],
  ["grade", ({ verdict }) => verdict?.grade ?? ""],
  ["selection", ({ verdict }) => verdict?.selection ?? ""],
  ["expected", ({ verdict }, one) => verdict?.expected ?? one?.expected ?? ""],
  ["picked", ({ verdict }) => verdict?.picked ?? ""],
  ["reason", describeReason],
  ["copy", ({ copy }) => (copy ? "yes" : "")],
  ["replies", ({ turns }) => turns.length],
  ["calls", ({ turns }) => sumOf(turns, ({ calls }) => calls.length)],
  ["input tokens", ({ turns }) => sumOf(turns, ({ usage }) => promptTokens(usage))],
  ["output tokens", ({ turns }) => sumOf(turns, ({ usage }) => usage.outputTokens)],
  ["cost in USD", ({ costUsd }) => costUsd],
  ["ms", ({ ms }) => ms],
  ["started at", ({ startedAt }) => startedAt],
];

/** The header line of the trials as CSV (RFC 4180). */
export const csvHead = toLine(columns.map(([head]) => head));

/** Creates a function that writes a trial of the run as one line of CSV, safe against spreadsheet formulas. */
export function csvWriter({ suites }: RunManifest): (trial: Trial) => string {
  const key = (suite: string, id: string) => JSON.stringify([suite, id]);
  const cases = new Map(suites.flatMap(({ name, cases: all }) => all.map((one) => [key(name, one.id), one] as const)));
  return (trial) => {
    const one = cases.get(key(trial.cell.suite, trial.cell.case));
    return toLine(columns.map(([, value]) => value(trial, one)));
  };
}

function describeReason({ outcome, verdict }: Trial): string {
  if (outcome.kind === "broken") return outcome.message;
  const open = verdict?.checks.filter(({ met }) => met !== "yes") ?? [];
  return open.map(describeFailure).join("; ");
}

function toLine(values: readonly (string | number)[]): string {
  return `${values.map(toCell).join(",")}\r\n`;
}

/** Quotes text. Spreadsheets evaluate text that starts with one of these signs unless an apostrophe precedes it. */
function toCell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const safe = plain(value);
  return `"${(/^\s*[=+\-@]/.test(safe) ? `'${safe}` : safe).replaceAll('"', '""')}"`;
}
