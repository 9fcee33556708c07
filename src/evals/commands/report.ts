import { choice, defineCommand, text } from "./command.ts";
import { otlpFlag, outFlag } from "./flags.ts";

export const reportCommand = defineCommand({
  command: "report [run]",
  describe: "Print the report of a recorded run or experiment",
  positionals: {
    run: text("Record: its folder, its id, latest (the newest run), or variants or blame (the newest of each)", {
      default: "latest",
    }),
  },
  flags: {
    as: choice(
      "Output format; csv: one line per trial",
      ["terminal", "json", "markdown", "html", "junit", "github", "csv"],
      { default: "terminal" },
    ),
    otlp: otlpFlag,
    out: outFlag,
  },
  examples: [
    ["report", "Print the latest run"],
    ["report --as csv > trials.csv", "The trials of the latest run, for a spreadsheet"],
    ["report reports/2026-11-21T09-30-00-000 --as markdown", "For a pull request"],
    ["report variants --as junit > variants.xml", "The newest result of `evals variants`, for a CI service"],
  ],
  run: async (args, io) => (await import("../experiments/reporting/report.ts")).report(args, io),
});
