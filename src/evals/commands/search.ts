import { choice, defineCommand, texts } from "./command.ts";
import { envFlags, hostFlag, jsonFlag, suiteFlags, suitePaths } from "./flags.ts";

const { skill, "host-dir": hostDir, "user-skills": userSkills, case: cases } = suiteFlags;

export const searchCommand = defineCommand({
  command: "search [paths..]",
  describe: "Measure whether a tool search finds the tools and skills that suites expect",
  positionals: { paths: suitePaths },
  flags: {
    ranker: choice(
      "Only this algorithm: keyword (as in Claude Code), bm25 or regex (as in APIs)",
      ["keyword", "bm25", "regex"],
      { array: true },
    ),
    "fail-on": texts("Exit with code 1 below this: recall@<1, 3, 5 or 10>=<share>, or rank=<number> for every query"),
    host: { ...hostFlag, describe: "Search the tool names that this host shows" },
    case: { ...cases, describe: "Search only for cases whose id matches this pattern (* matches any text)" },
    skill: { ...skill, describe: "Search only for the eval files of these skills" },
    "host-dir": hostDir,
    "user-skills": userSkills,
    ...envFlags,
    json: jsonFlag,
  },
  epilogue:
    "Hosts and APIs that defer tools show a model only those that it searches for. The queries are the user messages of a " +
    "case and its `searches`. Recall is the mean share of the expected tools among the first results.",
  examples: [
    ["search", "Recall of every suite under evals/, and the queries that find too little"],
    ["search evals/notes.yaml --host claude-code --ranker keyword", "What Claude Code's ToolSearch would find"],
    ["search --fail-on recall@5=0.9", "Fail if less than 90% is among the first five"],
  ],
  run: async (args, io) => (await import("../inspection/search/command.ts")).search(args, io),
});
