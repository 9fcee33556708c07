import { choice, defineCommand, number, texts } from "./command.ts";
import { jsonFlag, outFlag } from "./flags.ts";

export const historyCommand = defineCommand({
  command: "history",
  describe: "Print the trend of each suite and model: pass rate, verdict and changes of the tool list, run by run",
  positionals: {},
  flags: {
    suite: texts("Only these suites (default: all)"),
    model: texts("Only these models (default: all)", { alias: "m" }),
    last: number("Number of the newest runs of each suite and model", { min: 1, integer: true, default: 20 }),
    as: choice("Output format", ["terminal", "markdown", "json"], { default: "terminal" }),
    out: outFlag,
    json: jsonFlag,
  },
  examples: [
    ["history", "Every suite and model"],
    ['history --as markdown >> "$GITHUB_STEP_SUMMARY"', "In a nightly job"],
    ["history --suite notes -m anthropic:claude-haiku-5-5 --last 5", "The last five runs of one suite and model"],
  ],
  run: async (args, io) => (await import("../reading/history.ts")).history(args, io),
});
