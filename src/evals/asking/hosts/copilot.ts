import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { services } from "../../base/types/endpoint.ts";
import { isJsonObject } from "../../base/types/json.ts";
import type { HostModel } from "../../base/types/model.ts";
import { hostNames } from "../../servers/host.ts";
import { findProgram, type Host, passEnvironment, readEvents, writeServers } from "./host.ts";
import { createHostModel, type HostEndpoint, type HostOptions, resolveHostEndpoint } from "./model.ts";

const install = "Install it (npm install -g @github/copilot), or set COPILOT_PATH to the path of the program.";
const program = { name: "Copilot CLI", pattern: /GitHub Copilot CLI (\d+\.\d+\.\d+[^\s.]*)/, install };

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/**
 * The Copilot CLI as installed (COPILOT_PATH of the environment, else `copilot` on its PATH), started for every trial
 * in a separate home and project, with the provider of the model in place of GitHub's service. Claude models are asked
 * by the Messages API, GPT models from version 5 by the Responses API, others by chat completions. Under the exposure
 * `host`, how it shows tools depends on the API and on their number; under `all`, every definition is shown. Throws a
 * usage error when the program is missing, or for options that cannot work.
 */
export async function copilot(id: string, model: string, options: HostOptions): Promise<HostModel> {
  const { env: given } = options;
  const api = findApi(model);
  const service = services[api === "messages" ? "anthropic" : "openai"];
  const endpoint = resolveHostEndpoint(options, { name: "Copilot CLI", efforts, ...service });
  const env = { ...passEnvironment(given), COPILOT_PKG_CACHE_HOME: findPackages(given), COPILOT_OFFLINE: "true" };
  const { command, version } = await findProgram(given.COPILOT_PATH || "copilot", program, env);
  const host = describeHost(model, api, endpoint);
  return createHostModel({ id, host, command, model, version: { copilot: version }, endpoint, env }, options);
}

type Api = "messages" | "responses" | "completions";

function findApi(model: string): Api {
  if (/^claude-/.test(model)) return "messages";
  return /^gpt-[5-9]/.test(model) ? "responses" : "completions";
}

/** Where the program unpacks itself, once for all trials. It is the same folder as for the user. */
function findPackages(env: HostOptions["env"]): string {
  const { COPILOT_PKG_CACHE_HOME, COPILOT_CACHE_HOME, XDG_CACHE_HOME, HOME = "." } = env;
  return COPILOT_PKG_CACHE_HOME || COPILOT_CACHE_HOME || join(XDG_CACHE_HOME || join(HOME, ".cache"), "copilot");
}

function describeHost(model: string, api: Api, { apiKey, effort, maxTokens }: HostEndpoint): Host {
  return {
    name: "Copilot CLI",
    wording: {
      searchTools: new Set(["tool_search_tool", "tool_search"]),
      skillTools: new Set(["skill"]),
      denial: /^Permission denied/,
      readRefusal: ({ text }) => /^(Permission denied\b.*?|Tool '.*?' does not exist)(?=\. |\.?$)/.exec(text)?.[1],
    },
    toServerName: (server) => server.replace(/[^a-zA-Z0-9_-]/g, "-"),
    toShownName: hostNames.copilot,
    skillFolder: ".agents/skills",
    configFolders: /^\.(github|copilot|agents|claude|mcp\.json)$/i,
    hidesTools: false,
    // About 13,000 tokens, without project instructions.
    ownPromptTokens: 26_000,
    processBytes: 400 * 1024 * 1024,
    /** Writes the home of a trial. Only tested tools and reading in the project are permitted: nobody can be asked. */
    async configure({ trial: { exposure }, folder, servers, baseUrl, system }) {
      const home = join(folder.home, ".copilot");
      await mkdir(home);
      const entry = { type: "http", tools: ["*"], ...(exposure === "all" && { deferTools: "never" }) };
      const config = await writeServers(folder, servers, entry);
      if (system !== "") await writeFile(join(home, "copilot-instructions.md"), system);
      return {
        args: [
          ...["--output-format", "json", "--no-ask-user", "--disable-builtin-mcps", "--no-remote", "--no-auto-update"],
          ...["--trust-folder", "--additional-mcp-config", `@${config}`],
          ...[...servers.keys()].map((name) => `--allow-tool=${name}`),
          ...(effort === undefined ? [] : ["--reasoning-effort", effort]),
        ],
        env: {
          COPILOT_HOME: home,
          COPILOT_CACHE_HOME: join(folder.home, ".cache"),
          XDG_CACHE_HOME: join(folder.home, ".cache"),
          COPILOT_AUTO_UPDATE: "false",
          NO_COLOR: "1",
          COPILOT_PROVIDER_BASE_URL: baseUrl,
          COPILOT_PROVIDER_TYPE: api === "messages" ? "anthropic" : "openai",
          ...(api !== "messages" && { COPILOT_PROVIDER_WIRE_API: api }),
          COPILOT_PROVIDER_API_KEY: apiKey,
          COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: String(maxTokens),
          COPILOT_MODEL: model,
        },
      };
    },
    readFailure,
  };
}

/** The last error of the session, or the servers that it could not start. */
function readFailure(output: string): string | undefined {
  const events = readEvents(output).map(({ type, data }) => ({ type, data: isJsonObject(data) ? data : {} }));
  const error = events.findLast(({ type }) => type === "session.error")?.data.message;
  if (typeof error === "string") return error;
  const servers = events.findLast(({ type }) => type === "session.mcp_servers_loaded")?.data.servers;
  const failed = (Array.isArray(servers) ? servers : []).flatMap((one) =>
    isJsonObject(one) && one.status === "failed" ? [`server "${one.name}": ${one.error}`] : [],
  );
  return failed.length > 0 ? failed.join("; ") : undefined;
}
