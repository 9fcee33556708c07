import { choice, defineCommand, text, texts } from "./command.ts";
import { jsonFlag, marginFlag, outFlag } from "./flags.ts";

export const compareCommand = defineCommand({
  command: "compare <base> <head>",
  describe: "Compare two recorded runs; no model is called",
  positionals: {
    base: text("A: folder or id of a run, or a baseline file", { demandOption: true }),
    head: text("B: folder or id of a run, or latest", { demandOption: true }),
  },
  flags: {
    suite: texts("Compare only these suites (default: all that both have)"),
    model: texts("Compare only these models (default: all that both have)", { alias: "m" }),
    margin: marginFlag("Mean drop that NO REGRESSION rules out (0.1 or 10% = 10 percentage points)"),
    format: choice("Output format", ["terminal", "json", "markdown", "html", "junit", "github"], {
      default: "terminal",
    }),
    out: outFlag,
    json: jsonFlag,
  },
  examples: [
    ["compare 2026-11-21T09-30-00-000 latest", "Did it improve since that run?"],
    ["compare evals/baselines/files.lexical-2.json latest", "Compare the latest run with the accepted baseline"],
  ],
  run: async (args, io) => (await import("../experiments/compare/ask.ts")).compare(args, io),
});
