import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command, Flags } from "./command.ts";
import { askingFlags, modelFlag } from "./flags.ts";

const { host: _, ...asking } = askingFlags;

const flags = {
  case: {
    type: "string",
    array: true,
    describe:
      "blame these cases: a part of the id, or a pattern (* is any text); default: those that dropped, at most 3",
  },
  suite: { type: "string", describe: "of the run's suites, the one of this name" },
  baseline: {
    type: "string",
    describe: "instead of a run: explain the live list against this baseline's; needs --case",
  },
  paths: { type: "string", array: true, describe: "with --baseline: where its suite's file is (default: evals/)" },
  model: { ...modelFlag, default: undefined, describe: "of the run's models, this one" },
  ...asking,
} satisfies Record<string, Options>;

export type BlameFlags = Flags<typeof flags> & { run?: string };

/** `evals blame`: which of several changed descriptions broke a case. */
export const blameCommand: Command = {
  command: "blame [run]",
  describe: "Find which changed description or parameter broke a case, and confirm it by reverting it",
  builder: (yargs: Argv) =>
    yargs
      .positional("run", {
        type: "string",
        default: "latest",
        describe: "a run whose regression check said REGRESSED: its folder or id, or latest",
      })
      .options(flags)
      .example("$0 run --check thorough && $0 blame", "after a regression: which change of the list did it")
      .example("$0 blame --case read-several --budget 2", "of one case, for at most two dollars")
      .example("$0 blame --baseline evals/baselines/files.lexical.json --case read-one", "without a run"),
  handler: async (args: BlameFlags, io: Io): Promise<ExitCode> =>
    (await import("../experiments/blame.ts")).blame(args, io),
};
