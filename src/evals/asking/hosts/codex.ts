import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { stringify } from "smol-toml";
import * as z from "zod";
import { didYouMean } from "../../base/text/nearest.ts";
import { cut } from "../../base/text/text.ts";
import { services } from "../../base/types/endpoint.ts";
import { messageOf, usageError } from "../../base/types/errors.ts";
import { isJsonObject } from "../../base/types/json.ts";
import type { HostModel } from "../../base/types/model.ts";
import { hostNames } from "../../servers/host.ts";
import { findProgram, type Host, passEnvironment, readEvents } from "./host.ts";
import { createHostModel, type HostEndpoint, type HostOptions, resolveHostEndpoint } from "./model.ts";

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"];
const provider = { name: "Codex", efforts, ...services.openai };

const install = "Install it (npm install -g @openai/codex), or set CODEX_PATH to the path of the program.";
const program = { name: "Codex", pattern: /^codex-cli (\d+\.\d+\.\d+\S*)/, install };

/**
 * Codex as installed (CODEX_PATH of the environment, else `codex` on its PATH), started for every trial in a separate
 * home and project. Under the exposure `host`, the model decides how Codex shows tools: by a search, only to code that
 * the model writes, or in full. Under `all`, every definition is shown. Throws a usage error when the program is
 * missing, for a model that it does not know, or for options that cannot work.
 */
export async function codex(id: string, name: string, options: HostOptions): Promise<HostModel> {
  const { env: given } = options;
  const endpoint = resolveHostEndpoint(options, provider, provider.maxTokensLimit);
  const env = { ...passEnvironment(given), [provider.keyVariable]: endpoint.apiKey };
  const { command, version } = await findProgram(given.CODEX_PATH || "codex", program, env);
  const known = await listModels(command, env);
  const entry = known.find(({ slug }) => slug === name);
  const isPublic = new URL(endpoint.baseUrl).host === new URL(provider.baseUrl).host;
  // It shows every definition to models of other services.
  if (!entry && isPublic) {
    const shown = known.flatMap(({ slug, visibility }) => (visibility === "hide" ? [] : [slug]));
    const hint = [didYouMean(name, shown, undefined), `Use one of: ${shown.join(", ")}.`].filter(Boolean).join(" ");
    throw usageError(`Codex ${version} does not know the model "${name}".`, hint);
  }
  const host = describeHost(name, entry, endpoint);
  return createHostModel({ id, host, command, model: name, version: { codex: version }, endpoint, env }, options);
}

const entrySchema = z.looseObject({ slug: z.string(), visibility: z.string().optional() });
type CatalogEntry = z.infer<typeof entrySchema>;

const run = promisify(execFile);

async function listModels(command: string, env: Readonly<Record<string, string>>): Promise<readonly CatalogEntry[]> {
  const home = await mkdtemp(join(tmpdir(), "evals-host-"));
  try {
    const options = { env: { ...env, HOME: home, CODEX_HOME: home }, timeout: 30_000, maxBuffer: 32 * 1024 * 1024 };
    const { stdout } = await run(command, ["debug", "models", "--bundled"], options);
    return z.object({ models: z.array(entrySchema) }).parse(JSON.parse(stdout)).models;
  } catch (error) {
    const hint = "Use a newer version of Codex.";
    throw usageError(`Codex does not list its models: ${cut(messageOf(error), 300)}.`, hint);
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** The fields of a model that make Codex defer tools or offer them only to code. */
const deferringFields = ["tool_mode", "supports_search_tool"];

function describeHost(
  model: string,
  entry: CatalogEntry | undefined,
  { effort, retries, timeoutMs }: HostEndpoint,
): Host {
  return {
    name: "Codex",
    wording: {
      searchTools: new Set(["tool_search"]),
      skillTools: new Set(),
      readRefusal: ({ text }) => /^unsupported call: .*/.exec(text)?.[0],
    },
    toServerName: (server) => server.replace(/[^a-zA-Z0-9_-]/g, "_"),
    toShownName: hostNames.codex,
    skillFolder: ".agents/skills",
    configFolders: /^\.(codex|agents)$/i,
    hidesTools: true,
    // About 10,000 tokens, without project instructions.
    ownPromptTokens: 20_000,
    processBytes: 250 * 1024 * 1024,
    /** Writes the home of a trial. If Codex cannot use a server, it ends, instead of continuing without the tools. */
    async configure({ trial: { exposure }, folder, servers, baseUrl, system }) {
      const home = join(folder.home, ".codex");
      const catalog = join(home, "models.json");
      await mkdir(home);
      const isDirect = exposure === "all" && entry !== undefined;
      if (isDirect) {
        const kept = Object.entries(entry).filter(([field]) => !deferringFields.includes(field));
        const models = [{ ...Object.fromEntries(kept), supports_search_tool: false }];
        await writeFile(catalog, JSON.stringify({ models }));
      }
      const seconds = Math.ceil(timeoutMs / 1000);
      const limits = { startup_timeout_sec: seconds, tool_timeout_sec: seconds };
      const entries = [...servers].map(([name, url]) => {
        return [name, { url, required: true, default_tools_approval_mode: "approve", ...limits }];
      });
      const config = {
        model,
        model_provider: "recorded",
        approval_policy: "never",
        sandbox_mode: "read-only",
        check_for_update_on_startup: false,
        ...(effort !== undefined && { model_reasoning_effort: effort }),
        ...(isDirect && { model_catalog_json: catalog }),
        ...(system !== "" && { developer_instructions: system }),
        analytics: { enabled: false },
        otel: { exporter: "none" },
        features: { plugins: false },
        model_providers: {
          recorded: {
            name: "OpenAI",
            base_url: baseUrl,
            env_key: provider.keyVariable,
            wire_api: "responses",
            request_max_retries: retries,
            stream_max_retries: retries,
            stream_idle_timeout_ms: timeoutMs,
          },
        },
        mcp_servers: Object.fromEntries(entries),
        projects: { [folder.project]: { trust_level: "trusted" } },
      };
      await writeFile(join(home, "config.toml"), stringify(config), { mode: 0o600 });
      const args = ["exec", "--json", "--skip-git-repo-check", "-C", folder.project, "-"];
      return { args, env: { CODEX_HOME: home } };
    },
    readFailure,
  };
}

function readFailure(output: string): string | undefined {
  const failures = readEvents(output).flatMap(({ type, message, error }) => {
    if (type === "turn.failed") return isJsonObject(error) ? [error.message] : [];
    return type === "error" ? [message] : [];
  });
  const last = failures.findLast((one) => typeof one === "string");
  return last === undefined ? undefined : cut(last, 500);
}
