import { availableParallelism, totalmem } from "node:os";
import { type EndpointOptions, resolveEndpoint } from "../../types/endpoint.ts";
import type { HostModel } from "../../types/model.ts";
import { priceUsage } from "../../types/prices.ts";
import { converse } from "./converse.ts";
import { environment, tokenOf } from "./environment.ts";
import { installed } from "./install.ts";
import { broken } from "./outcome.ts";
import { startRelay } from "./relay.ts";
import { slots } from "./slots.ts";

export type ClaudeCodeOptions = EndpointOptions & {
  /** The program. Default: CLAUDE_CODE_PATH of the environment, else `claude` on its PATH. */
  claudePath?: string;
  /** How many of it may run at once. Default: what memory and processors allow. */
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

/** Of a whole trial, not of one request. */
const defaultTimeoutMs = 300_000;
/** What the host itself asks for where it does not know a model. */
const defaultMaxTokens = 32_000;

/**
 * Claude Code as it is installed, started anew for every trial in a home and a project of its own. Throws a usage error
 * when there is no such program, or its options cannot work.
 */
export async function claudeCode(id: string, name: string, options: ClaudeCodeOptions): Promise<HostModel> {
  const { timeoutMs = defaultTimeoutMs, maxTokens = defaultMaxTokens, env: given } = options;
  const env = { ...given, ANTHROPIC_API_KEY: given.ANTHROPIC_API_KEY || tokenOf(given) };
  const settings = resolveEndpoint({ ...options, timeoutMs, maxTokens, env }, provider);
  const path = options.claudePath ?? (given.CLAUDE_CODE_PATH || "claude");
  const clean = environment(options, settings);
  const { command, version } = await installed(path, clean);
  const take = slots(options.claudeProcesses ?? roomFor(freeBytes(), availableParallelism()));
  const args = [
    ...["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--no-session-persistence"],
    ...(name === "" ? [] : ["--model", name]),
    ...(settings.effort === undefined ? [] : ["--effort", settings.effort]),
  ];
  const setup = { command, args, env: clean, timeoutMs, relay: await startRelay() };
  return {
    id,
    kind: "language model",
    note: "a host with a system prompt, skills and limits of its own: its figures are not those of the bare model",
    settings: { ...settings.record, claudeCode: version, model: name || "the host's default" },
    maxOutputTokens: maxTokens,
    ownPromptTokens,
    deterministic: false,
    async converse(trial, signal) {
      const release = await take(signal);
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

/** About 8,000 were seen, without project instructions; twice that is a ceiling. */
const ownPromptTokens = 16_000;

/** The resident memory of one process in bytes: measured, and some air. */
const processBytes = 400 * 1024 * 1024;

/** macOS counts what it holds for files as used, though it gives that up for a process. */
function freeBytes(): number {
  return process.platform === "darwin" ? totalmem() / 2 : process.availableMemory();
}

/** How many processes there is room for. They wait for the model most of the time: hence two for each processor. */
function roomFor(bytes: number, processors: number): number {
  return Math.max(1, Math.min(Math.floor(bytes / processBytes), 2 * processors));
}
