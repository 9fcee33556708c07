import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command, Flags } from "./command.ts";

const flags = {
  suite: { type: "string", array: true, describe: "only these suites (default: all that both records have)" },
  model: {
    alias: "m",
    type: "string",
    array: true,
    describe: "only these models (default: all that both records have)",
  },
  margin: { type: "number", default: 0.1, describe: "a mean drop below this counts as no regression" },
  out: { type: "string", default: "reports", describe: "folder that holds the runs" },
  json: { type: "boolean", default: false, describe: "print one JSON object instead of the report" },
} satisfies Record<string, Options>;

export type CompareFlags = Flags<typeof flags> & { base: string; head: string };

/** `evals compare`: two records against each other, without asking anything. */
export const compareCommand: Command = {
  command: "compare <base> <head>",
  describe: "Tell which of two recorded runs is better, without new calls",
  builder: (yargs: Argv) =>
    yargs
      .positional("base", {
        type: "string",
        demandOption: true,
        describe: "A: a run's folder or id, or a baseline's file",
      })
      .positional("head", { type: "string", demandOption: true, describe: "B: a run's folder or id, or latest" })
      .options(flags)
      .example("$0 compare 2026-11-21T09-30-00-000 latest", "did it get better since that run?")
      .example("$0 compare evals/baselines/filesystem.lexical.json latest", "the newest run against what was accepted"),
  handler: async (args: CompareFlags, io: Io): Promise<ExitCode> =>
    (await import("../experiments/compare.ts")).compare(args, io),
};
