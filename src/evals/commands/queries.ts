import { defineCommand, text, texts } from "./command.ts";
import { outFlag, requestFlags } from "./flags.ts";

export const queriesCommand = defineCommand({
  command: "queries [path]",
  describe: "Draft queries of a model or of users for a suite or skills, and review each one",
  positionals: {
    path: text("Suite, or folder of skills (default: the only suite under evals/, or the skills of the project)"),
  },
  flags: {
    writer: text("Language model that writes queries for the tools of the suite, or for the skills (default: none)"),
    from: texts("Files or folders with conversations of users, whose queries become cases (default: none)"),
    replace: texts("Further text to replace in the queries of --from, such as a name; repeatable"),
    "accept-all": {
      type: "boolean",
      default: false,
      describe: "Take every query without a review; each later report says so",
    },
    yes: { alias: "y", type: "boolean", default: false, describe: "Do not ask for confirmation before spending" },
    out: outFlag,
    ...requestFlags,
  },
  epilogue:
    "Each query is shown on the terminal: keep it, edit it or drop it. Decisions are written at once, so a review that is " +
    "stopped goes on with the next call; the suite lists what is left as `unreviewed`, and reports count it. With --writer " +
    "a model writes queries for each tool or skill, near misses of those that were confused in the latest run or are most " +
    "alike, and queries that need none; it replaces the drafts of `evals init`. --from reads sessions of Claude Code and " +
    "Codex, and OTLP JSON with gen_ai.input.messages. The tool that was used in the end is expected; one that failed or was " +
    "corrected is to be avoided. Personal data become examples. Left out are queries with secrets, those that say the same as " +
    "another, and of a model those that name their tool or repeat its description. No tool is called. Exit code 3 when the " +
    "review was stopped.",
  examples: [
    ["queries evals/notes.yaml", "Review the drafts of a suite"],
    [
      "queries --writer anthropic:claude-haiku-5-5 --budget 0.50",
      "Have a model write queries, for at most half a dollar",
    ],
    ["queries .claude/skills --writer anthropic:claude-haiku-5-5", "The same for the skills of a folder"],
    ["queries --from ~/.claude/projects/-home-me-app --replace Anna", "Queries that users wrote in Claude Code"],
  ],
  run: async (args, io) => (await import("../inspection/init/queries.ts")).queries(args, io),
});
