import type { RunSummary } from "../types/run.ts";
import { withSentences } from "./checkText.ts";
import { driftJson } from "./drift.ts";
import { safeJson } from "./escape.ts";
import { githubRun } from "./github.ts";
import { renderPage } from "./html.ts";
import { junit } from "./junit.ts";
import { renderMarkdown } from "./markdown.ts";
import { PageTrialCollector } from "./pageTrials.ts";
import { type RunInput, runDocument } from "./run.ts";
import { runPage } from "./runPage.ts";
import { type Display, pipe, renderTerminal } from "./terminal.ts";

/** `display` is for text on a screen, `pretty` (default true) for JSON, `trials` for the page, which has none without them. */
export type ReportInput = RunInput & { display?: Display; pretty?: boolean; trials?: PageTrialCollector };

/**
 * One form of a run's result. `file` is the name it is written under in the run's folder; a report without one goes to
 * stdout. `render` is pure, does not throw, and its text ends with a line break.
 */
export type Report = { readonly file?: string; render(input: ReportInput): string };

/** Every form a run's result can take, by the name that `--as` takes. A new one is a line here. */
export const reports = {
  terminal: { render: (input) => renderTerminal(runDocument(input), input.display ?? pipe) },
  json: { render: ({ summary, pretty = true }) => safeJson(runJson(summary), pretty ? 2 : 0) },
  junit: { file: "junit.xml", render: junit },
  markdown: { file: "summary.md", render: (input) => renderMarkdown(runDocument(input)) },
  html: {
    file: "report.html",
    render: (input) => renderPage(runPage(input, input.trials ?? new PageTrialCollector(input.manifest))),
  },
  github: { render: (input) => githubRun(input, input.display ?? pipe) },
} as const satisfies Record<string, Report>;
export type ReportName = keyof typeof reports;

/** The object that `evals run --json` prints. */
function runJson(summary: RunSummary): RunSummary {
  const suites = summary.suites.map((suite) => ({
    ...suite,
    ...(suite.verdict && { verdict: withSentences(suite.verdict) }),
    ...(suite.drift && { drift: driftJson(suite.drift) }),
  }));
  return { ...summary, suites };
}
