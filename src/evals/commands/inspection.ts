import { defaultPolicy } from "../base/types/flagValues.ts";
import { choice, defineCommand, number, text, texts, toggle } from "./command.ts";
import {
  envFlags,
  executeFlag,
  findingFormat,
  hostFlag,
  jsonFlag,
  outFlag,
  requestFlags,
  seedRange,
  serverFlags,
  severityFlag,
  suiteFlags,
} from "./flags.ts";

export const initCommand = defineCommand({
  command: "init [target]",
  describe: "Show what a model may mix up in a server's tools, and draft a first suite",
  positionals: {
    target: text(
      "Command line of a server in quotes, URL, host configuration, tool list, or folder of skills (default: the server and the skills of the project)",
    ),
  },
  flags: {
    ...serverFlags,
    catalog: text("File with the tools that the server's dispatchers call"),
    file: text("Suite to write (default: evals/<server>.yaml)"),
    ci: choice(
      "Also write a workflow that runs the suites on pull requests; nothing else where there are suites and no server is named",
      ["github"],
    ),
  },
  epilogue:
    "Without a target, servers are looked up in .mcp.json, .vscode/mcp.json, .cursor/mcp.json and .gemini/settings.json, " +
    "then in the files of Claude Desktop and Cursor in the home folder, then in package.json, and skills in the " +
    "folders of hosts and in skills/. No model and no tool is called, and no file is overwritten. `evals queries` shows each drafted query for a review, or has a model write better ones.",
  examples: [
    ['init "npx -y @modelcontextprotocol/server-memory"', "The tools of a server, and a suite for them"],
    ["init", "The same for the server in .mcp.json, and for the skills of the project"],
    ["init .claude/skills", "Queries for each skill, in its evals/evals.json"],
    ['init "node dist/main.js" --ci github', "A suite and a workflow"],
  ],
  run: async (args, io) => (await import("../inspection/init/init.ts")).init(args, io),
});

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
    "accept-all": toggle("Take every query without a review; each later report says so"),
    yes: { alias: "y", ...toggle("Do not ask for confirmation before spending") },
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
    confusable: toggle("Also rank the pairs of tools, and of skills, that are easy to confuse"),
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
      ? (await import("../inspection/tools.ts")).listSkills({ host, hostDir, dir: args.paths, json: args.json }, io)
      : (await import("../inspection/tools.ts")).listTools(args, io),
});

const { skill, "host-dir": hostDir, "user-skills": userSkills, case: cases } = suiteFlags;

