import { defineCommand } from "./command.ts";
import { baselinesFlag, outFlag } from "./flags.ts";

/** `evals baseline`: keeps tools and pass rates of a run, so that later runs can be checked against them. */
export const baselineCommand = defineCommand({
  command: "baseline <action> [targets..]",
  describe: "Accept a run as the baseline of later runs, show baselines, or diff them against the live tools",
  positionals: {
    action: {
      choices: ["accept", "show", "diff"] as const,
      demandOption: true,
      describe:
        "accept [run]: write one baseline per suite and model of the run (default: latest). " +
        "show [suites or files]: print what baselines contain. " +
        "diff [suite files or folders]: print what changed in the live tools since (default: evals/)",
    },
    targets: { type: "string", array: true, describe: "What the action applies to" },
  },
  flags: {
    baselines: baselinesFlag,
    out: outFlag,
    force: {
      type: "boolean",
      default: false,
      describe: "Accept a run that failed, was made with --case or is incomplete (without what was not graded)",
    },
  },
  examples: [
    ["run -n 20 && evals baseline accept", "Accept the current tools, with 20 trials per case to compare with"],
    ["baseline accept 2026-11-21T09-30-00-000", "Accept this run and print what it changes"],
    ["baseline diff", "Show how the wording of the live tools changed; no model is called"],
    ["baseline show filesystem", "Show tools, commit and pass rates of the baselines of one suite"],
  ],
  run: async (args, io) => (await import("../experiments/baseline.ts")).baseline(args, io),
});
