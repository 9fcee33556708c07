import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command, Flags } from "./command.ts";
import { askingFlags, modelFlag, resumeFlag, suiteFlags } from "./flags.ts";

const flags = {
  model: modelFlag,
  trials: { alias: "n", type: "number", default: 20, describe: "trials per case in each of the two equal arms" },
  ...suiteFlags,
  resume: resumeFlag,
  ...askingFlags,
} satisfies Record<string, Options>;

export type CalibrateFlags = Flags<typeof flags> & { path?: string };

/** `evals calibrate`: what a suite on a model can tell, found by comparing a list with itself. */
export const calibrateCommand: Command = {
  command: "calibrate [path]",
  describe: "Compare the list with itself: how large chance alone is, and how many trials a real drop needs",
  builder: (yargs: Argv) =>
    yargs
      .positional("path", { type: "string", describe: "the suite's file (default: the only one under evals/)" })
      .options(flags)
      .epilogue("It asks every case twice --trials times. Exit code 0, or 3 when it was stopped or nothing was scored.")
      .example("$0 calibrate evals/files.yaml -m anthropic:claude-sonnet-5-5", "before the first regression check")
      .example(
        "$0 calibrate evals/files.yaml -m openai:qwen3 -n 10 --base-url http://localhost:8000/v1",
        "less to ask",
      ),
  handler: async (args: CalibrateFlags, io: Io): Promise<ExitCode> =>
    (await import("../experiments/calibrate.ts")).calibrate(args, io),
};
