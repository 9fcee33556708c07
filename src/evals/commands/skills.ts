import { choice, defineCommand, texts } from "./command.ts";
import { hostFlag, jsonFlag } from "./flags.ts";

export const skillsCommand = defineCommand({
  command: "skills <action>",
  describe: "List the skill packages that a host shows to its model here, and why it does not show others",
  positionals: {
    action: choice("list: skills, the number of their queries, and their folders", ["list"]),
  },
  flags: {
    host: { ...hostFlag, describe: "List what this host shows to its model" },
    "host-dir": texts("Folder that contains skills/, in the home and project folders (default: those of the host)"),
    dir: texts("Also search this folder of packages, or this package"),
    json: { ...jsonFlag, describe: "Print one JSON object instead of the table" },
  },
  examples: [
    ["skills list", "The skills of this project and of the user"],
    ["skills list --host claude-code", "What Claude Code shows to its model here"],
    ["skills list --dir evals/skills", "Include the skills of a folder"],
    ["skills list --host-dir .gemini --json", "Skills in another host's folder, as JSON"],
  ],
  run: async (args, io) => (await import("../inspection/skills.ts")).listSkills(args, io),
});
