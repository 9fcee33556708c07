import type { RunSummary } from "../../../base/types/run.ts";
import type { Blocks } from "../../../reports/document.ts";
import { safeJson, safeJsonParts } from "../../../reports/escape.ts";
import type { VerdictList } from "../../../reports/findings.ts";
import { githubReport } from "../../../reports/github.ts";
import { renderPage } from "../../../reports/html.ts";
import { junit } from "../../../reports/junit.ts";
import { renderMarkdown } from "../../../reports/markdown.ts";
import { type Display, pipe, renderTerminal } from "../../../reports/terminal.ts";
import { withSentences } from "../../check/sentences.ts";
import { driftJson } from "../../drift/report.ts";
import { runPage, toPage, type WrittenReport } from "./page.ts";
import { PageTrialCollector } from "./pageTrials.ts";
import { type RunInput, runDocument } from "./run.ts";
import { runVerdicts } from "./verdicts.ts";

/** The result of a command, with everything its forms need. `json` is the object that `--json` prints. */
export type Report = {
  document(): Blocks;
  json(): object;
  page(): WrittenReport;
  verdicts(): VerdictList;
};

/**
 * One form of a report. `file`: its file name in the folder of the record; forms without one go to stdout. `render` is
 * pure, does not throw, and ends with a line break. `folder`: the path of the working directory in the repository. `parts` yields the same text in parts, for large reports.
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
