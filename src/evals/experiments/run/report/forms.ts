import type { RunSummary } from "../../../base/types/run.ts";
import type { Blocks } from "../../../reports/document.ts";
import { safeJson, safeJsonParts } from "../../../reports/escape.ts";
import { githubReport } from "../../../reports/github.ts";
import { renderPage } from "../../../reports/html.ts";
import { junit } from "../../../reports/junit.ts";
import { renderMarkdown } from "../../../reports/markdown.ts";
import { verdictSarif } from "../../../reports/sarif.ts";
import { type Display, pipe, renderTerminal } from "../../../reports/terminal.ts";
import type { VerdictList } from "../../../reports/verdicts.ts";
import { withSentences } from "../../check/checkText.ts";
import { driftJson } from "../../drift/report.ts";
import { makeBadge } from "./badge.ts";
import { toPage, type WrittenReport } from "./pageData.ts";
import { PageTrialCollector } from "./pageTrials.ts";
import { type RunInput, runDocument } from "./run.ts";
import { runPage } from "./runPage.ts";
import { runVerdicts } from "./verdicts.ts";

/** The result of a command, with everything its forms need. */
export type Report = {
  command: string;
  /** The version of tool-evals that made the result. */
  version: string;
  exitCode: number;
  document(): Blocks;
  /** The object that `--json` prints. */
  json(): unknown;
  page(): WrittenReport;
  verdicts(): VerdictList;
  badge?: () => ReturnType<typeof makeBadge>;
};

/**
 * One form of a report. `file`: its file name in the folder of the record; forms without one go to stdout. `suits`:
 * whether a report has this form; absent if every report does. `render` is pure, does not throw, and ends with a line
 * break. `parts` yields the same text in parts, for large reports.
 */
export type Form = {
  readonly file?: string;
  suits?(report: Report): boolean;
  render(report: Report, display?: Display): string;
  parts?(report: Report): Generator<string>;
};

/** All forms by their `--as` name. */
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
  github: { render: ({ document, verdicts }, display = pipe) => githubReport(document(), verdicts(), display) },
  sarif: { render: (report) => verdictSarif(report.verdicts(), report) },
  badge: { suits: ({ badge }) => badge !== undefined, render: ({ badge }) => safeJson(badge?.(), 2) },
} as const satisfies Record<string, Form>;
export type FormName = keyof typeof forms;

export const formNames = Object.keys(forms) as readonly FormName[];

/** Lists the forms that a report has. */
export function listForms(report: Report): FormName[] {
  return formNames.filter((name) => (forms[name] as Form).suits?.(report) ?? true);
}

/** The report of a run. `trials`: the trials that its page lists; none if absent. */
export function runReport(input: RunInput & { trials?: PageTrialCollector | undefined }): Report {
  const { summary, manifest, trials = new PageTrialCollector(manifest) } = input;
  return {
    command: "run",
    version: manifest.harness,
    exitCode: summary.exitCode,
    document: () => runDocument(input),
    json: () => runJson(input),
    page: () => runPage(input, trials),
    verdicts: () => runVerdicts(input),
    badge: () => makeBadge(summary, manifest),
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
