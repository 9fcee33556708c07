import { execFile } from "node:child_process";
import { availableParallelism, totalmem } from "node:os";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { type EndpointOptions, priceUsage, resolveEndpoint } from "../../types/endpoint.ts";
import { messageOf, usageError } from "../../types/errors.ts";
import type { HostModel } from "../../types/model.ts";
import { broken, converse } from "./converse.ts";
import { startRelay } from "./relay.ts";

export type ClaudeCodeOptions = EndpointOptions & {
  /** The program. Default: CLAUDE_CODE_PATH of the environment, else `claude` on its PATH. */
  claudePath?: string;
  /** Maximum concurrent processes. Default: what memory and processors allow. */
  claudeProcesses?: number;
};

const provider = {
  name: "Claude Code",
  keyVariable: "ANTHROPIC_API_KEY",
  baseUrlVariable: "ANTHROPIC_BASE_URL",
  baseUrl: "https://api.anthropic.com",
  efforts: ["low", "medium", "high", "xhigh", "max"],
  maxTokensLimit: 128_000,
};

/** The limit of a whole trial, not of one request. */
const defaultTimeoutMs = 300_000;
/** The host's own limit for a model it does not know. */
const defaultMaxTokens = 32_000;

/**
 * Claude Code as installed, started for every trial in a separate home and project. Throws a usage error when the program
 * is missing, or for options that cannot work.
 */
export async function claudeCode(id: string, name: string, options: ClaudeCodeOptions): Promise<HostModel> {
  const { timeoutMs = defaultTimeoutMs, maxTokens = defaultMaxTokens, env: given } = options;
  const env = { ...given, ANTHROPIC_API_KEY: given.ANTHROPIC_API_KEY || readToken(given) };
  const settings = resolveEndpoint({ ...options, timeoutMs, maxTokens, env }, provider);
  const clean = buildEnvironment(options, settings);
  const { command, version } = await findProgram(options.claudePath ?? (given.CLAUDE_CODE_PATH || "claude"), clean);
  const acquire = createSlots(options.claudeProcesses ?? countProcesses(freeBytes(), availableParallelism()));
  const args = [
    ...["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--no-session-persistence"],
    ...(name === "" ? [] : ["--model", name]),
    ...(settings.effort === undefined ? [] : ["--effort", settings.effort]),
  ];
  const setup = { command, args, env: clean, timeoutMs, relay: await startRelay() };
  return {
    id,
    kind: "language model",
    note: "a host with its own system prompt, skills and limits: not comparable with the model alone",
    settings: { ...settings.record, claudeCode: version, model: name || "the host's default" },
    maxOutputTokens: maxTokens,
    ownPromptTokens,
    deterministic: false,
    async converse(trial, signal) {
      const release = await acquire(signal);
      if (!release) return { outcome: broken("cancelled", "the trial was cancelled"), turns: [] };
      try {
        return await converse(setup, trial, signal);
      } finally {
        release();
      }
    },
    cost: (usage) => priceUsage(usage, name, options.prices),
  };
}

/** An upper bound: about 8,000 were measured, without project instructions. */
const ownPromptTokens = 16_000;

/** The resident memory of one process in bytes: as measured, with a margin. */
const processBytes = 400 * 1024 * 1024;

/** macOS counts file caches as used memory, although it frees them for a process. */
function freeBytes(): number {
  return process.platform === "darwin" ? totalmem() / 2 : process.availableMemory();
}

/** How many processes there is room for: two per processor, because they mostly wait for the model. */
function countProcesses(bytes: number, processors: number): number {
  return Math.max(1, Math.min(Math.floor(bytes / processBytes), 2 * processors));
}

type Env = ClaudeCodeOptions["env"];

/** The variables that are passed on: programs, certificates, proxies and credentials. */
const passedVariables =
  /^(PATH|LANG|LC_ALL|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS|https?_proxy|ANTHROPIC_\w+|CLAUDE_CODE_OAUTH_TOKEN)$/i;

/** The environment of every trial, without its folders. The user's own settings and logins are left out. */
export function buildEnvironment(
  { env, baseUrl }: Pick<ClaudeCodeOptions, "env" | "baseUrl">,
  { apiKey, retries, maxTokens }: { apiKey: string; retries: number; maxTokens: number },
): Record<string, string> {
  const passed = Object.entries(env).filter(([name, value]) => value && passedVariables.test(name));
  return {
    ...(Object.fromEntries(passed) as Record<string, string>),
    ...(readToken(env) === undefined && { ANTHROPIC_API_KEY: apiKey }),
    ...(baseUrl !== undefined && { ANTHROPIC_BASE_URL: baseUrl }),
    TERM: "dumb",
    NO_PROXY: [env.NO_PROXY ?? env.no_proxy, "127.0.0.1"].filter(Boolean).join(","),
    CLAUDE_CODE_MAX_RETRIES: String(retries),
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(maxTokens),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    // It would instruct the model to write files with a tool that is not offered.
    CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
    // All tools are shown from the start: a search before the pick would be another experiment.
    ENABLE_TOOL_SEARCH: "false",
  };
}

/** The credentials that replace an API key, if any. */
function readToken(env: Env): string | undefined {
  return env.ANTHROPIC_AUTH_TOKEN || env.CLAUDE_CODE_OAUTH_TOKEN || undefined;
}

const run = promisify(execFile);

/**
 * Finds the program and its version. A path is used as given; a bare name is looked up on the PATH of `env`. Throws a
 * usage error when it cannot be started, or is another program.
 */
async function findProgram(path: string, env: Record<string, string>): Promise<{ command: string; version: string }> {
  const command = /[/\\]/.test(path) ? resolve(path) : path;
  const { stdout } = await run(command, ["--version"], { env, timeout: 30_000 }).catch((error) => {
    throw usageError(`Claude Code cannot be started as "${command}": ${messageOf(error)}.`, installHint);
  });
  const version = /^(\d+\.\d+\.\d+\S*) \(Claude Code\)/.exec(stdout)?.[1];
  if (version !== undefined) return { command, version };
  throw usageError(`"${command}" is not Claude Code: its version is "${stdout.trim().slice(0, 80)}".`, installHint);
}

const installHint =
  "Install it (npm install -g @anthropic-ai/claude-code), or set CLAUDE_CODE_PATH to the path of the program.";

/** Frees a slot. Safe to call twice. */
type Release = () => void;

/**
 * A semaphore of `count` slots, first come, first served. Resolves with the function that frees the slot, or with
 * undefined when the signal aborts first.
 */
export function createSlots(count: number): (signal: AbortSignal) => Promise<Release | undefined> {
  let free = count;
  const waiting: (() => void)[] = [];
  const give = (): Release => {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const next = waiting.shift();
      if (next) next();
      else free++;
    };
  };
  return (signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve(undefined);
      if (free > 0) {
        free--;
        return resolve(give());
      }
      const abort = () => {
        waiting.splice(waiting.indexOf(start), 1);
        resolve(undefined);
      };
      const start = () => {
        signal.removeEventListener("abort", abort);
        resolve(give());
      };
      waiting.push(start);
      signal.addEventListener("abort", abort, { once: true });
    });
}
