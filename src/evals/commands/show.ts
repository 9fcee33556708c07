import { choice, defineCommand, number, text, texts, toggle } from "./command.ts";
import { jsonFlag, otlpFlag, outFlag } from "./flags.ts";

export const showCommand = defineCommand({
  command: "show [target]",
  describe: "Print the report of a record, the transcripts of a case, or the trend over all runs",
  positionals: {
    target: text(
      "Record: its folder, its id, latest (the newest run; default), or variants, improve or blame (the newest of each). " +
        "Or a case: its id, a part of it, or a pattern with *",
    ),
  },
  flags: {
    history: toggle("Print the trend of each suite and model: pass rate, verdict and changes of the tool list"),
    run: text("With a case: the run, by its folder, its id or latest", { default: "latest" }),
    failed: toggle("Print the transcripts of trials that did not pass"),
    trial: number("Print the transcripts of trials with this number", { min: 1, integer: true }),
    arm: text("Print the transcripts of this tool list: head, base or another arm (default: head)"),
    suite: texts("Transcripts and history: only these suites (default: all)"),
    model: texts("Transcripts and history: only these models (default: all)", { alias: "m" }),
    limit: number("Maximum transcripts (identical trials share one), or runs of each suite and model", {
      min: 1,
      integer: true,
      default: 20,
    }),
    format: choice(
      "Output format; csv: one line per trial. Transcripts and history: terminal, json or markdown",
      ["terminal", "json", "markdown", "html", "junit", "github", "csv"],
      { default: "terminal" },
    ),
    json: jsonFlag,
    otlp: otlpFlag,
    out: outFlag,
  },
  examples: [
    ["show", "The report of the latest run"],
    ["show --failed", "Read why its cases failed"],
    ["show read-several --failed", "Only the trials of this case that did not pass"],
    ["show --format csv > trials.csv", "The trials of the latest run, for a spreadsheet"],
    ["show reports/2026-11-21T09-30-00-000 --format markdown", "For a pull request"],
    ["show variants --format junit > variants.xml", "The newest result of `evals variants`, for a CI service"],
    ['show --history --format markdown >> "$GITHUB_STEP_SUMMARY"', "The trend, in a nightly job"],
  ],
  run: async (args, io) => (await import("../reading/show.ts")).show(args, io),
});
