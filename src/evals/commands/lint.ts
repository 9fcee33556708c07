import { choice, defineCommand, text, texts, toggle } from "./command.ts";
import { requestFlags, serverFlags, severityFlag } from "./flags.ts";

export const lintCommand = defineCommand({
  command: "lint [paths..]",
  describe: "Check tools, skills, suites and host configuration against conventions",
  positionals: {
    paths: texts(
      "URL, command line in quotes, host configuration, tool list, suites or skill packages (default: evals/ and the skills of the project)",
    ),
  },
  flags: {
    ...serverFlags,
    tools: texts("JSON or YAML file with a tool list"),
    skills: texts("Skill package, or folder of skill packages"),
    confusable: toggle("Also rank the pairs of tools that are easy to confuse"),
    against: text(
      "Baseline or tool list of the previous release: classify what changed, and check the versioning rules",
    ),
    judge: text("Also have this model grade each tool, for example anthropic:claude-opus-5-5; its findings are marked"),
    ...requestFlags,
    concurrency: { ...requestFlags.concurrency, describe: "Maximum concurrent requests to the judge" },
    budget: {
      ...requestFlags.budget,
      describe: "Send no further tools to the judge once this many US dollars are spent",
    },
    "base-url": {
      ...requestFlags["base-url"],
      describe: "Base URL of the judge's API, for example http://localhost:8000/v1",
    },
    timeout: { ...requestFlags.timeout, describe: "Timeout of one request to the judge, in seconds" },
    severity: severityFlag,
    profile: choice(
      "Rules to check; spec adds conventions of wording and form, for your own servers (default: general)",
      ["general", "spec"],
    ),
    all: toggle("List every finding, infos included (default: repeated ones are folded, infos only counted)"),
    "failure-threshold": choice("Lowest severity that exits with code 1", ["error", "warning", "info"], {
      default: "error",
    }),
    format: choice(
      "Output format; markdown: only with --rules",
      ["terminal", "json", "sarif", "github", "junit", "markdown"],
      {
        default: "terminal",
      },
    ),
    json: toggle("Same as --format json"),
    rules: toggle("Print all rules instead of linting"),
  },
  examples: [
    ["lint", "Lint the suites under evals/, the tools of their servers, and the skills of the project"],
    ['lint --server "node dist/main.js"', "Lint the tools of one server"],
    ["lint --tools tools.json --failure-threshold warning", "Lint a tool list in a file, with lines and columns"],
    ['lint --server "node dist/main.js" --against tools.json', "Show what a release would break"],
    ["lint --config .mcp.json --format sarif > lint.sarif", "Lint what a host starts, for code scanning"],
    ["lint --judge anthropic:claude-opus-5-5", "Also have a model grade each description"],
    ["lint --profile spec", "Also check how names and descriptions are worded"],
    ["lint --rules", "List all rules with their reasons"],
  ],
  run: async (args, io) => (await import("../inspection/lint/command.ts")).lint(args, io),
});
