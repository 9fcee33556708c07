import { resolve } from "node:path";
import { parseEnv } from "node:util";
import type { Options } from "yargs";
import { nearest } from "../base/text/nearest.ts";
import { usageError } from "../base/types/errors.ts";
import { defaultPolicy, type ExecutionPolicy, executionPolicies } from "../base/types/flagValues.ts";
import type { Io } from "../base/types/io.ts";
import { readNamed } from "../input/parsing/read.ts";
import { choice, number, text, texts, toggle } from "./command.ts";

// Flags that several commands share, so that one name means one thing everywhere.

const inGroup = <F extends Record<string, Options>>(group: string, flags: F): F =>
  Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, { ...flag, group }])) as F;

/** The longest that a request, a call or a start may take, in seconds. */
const longestTimeout = 86_400;

/** A seed of anything random. */
export const seedRange = { min: 0, max: Number.MAX_SAFE_INTEGER, integer: true } as const;

/** Further headers of requests to models. */
export const headerFlag = texts(
  "Further header of every request to the model's API, as NAME=VALUE; $VARIABLE in a value is read from the environment",
);

/** How a model is reached and asked. */
export const requestFlags = inGroup("Model requests:", {
  "base-url": text("Base URL of the model's API, for example http://localhost:8000/v1"),
  header: headerFlag,
  "max-tokens": number("Maximum output tokens per reply", { min: 1, integer: true }),
  timeout: number("Timeout of one request, in seconds (hosts: of one trial)", { above: 0, max: longestTimeout }),
  retries: number("Maximum retries for transient errors of the model", { min: 0, max: 20, integer: true }),
  effort: text("Reasoning effort, for models that have one: low, medium, high, ..."),
  free: toggle("Let local: models write calls freely, not only of listed tools with fitting arguments"),
  prices: text("JSON file with list prices that replace the built-in ones"),
  concurrency: number("Maximum concurrent trials", { alias: "c", min: 1, max: 10_000, integer: true, default: 10 }),
  budget: number("Send no further requests once this many US dollars are spent", { above: 0, dollars: true }),
});

function parsePolicy(words: string[]): ExecutionPolicy {
  const names = words.flatMap((word) => word.split(",").map((name) => name.trim()));
  const policy = executionPolicies.find((one) => names.includes(one));
  if (names.includes("")) throw new Error("A name is empty. Separate names of tools by commas.");
  if (policy !== undefined && names.length > 1) throw new Error(`Give either ${policy} or names of tools.`);
  return policy ?? names;
}

/** Which tools' calls are executed. */
export const executeFlag = (describe: string) =>
  texts(`${describe}: ${executionPolicies.join(", ")}, or names of tools, separated by commas`, {
    coerce: parsePolicy,
  });

/** Severities of rules. */
export const severityFlag = texts(
  "Severity of a rule, as <rule>=error|warning|info|off; overrides the configuration in files",
);

const reporters = ["json", "markdown", "junit", "github"];

function checkReporters(value: string[]): string[] {
  for (const one of [value].flat().map(String)) {
    if (reporters.includes(one) || /^custom:./.test(one)) continue;
    const near = nearest(one, reporters);
    const meant = near === undefined ? "" : ` Did you mean "${near}"?`;
    throw new Error(`"${one}" is not a reporter.${meant} Use ${reporters.join(", ")} or custom:<file>.`);
  }
  return value;
}

/** Additional formats of a run's report. */
export const reporterFlag = texts(
  "Also print the run in this format: json, markdown, junit, github (annotations) or custom:<file>",
  { coerce: checkReporters },
);

/** The folder of run records. */
export const outFlag = text("Folder of the run records", { default: "reports" });

export const otlpFlag = text(
  "Send each trial as a trace, without texts, to this OpenTelemetry collector, for example http://localhost:4318",
);

/** The forms of findings, of commands that inspect. */
export const findingFormat = choice("Output format", ["terminal", "json", "sarif", "github", "junit"], {
  default: "terminal",
});

export const jsonFlag = toggle("Print one JSON object instead of the report");

export const hostFlag = choice(
  "Show tool names and skills as this host does",
  ["plain", "agent-skills", "claude-code", "codex", "copilot", "gemini-cli", "goose"],
  { default: "plain" },
);

