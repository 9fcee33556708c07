import { defineCommand } from "./command.ts";
import { explainFlag, otlpFlag, outFlag } from "./flags.ts";

export const reportCommand = defineCommand({
  command: "report [run]",
  describe: "Print the report of a recorded run or experiment",
  positionals: {
    run: {
      type: "string",
      default: "latest",
      describe:
        "Record: its folder, its id, latest (the newest run), or variants, blame, crowd or calibrate (the newest of each)",
    },
  },
  flags: {
    as: {
      choices: ["terminal", "json", "markdown", "html", "junit", "github", "sarif", "badge", "csv"] as const,
      default: "terminal" as const,
      describe: "Output format; badge: an endpoint file of shields.io; csv: one line per trial",
    },
    explain: explainFlag,
    otlp: otlpFlag,
    out: outFlag,
  },
  examples: [
    ["report", "Print the latest run"],
    ["report --as csv > trials.csv", "The trials of the latest run, for a spreadsheet"],
    ["report reports/2026-11-21T09-30-00-000 --as markdown", "For a pull request"],
    ["report variants --as junit > variants.xml", "The newest result of `evals variants`, for a CI service"],
  ],
  run: async (args, io) => (await import("../experiments/report.ts")).report(args, io),
});
