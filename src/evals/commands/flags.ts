import type { Options } from "yargs";

// Flags that several commands share, so that one word means one thing everywhere.

/** How a model is asked. */
export const askingFlags = {
  host: {
    choices: ["plain", "agent-skills", "claude-code", "gemini-cli", "codex"] as const,
    default: "plain" as const,
    describe: "show tool names and skills as this host does",
  },
  seed: { type: "number", describe: "seed of the tool orders; default: a new one, kept on the record" },
  concurrency: { alias: "c", type: "number", default: 10, describe: "trials under way at once" },
  budget: { type: "number", describe: "start no further trial once this many US dollars are spent" },
  json: { type: "boolean", default: false, describe: "print one JSON object instead of the report" },
  out: { type: "string", default: "reports", describe: "folder that holds the runs" },
  "base-url": { type: "string", describe: "where the model is served, for example http://localhost:8000/v1" },
  "max-tokens": { type: "number", describe: "most output tokens of one reply" },
  timeout: { type: "number", describe: "seconds that one request may take (claude-code: one trial)" },
  retries: { type: "number", describe: "how often a transient fault of a model is retried" },
  effort: { type: "string", describe: "reasoning effort, where the model takes one: low, medium, high, ..." },
  "claude-path": {
    type: "string",
    describe: "the Claude Code program, for the model claude-code (default: CLAUDE_CODE_PATH, else claude on the PATH)",
  },
  prices: { type: "string", describe: "JSON file with list prices that replace the built-in ones" },
} satisfies Record<string, Options>;

/** What the suites say, overridden, and which skills are looked up. */
export const suiteFlags = {
  skill: { type: "string", array: true, describe: "only the eval files of these skills" },
  "host-dir": {
    type: "string",
    array: true,
    describe: "folders under home and project that hold skills (default: .claude, .agents)",
  },
  "user-skills": {
    type: "boolean",
    default: true,
    describe: "also skills of <home>; --no-user-skills leaves them out",
  },
  judge: {
    type: "string",
    describe:
      "model that grades expected behaviour, for example anthropic:claude-opus-5-5; without one it is not graded",
  },
  case: { type: "string", array: true, describe: "only cases whose id matches this pattern (* is any text)" },
  "max-turns": { type: "number", describe: "most replies in one trial; overrides the suites" },
  execute: {
    choices: ["always", "safe", "never"] as const,
    describe: "which calls are executed; overrides the suites (their default: safe)",
  },
} satisfies Record<string, Options>;

/** One model, for the commands that put a question to one. */
export const modelFlag = {
  alias: "m",
  type: "string",
  default: "lexical",
  describe: "model under test: lexical, anthropic:<model>, openai:<model>, claude-code, replay:<run>",
} as const satisfies Options;

/** Goes on with a record that was cut short. */
export const resumeFlag = {
  type: "string",
  describe: "finish this record (a folder, an id, or latest) of the same command line: only what is missing is asked",
} as const satisfies Options;

/** Where the accepted baselines lie. */
export const baselinesFlag = {
  type: "string",
  default: "evals/baselines",
  describe: "folder of the accepted baselines; commit it",
} as const satisfies Options;
