import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command, Flags } from "./command.ts";
import { askingFlags } from "./flags.ts";

const { concurrency, budget, effort, prices, retries, timeout } = askingFlags;

const flags = {
  server: { type: "string", array: true, nargs: 1, describe: "command line of an MCP server; its tools are linted" },
  url: { type: "string", array: true, nargs: 1, describe: "URL of an MCP server (Streamable HTTP)" },
  tools: { type: "string", array: true, nargs: 1, describe: "JSON or YAML file with a list of tools" },
  skills: { type: "string", array: true, nargs: 1, describe: "a skill package, or a folder of them" },
  config: {
    type: "string",
    array: true,
    nargs: 1,
    describe: "a host's file, for example .mcp.json: its entries, and the tools of every server in it",
  },
  confusable: { type: "boolean", default: false, describe: "also rank the pairs of tools that a model can confuse" },
  against: {
    type: "string",
    describe: "a baseline or a file of tools as they were: class what changed since, and check the rules for versions",
  },
  judge: {
    type: "string",
    describe:
      "also ask this model to grade each tool, for example anthropic:claude-opus-5-5; what it says is marked so",
  },
  concurrency: { ...concurrency, describe: "tools put to the judge at once" },
  budget: { ...budget, describe: "put no further tool to the judge once this many US dollars are spent" },
  "base-url": {
    ...askingFlags["base-url"],
    describe: "where the judge is served, for example http://localhost:8000/v1",
  },
  "max-tokens": askingFlags["max-tokens"],
  timeout: { ...timeout, describe: "seconds that one request to the judge may take" },
  retries,
  effort,
  prices,
  severity: {
    type: "string",
    array: true,
    nargs: 1,
    describe: "<rule>=error|warning|info|off: how a rule counts; before what files say",
  },
  "fail-on": {
    choices: ["error", "warning", "info"] as const,
    default: "error" as const,
    describe: "least severity that exits with 1",
  },
  format: {
    choices: ["table", "json", "sarif", "github", "markdown"] as const,
    default: "table" as const,
    describe: "form of the findings; markdown: of --rules only",
  },
  json: { type: "boolean", default: false, describe: "the same as --format json" },
  rules: { type: "boolean", default: false, describe: "print every rule instead of linting" },
} satisfies Record<string, Options>;

export type LintFlags = Flags<typeof flags> & { paths?: string[] };

/** `evals lint`: checks the conventions of tools, skills, suites and host entries; asks a model only with --judge. */
export const lintCommand: Command = {
  command: "lint [paths..]",
  describe: "Check tools, skills, suites and host files against the conventions; asks a model only with --judge",
  builder: (yargs: Argv) =>
    yargs
      .positional("paths", {
        type: "string",
        array: true,
        describe: "suites or skill packages, files or folders (default: evals/, unless a flag says what to lint)",
      })
      .options(flags)
      .example("$0 lint", "the suites under evals/, and the tools of their servers")
      .example('$0 lint --server "node dist/main.js"', "the tools of one server")
      .example("$0 lint --tools tools.json --fail-on warning", "a list in a file, by line and column")
      .example('$0 lint --server "node dist/main.js" --against tools.json', "what a release would break")
      .example("$0 lint --config .mcp.json --format sarif > lint.sarif", "all that a host starts, for code scanning")
      .example("$0 lint --judge anthropic:claude-opus-5-5", "also what a model makes of each description")
      .example("$0 lint --rules", "every rule, and why it is there"),
  handler: async (args: LintFlags, io: Io): Promise<ExitCode> =>
    (await import("../inspection/lint/lint.ts")).lint(args, io),
};
