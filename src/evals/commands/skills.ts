import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command, Flags } from "./command.ts";
import { askingFlags } from "./flags.ts";

const flags = {
  host: {
    ...askingFlags.host,
    describe:
      "as this host loads skills: of two skills of one name, claude-code takes the user's, others the project's",
  },
  "host-dir": {
    type: "string",
    array: true,
    describe: "host directory that holds skills/, in the home folder and here; default: .claude and .agents",
  },
  dir: { type: "string", array: true, describe: "look in this folder of packages too, or at this package" },
  json: { type: "boolean", default: false, describe: "print one JSON object instead of the table" },
} satisfies Record<string, Options>;

export type SkillsFlags = Flags<typeof flags>;

/** `evals skills`: what there is to be evaluated. */
export const skillsCommand: Command = {
  command: "skills <action>",
  describe: "List the skill packages that a host would load here, and those it passes over, with reasons",
  builder: (yargs: Argv) =>
    yargs
      .positional("action", { choices: ["list"] as const, describe: "list: skills, their queries, and where they lie" })
      .options(flags)
      .example("$0 skills list", "the skills of this project and of the user")
      .example("$0 skills list --host claude-code", "the same, where the user's skill goes before the project's")
      .example("$0 skills list --dir evals/skills", "those of a folder too")
      .example("$0 skills list --host-dir .gemini --json", "another host's directory, for a program to read"),
  handler: async (args: SkillsFlags, io: Io): Promise<ExitCode> =>
    (await import("../inspection/skills.ts")).listSkills(args, io),
};
