import { defineCommand } from "./command.ts";
import { hostFlag, jsonFlag } from "./flags.ts";

const positionals = {
  action: {
    choices: ["list"] as const,
    describe: "list: skills, the number of their queries, and their folders",
  },
} as const;

const flags = {
  host: {
    ...hostFlag,
    describe:
      "Precedence of this host: of two skills with one name, claude-code loads the user's, others the project's",
  },
  "host-dir": {
    type: "string",
    array: true,
    describe: "Host folder that holds skills/, in the home folder and here (default: .claude, .agents)",
  },
  dir: { type: "string", array: true, describe: "Also search this folder of packages, or this package" },
  json: { ...jsonFlag, describe: "Print one JSON object instead of the table" },
} as const;

/** `evals skills`: which skills there are to evaluate. */
export const skillsCommand = defineCommand({
  command: "skills <action>",
  describe: "List the skill packages that a host loads here, and those that it skips, with reasons",
  positionals,
  flags,
  examples: [
    ["skills list", "The skills of this project and of the user"],
    ["skills list --host claude-code", "The same for a host that prefers the user's skills"],
    ["skills list --dir evals/skills", "Include the skills of a folder"],
    ["skills list --host-dir .gemini --json", "Skills in another host's folder, as JSON"],
  ],
  run: async (args, io) => (await import("../inspection/skills.ts")).listSkills(args, io),
});
