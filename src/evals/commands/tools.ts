import { defineCommand, texts, toggle } from "./command.ts";
import { hostFlag, jsonFlag, serverFlags } from "./flags.ts";

const group = "With --skills:";

export const toolsCommand = defineCommand({
  command: "tools [paths..]",
  describe: "List the tools of a server, or the skills that a host shows",
  positionals: {
    paths: texts(
      "URL, command line in quotes, host configuration, tool list, or suites (default: evals/). " +
        "With --skills: packages and folders of packages to list beside those of the host",
    ),
  },
  flags: {
    ...serverFlags,
    tools: texts("JSON or YAML file with a tool list, or a baseline"),
    skills: toggle("List the skill packages that a host shows to its model here, and why it does not show others"),
    host: { ...hostFlag, describe: "List what this host shows to its model", group },
    "host-dir": texts("Folder that contains skills/, in the home and project folders (default: those of the host)", {
      group,
    }),
    json: { ...jsonFlag, describe: "Print { tools: [...] } as the server sent it; needs exactly one list" },
  },
  epilogue:
    "A file of `evals tools --json` is taken by lint --tools, lint --against, `distractors` of a suite and `server: { tools: <file> }` " +
    "of a suite. Exit code 3 when a server cannot be listed.",
  examples: [
    ['tools --server "node dist/main.js"', "Names, parameters and descriptions of one server"],
    ['tools --server "node dist/main.js" --json > tools.json', "A list for other commands"],
    ["tools --config .mcp.json", "Every server that a host starts"],
    ["tools --tools evals/baselines/files.lexical-2.json --json", "The list of a baseline"],
    ["tools --skills", "The skills of this project and of the user"],
    ["tools --skills --host claude-code", "What Claude Code shows to its model here"],
    ["tools --skills evals/skills", "Include the skills of a folder"],
  ],
  run: async ({ skills, host, hostDir, ...args }, io) =>
    skills
      ? (await import("../inspection/skills.ts")).listSkills({ host, hostDir, dir: args.paths, json: args.json }, io)
      : (await import("../inspection/tools.ts")).listTools(args, io),
});
