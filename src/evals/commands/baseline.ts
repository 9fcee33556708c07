import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command, Flags } from "./command.ts";
import { baselinesFlag } from "./flags.ts";

const actions = ["accept", "show", "diff"] as const;

const flags = {
  baselines: baselinesFlag,
  out: { type: "string", default: "reports", describe: "folder that holds the runs" },
  force: { type: "boolean", default: false, describe: "accept an incomplete run, and leave out what was not graded" },
} satisfies Record<string, Options>;

export type BaselineFlags = Flags<typeof flags> & { action: (typeof actions)[number]; targets?: string[] };

/** `evals baseline`: keeps tools and pass rates as a run found them, for later runs to be checked against. */
export const baselineCommand: Command = {
  command: "baseline <action> [targets..]",
  describe:
    "Accept a run as the baseline that later runs are checked against, show it, or compare it with the live tools",
  builder: (yargs: Argv) =>
    yargs
      .positional("action", {
        choices: actions,
        describe:
          "accept [run]: write one baseline for each suite and model of the run (default: latest). " +
          "show [suites or files]: print what they hold. " +
          "diff [suite files or folders]: each wording that the live tools changed since (default: evals/)",
      })
      .positional("targets", { type: "string", array: true, describe: "what the action is about" })
      .options(flags)
      .example(
        "$0 run -n 20 && $0 baseline accept",
        "bless the tools as they are, with 20 trials a case to compare with",
      )
      .example("$0 baseline accept 2026-11-21T09-30-00-000", "bless this run; says what it changes")
      .example("$0 baseline diff", "what the live tools say otherwise, word by word; asks no model")
      .example("$0 baseline show filesystem", "tools, commit and pass rates of one suite's baselines"),
  handler: async (args: BaselineFlags, io: Io): Promise<ExitCode> =>
    (await import("../experiments/baseline.ts")).baseline(args, io),
};
