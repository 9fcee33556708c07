import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cut } from "../../base/text/text.ts";
import { services } from "../../base/types/endpoint.ts";
import type { HostModel } from "../../base/types/model.ts";
import { hostNames } from "../../servers/host.ts";
import { findProgram, type Host, passEnvironment, readEvents, writeServers } from "./host.ts";
import { createHostModel, type HostOptions, resolveHostEndpoint } from "./model.ts";

const provider = { name: "Claude Code", efforts: ["low", "medium", "high", "xhigh", "max"], ...services.anthropic };

const program = {
  name: "Claude Code",
  pattern: /^(\d+\.\d+\.\d+\S*) \(Claude Code\)/,
  install: "Install it (npm install -g @anthropic-ai/claude-code), or set CLAUDE_CODE_PATH to the path of the program.",
};

/**
 * Claude Code as installed (CLAUDE_CODE_PATH of the environment, else `claude` on its PATH), started for every trial in
 * a separate home and project. Under the exposure `host` it shows tools as it does for its users: with its own tools,
 * and a search for those of MCP servers. Under `all` it is made to show every definition, without its own tools. Throws
 * a usage error when the program is missing, or for options that cannot work.
 */
export async function claudeCode(id: string, name: string, options: HostOptions): Promise<HostModel> {
  const { env: given } = options;
  const env = { ...given, ANTHROPIC_API_KEY: given.ANTHROPIC_API_KEY || readToken(given) };
  const endpoint = resolveHostEndpoint({ ...options, env }, provider);
  const clean = buildEnvironment(options, endpoint);
  const { command, version } = await findProgram(given.CLAUDE_CODE_PATH || "claude", program, clean);
  const facts = { id, command, model: name, version: { claudeCode: version }, endpoint, env: clean };
  return createHostModel({ ...facts, host: describeHost(name, endpoint.effort) }, options);
}

function describeHost(model: string, effort: string | undefined): Host {
  return {
    name: "Claude Code",
    wording: {
      searchTools: new Set(["ToolSearch"]),
      skillTools: new Set(["Skill"]),
      readRefusal: ({ text, isError }) => (isError ? readRefusal(text) : undefined),
      denial: /^(Permission to use|Claude requested permissions)/,
    },
    toServerName: (server) => server.replace(/[^a-zA-Z0-9_-]/g, "_"),
    toShownName: hostNames["claude-code"],
    skillFolder: ".claude/skills",
    configFolders: /^\.claude$/i,
    writesFiles: true,
    hidesTools: false,
    // About 12,000 tokens, without project instructions.
    ownPromptTokens: 20_000,
    processBytes: 400 * 1024 * 1024,
    /**
     * Writes the MCP configuration and the system prompt of a trial. Whatever the exposure, the host may read within
     * the project, load skills and call the tools under test, and write within the project if the case needs it;
     * everything else that needs a permission is denied.
     */
    async configure({ trial, folder, servers, baseUrl, system }) {
      const { exposure, skills, files, writable = false } = trial;
      const config = await writeServers(folder, servers, { type: "http" });
      const systemFile = join(folder.dir, "system.md");
      if (system !== "") await writeFile(systemFile, system);
      const isAll = exposure === "all";
      const allowed = [
        ...(skills.length > 0 || !isAll ? ["Skill"] : []),
        ...[...servers.keys()].map((one) => `mcp__${one}`),
        // The rule of Edit applies to every tool that writes files; the path is relative to the project.
        ...(writable ? ["Edit(./**)"] : []),
      ];
      // Without skills or files, tools for reading would only compete with those under test.
      const reading = skills.length + files.length > 0 || writable ? ["Read", "Glob", "Grep"] : [];
      const tools = [...(skills.length > 0 ? ["Skill"] : []), ...reading, ...(writable ? ["Write", "Edit"] : [])];
      return {
        args: [
          ...["-p", "--output-format", "json", "--no-session-persistence", "--setting-sources", "project"],
          ...["--settings", projectSettings, "--mcp-config", config, "--strict-mcp-config"],
          ...["--permission-mode", "dontAsk"],
          ...(model === "" ? [] : ["--model", model]),
          ...(effort === undefined ? [] : ["--effort", effort]),
          ...(isAll ? ["--tools", tools.join(",")] : []),
          ...(allowed.length > 0 ? ["--allowedTools", allowed.join(",")] : []),
          ...(system === "" ? [] : ["--append-system-prompt-file", systemFile]),
        ],
        env: {
          ANTHROPIC_BASE_URL: baseUrl,
          // The memory feature would instruct the model to write files with a tool that is not offered.
          ...(isAll && { ENABLE_TOOL_SEARCH: "false", CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1" }),
        },
      };
    },
    readFailure,
  };
}

/** Keeps skills under test from running commands on this machine, by hooks or while their body is read. */
const projectSettings = JSON.stringify({ disableAllHooks: true, disableSkillShellExecution: true });

/** The first sentence of the answer to a call that the host denied, or has no tool for. */
function readRefusal(text: string): string | undefined {
  const plain = text.replace(/^<tool_use_error>([\s\S]*)<\/tool_use_error>$/, "$1").replace(/^Error: /, "");
  if (!/^(No such tool available|Permission to use|Claude requested permissions)/.test(plain)) return undefined;
  return plain.split(/(?<=\.)\s/)[0];
}

/** The text of the final result that it prints, if that is an error. */
function readFailure(output: string): string | undefined {
  const result = readEvents(output).at(-1);
  if (!result || (result.is_error !== true && result.subtype === "success")) return undefined;
  const errors = Array.isArray(result.errors) ? result.errors.join("; ") : "";
  return cut(String(result.result || errors || result.subtype || ""), 500) || undefined;
}

/** The variables that are passed on: programs, language and credentials. Only this machine is reached by the host. */
const passedVariables = /^(PATH|LANG|LC_ALL|ANTHROPIC_(?!BASE_URL$)\w+|CLAUDE_CODE_OAUTH_TOKEN)$/i;

/** The environment of all trials, without what differs between them and without the user's settings and logins. */
export function buildEnvironment(
  { env }: Pick<HostOptions, "env">,
  { apiKey, retries, maxTokens }: { apiKey: string; retries: number; maxTokens: number },
): Record<string, string> {
  return {
    ...passEnvironment(env, passedVariables),
    ...(readToken(env) === undefined && { ANTHROPIC_API_KEY: apiKey }),
    CLAUDE_CODE_MAX_RETRIES: String(retries),
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(maxTokens),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
  };
}

/** The credentials that replace an API key, if any. */
function readToken(env: HostOptions["env"]): string | undefined {
  return env.ANTHROPIC_AUTH_TOKEN || env.CLAUDE_CODE_OAUTH_TOKEN || undefined;
}