/** How tools are shown. */
const exposureFlags = {
  host: hostFlag,
  exposure: text(
    "How tools are shown: all (every definition), names (with a search tool that loads definitions), search (of the API) or host (as the host does) (default: all; for hosts: host)",
  ),
  ranker: choice("Search algorithm for --exposure names (default: keyword) or search (default: the first of the API)", [
    "keyword",
    "bm25",
    "regex",
  ]),
} satisfies Record<string, Options>;

/** How trials are asked and recorded. */
export const askFlags = {
  seed: number(
    "Seed of the tool order (default: random; the same in all runs of local models and with --cache)",
    seedRange,
  ),
  json: jsonFlag,
  out: outFlag,
  ...requestFlags,
  ...inGroup("Model requests:", {
    "max-requests": number("Maximum requests to models", { min: 1, integer: true }),
    "max-time": number("Send no further requests after this many seconds", { above: 0 }),
  }),
} satisfies Record<string, Options>;

/** The flags of every command that runs trials of its own choice. */
export const trialFlags = { ...exposureFlags, ...askFlags };

/** What servers get of the environment, for every command that starts them. */
export const envFlags = inGroup("Servers:", {
  env: texts("Variable for the servers: KEY=VALUE, or KEY with its value in this shell; repeatable"),
  "env-file": texts("File with variables for the servers, one KEY=VALUE per line"),
});

/** The variables of these flags; those of `--env` win. Throws a usage error. */
export function readServerEnv(env: readonly string[], files: readonly string[], io: Io): Record<string, string> {
  const options = { limit: maxEnvBytes, pipes: true };
  const fromFiles = files.map((file) => parseEnv(readNamed(`--env-file ${file}`, resolve(io.cwd, file), options)));
  const given = env.map((one) => {
    const [, name = "", value] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(one) ?? [];
    if (name === "")
      throw usageError(`--env ${one.split("=", 1)[0]} is no variable.`, "Write --env KEY=VALUE or --env KEY.");
    const read = value ?? io.env[name];
    if (read === undefined)
      throw usageError(`--env ${name}: ${name} is not set in this shell.`, `Write --env ${name}=<value>, or set it.`);
    return { [name]: read };
  });
  return Object.assign({}, ...fromFiles, ...given) as Record<string, string>;
}

const maxEnvBytes = 1024 * 1024;

/** Which cases run, with which skills, and the settings that override their suites. */
export const suiteFlags = {
  ...envFlags,
  ...inGroup("Suites:", {
    skill: texts("Run only the eval files of these skills"),
    "host-dir": texts("Search for skills in these folders of the home and project folders (default: those of --host)"),
    "user-skills": toggle("Include the skills in the home folder"),
    judge: text("Model that grades expected behavior, for example anthropic:claude-opus-5-5 (default: not graded)"),
    case: texts("Run only cases whose id matches this pattern (* matches any text)"),
    filter: texts("Run only cases with this tag; of several any (* matches any text)"),
    "max-turns": number("Maximum replies per trial; overrides the suites", { min: 1, max: 100, integer: true }),
    execute: executeFlag(`Which tool calls are executed; overrides the suites (their default: ${defaultPolicy})`),
    denial: text("Text that the model gets for a call that is not executed; {tool} and {reason} are filled in", {
      coerce: (text: string) => {
        if (text.trim() === "") throw new Error("--denial is empty. Give the text that the model gets.");
        return text;
      },
    }),
  }),
};

/** The one model of an experiment. */
export const modelFlag = text(
  "Model under test: lexical, local, anthropic:<model>, openai:<model>, ollama:<model>, claude-code, codex:<model>, copilot:<model>, goose:<provider>/<model>, custom:<file> or replay:<run>",
  { alias: "m", default: "lexical" },
);

/** The one suite of an experiment. */
export const suitePath = text("Suite file (default: the only one under evals/)");

export const resumeFlag = text(
  "Continue this record (folder, id or latest) with its recorded flags; only missing trials run",
);

/** The smallest difference that matters. */
export const marginFlag = (describe: string) => number(describe, { above: 0, below: 1, percent: true, default: 0.1 });

export const baselinesFlag = text("Folder of the accepted baselines; commit it", { default: "evals/baselines" });

/** How lint, probe and doctor name servers. */
export const serverFlags = inGroup("Servers:", {
  ...envFlags,
  server: texts("Command line of an MCP server"),
  url: texts("URL of an MCP server"),
  transport: choice("Transport of --url: Streamable HTTP (default), or the older SSE", ["http", "sse"]),
  config: texts("Host configuration file, for example .mcp.json: every server in it"),
  name: texts("With --config: only the servers of these names"),
});
