import { defineCommand, text, texts } from "./command.ts";
import { askFlags, envFlags, resumeFlag } from "./flags.ts";

export const blameCommand = defineCommand({
  command: "blame [run]",
  describe: "Find the changed wording that broke a case, and confirm it by reverting it",
  positionals: {
    run: text("Run with a regression: its folder, its id or latest (the newest one that regressed)", {
      default: "latest",
    }),
  },
  flags: {
    case: texts("Explain these cases: part of an id or a pattern (default: the 3 cases that dropped most)"),
    suite: text("Only this suite of the run"),
    baseline: text("Compare the live tools with this baseline instead of a run; requires --case"),
    paths: texts("With --baseline: where the suite file is (default: evals/)"),
    model: text("Only this model of the run", { alias: "m" }),
    resume: resumeFlag,
    ...envFlags,
    ...askFlags,
  },
  examples: [
    ["run --check on; evals blame", "After a regression: find the change that caused it"],
    ["blame --case read-several --budget 2", "Explain one case, for at most $2"],
    ["blame --baseline evals/baselines/files.lexical-2.json --case read-one", "Explain a case without a run"],
  ],
  run: async (args, io) => (await import("../experiments/blame/ask.ts")).blame(args, io),
});
