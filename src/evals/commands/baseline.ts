import { choice, defineCommand, texts, toggle } from "./command.ts";
import { baselinesFlag, outFlag } from "./flags.ts";

export const baselineCommand = defineCommand({
  command: "baseline <action> [targets..]",
  describe: "Accept a run as the baseline of later runs, or show baselines",
  positionals: {
    action: choice(
      "accept [run]: write one baseline per suite and model of the run (default: latest). " +
        "show [suites or files]: print what baselines contain. diff: the former name of `evals verify`",
      ["accept", "show", "diff"],
      { demandOption: true },
    ),
    targets: texts("Run to accept, or suites or baseline files to show"),
  },
  flags: {
    baselines: baselinesFlag,
    out: outFlag,
    force: toggle("Accept a run that failed, is incomplete or was made with --case; ungraded cases are left out"),
  },
  examples: [
    ["run -n 20 && evals baseline accept", "Accept the current tools, with 20 trials per case to compare with"],
    ["baseline accept 2026-11-21T09-30-00-000", "Accept this run and print what it changes"],
    ["baseline show filesystem", "Show tools, commit and pass rates of the baselines of one suite"],
  ],
  run: async ({ action, ...args }, io) => {
    if (action !== "diff") return (await import("../experiments/baseline/accept.ts")).baseline({ ...args, action }, io);
    io.err("note: `evals baseline diff` is now `evals verify`, which also gates; here it never fails.\n");
    const { verify } = await import("../inspection/verify.ts");
    return verify({ paths: args.targets, baselines: args.baselines, failOn: [], json: false }, io);
  },
});
