import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command, Flags } from "./command.ts";

const flags = {
  as: {
    choices: ["terminal", "json", "markdown", "html", "junit", "github"] as const,
    default: "terminal" as const,
    describe: "form of the report",
  },
  out: { type: "string", default: "reports", describe: "folder that holds the runs" },
} satisfies Record<string, Options>;

export type ReportFlags = Flags<typeof flags> & { run?: string };

/** `evals report`: prints a recorded run again, from its journal alone. */
export const reportCommand: Command = {
  command: "report [run]",
  describe: "Print the report of a recorded run",
  builder: (yargs: Argv) =>
    yargs
      .positional("run", { type: "string", default: "latest", describe: "a run's folder or id, or latest" })
      .options(flags)
      .example("$0 report", "the newest run")
      .example("$0 report reports/2026-11-21T09-30-00-000 --as markdown", "for a pull request"),
  handler: async (args: ReportFlags, io: Io): Promise<ExitCode> =>
    (await import("../experiments/report.ts")).report(args, io),
};
