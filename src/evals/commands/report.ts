import { defineCommand } from "./command.ts";
import { explainFlag, otlpFlag, outFlag } from "./flags.ts";

/** `evals report`: prints a recorded run again, from its journal alone. */
export const reportCommand = defineCommand({
  command: "report [run]",
  describe: "Print the report of a recorded run",
  positionals: { run: { type: "string", default: "latest", describe: "Run: its folder, its id or latest" } },
  flags: {
    as: {
      choices: ["terminal", "json", "markdown", "html", "junit", "github", "csv"] as const,
      default: "terminal" as const,
      describe: "Output format; csv: the trials, one a line",
    },
    explain: explainFlag,
    otlp: otlpFlag,
    out: outFlag,
  },
  examples: [
    ["report", "Print the latest run"],
    ["report --as csv > trials.csv", "The trials of the latest run, for a spreadsheet"],
    ["report reports/2026-11-21T09-30-00-000 --as markdown", "For a pull request"],
  ],
  run: async (args, io) => (await import("../experiments/report.ts")).report(args, io),
});