export const searchCommand = defineCommand({
  command: "search [paths..]",
  describe: "Measure whether a tool search finds the tools and skills that suites expect",
  positionals: {
    paths: texts("Suites or skill packages, files or folders (default: evals/, and the skills of the project)"),
  },
  flags: {
    ranker: choice(
      "Only this algorithm: keyword (as in Claude Code), bm25 or regex (as in APIs)",
      ["keyword", "bm25", "regex"],
      { array: true },
    ),
    "fail-on": texts("Exit with code 1 below this: recall@<1, 3, 5 or 10>=<share>"),
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

export const probeCommand = defineCommand({
  command: "probe [paths..]",
  describe: "Call tools with inputs generated from their schemas, and check the results",
  positionals: {
    paths: texts("URL, command line in quotes, host configuration, or suites (default: evals/)"),
  },
  flags: {
    ...serverFlags,
    tool: texts(
      "Probe only tools whose name matches this pattern (* matches any text); one named in full is called in any case",
    ),
    execute: executeFlag(`Which tools are called (default: as in the suite, otherwise ${defaultPolicy})`),
    runs: number("Maximum inputs per tool and kind of probe", { min: 1, max: 100_000, integer: true, default: 5 }),
    seed: number("Seed of the generated inputs (default: random, printed)", seedRange),
    timeout: number("Timeout of one call, in seconds", { above: 0, max: 3600, default: 10 }),
    yes: { alias: "y", ...toggle("Make the calls without asking for consent") },
    call: texts('Make this call instead: {"tool": "...", "arguments": {...}}; repeatable, executed in order'),
    severity: severityFlag,
    profile: choice(
      "Rules to check; spec adds conventions of failures and texts, for your own servers (default: general)",
      ["general", "spec"],
    ),
    "failure-threshold": choice("Lowest severity that exits with code 1", ["error", "warning", "info"], {
      default: "warning",
    }),
    format: findingFormat,
    json: { ...jsonFlag, describe: "Same as --format json" },
  },
  examples: [
    ['probe --server "node dist/main.js"', "Probe every tool that is annotated as read-only"],
    ['probe --server "node dist/main.js" --execute all', "Probe every tool; only where nothing can be lost"],
    ['probe --config .mcp.json --name files --tool "read_*"', "Probe some tools of a registered server"],
    [
      `probe --server "node main.js" --call '{"tool": "echo", "arguments": {}}'`,
      "Repeat one call and check its result",
    ],
  ],
  run: async (args, io) => (await import("../inspection/probe/probe.ts")).probe(args, io),
});

export const doctorCommand = defineCommand({
  command: "doctor [paths..]",
  describe: "Start servers, list their tools, and explain how to fix what fails",
  positionals: {
    paths: texts("URL, command line in quotes, host configuration, or suites (default: evals/)"),
  },
  flags: {
    ...serverFlags,
    execute: { ...executeFlag("Which tools without required arguments are called once"), default: defaultPolicy },
    timeout: number("Timeout of a server's start, in seconds", { above: 0, max: 3600, default: 30 }),
    host: texts(
      "Also examine how a host shows the tools, at no cost: claude-code, codex, copilot or goose, or a model in one",
    ),
    format: findingFormat,
    json: { ...jsonFlag, describe: "Same as --format json" },
  },
  epilogue: "Exit code 1 when a server is unhealthy.",
  examples: [
    ['doctor --server "node dist/main.js"', "Examine one server"],
    ["doctor --config .mcp.json", "Examine every server that a host starts, and its entry"],
    ["doctor --host codex --config .mcp.json", "What Codex shows of the tools of these servers"],
    ["doctor --url https://example.com/mcp --execute never", "Call no tool"],
  ],
  run: async (args, io) => (await import("../inspection/doctor/doctor.ts")).doctor(args, io),
});

export const importCommand = defineCommand({
  command: "import [paths..]",
  describe: "Convert the cases of other eval tools to suites",
  positionals: { paths: texts("Files or folders with cases (default: the current folder)") },
  flags: {
    from: text(
      "Format of the files (default: detected): mongodb, vitest-evals, mcp-evals, apify, apify-tasks, " +
        "prompt-table, prompt-lists, posthog, vally, waza, promptfoo, whichtool, bfcl",
    ),
    tools: text("JSON or YAML file with the tool list; expected tools that it lacks are reported"),
    server: text("Command line of the server that the suites name"),
    output: text("Folder for the suites, one suite per format", { default: "evals/imported" }),
    judged: toggle("Keep sentences for a judge in cases that also expect tools"),
    "execute-source": toggle("Run TypeScript sources, which is how their cases are read; only sources that you trust"),
    force: toggle("Replace existing suites"),
    json: { ...jsonFlag, describe: "Print what was kept and what was not as JSON" },
  },
  epilogue:
    "TypeScript sources (mongodb, vitest-evals) are read with --execute-source: all of a repository run in one process " +
    "with an empty environment, stubs for packages, no network and no write access, for at most 10 s each. What a suite " +
    "cannot express is printed, and kept as a comment above its case. Exit code 2 when a file is malformed.",
  examples: [
    ['import ../my-server --server "node dist/main.js"', "Every known format in a repository"],
    ["import packages/accuracy-tests --tools tools.json", "Also report expected tools that no longer exist"],
    ["import tests.yaml --from promptfoo --judged", "One file, with its rubrics for a judge"],
  ],
  run: async (args, io) => (await import("../inspection/import.ts")).importSuites(args, io),
});

export const loginCommand = defineCommand({
  command: "login <url>",
  describe: "Log in to a remote MCP server (OAuth); all commands use the login",
  positionals: { url: text("URL of the server, as suites name it", { demandOption: true }) },
  flags: {
    forget: toggle("Remove the stored login"),
    browser: { type: "boolean", default: true, describe: "Open the page in a browser; --no-browser only prints it" },
    "client-id": text("Client that was registered by hand, its secret in OAUTH_CLIENT_SECRET (default: register one)"),
    scope: text("Scopes to request, separated by spaces (default: those that the server names)"),
    port: number("Port of the loopback callback (default: any free port)", { min: 1, max: 65_535, integer: true }),
    timeout: number("Maximum wait for the login, in seconds", { above: 0, max: 3600, default: 300 }),
  },
  epilogue: "Tokens are stored in your configuration folder, readable only by you, and refreshed when they expire.",
  examples: [
    ["login https://example.com/mcp", "Grant access in the browser"],
    ["login https://example.com/mcp --forget", "Remove the tokens"],
  ],
  run: async (args, io) => (await import("../inspection/login.ts")).logIn(args, io),
});
