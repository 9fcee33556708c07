import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { didYouMean } from "../../base/text/nearest.ts";
import { services } from "../../base/types/endpoint.ts";
import { usageError } from "../../base/types/errors.ts";
import type { HostModel } from "../../base/types/model.ts";
import { hostNames } from "../../servers/host.ts";
import { findProgram, type Host, passEnvironment, readEvents } from "./host.ts";
import { createHostModel, type HostOptions, resolveHostEndpoint } from "./model.ts";

const install = "Install it (npm install -g @aaif/goose), or set GOOSE_PATH to the path of the program.";
const program = { name: "goose", pattern: /^\s*(\d+\.\d+\.\d+\S*)\s*$/, install };

/**
 * goose as installed (GOOSE_PATH of the environment, else `goose` on its PATH), started for every trial in a separate
 * home and project. `name` is `<provider>/<model>`. It shows every definition, whatever the exposure. Throws a usage
 * error when the program is missing, for a provider that it cannot be recorded with, or for options that cannot work.
 */
export async function goose(id: string, name: string, options: HostOptions): Promise<HostModel> {
  const { env: given } = options;
  const { service, model } = parseName(id, name);
  if (options.effort !== undefined)
    throw usageError("goose does not pass an effort on to every model.", "Leave --effort out.");
  const provider = { name: "goose", efforts: [], ...services[service] };
  const endpoint = resolveHostEndpoint(options, provider);
  const env = { ...passEnvironment(given), [provider.keyVariable]: endpoint.apiKey };
  const { command, version } = await findProgram(given.GOOSE_PATH || "goose", program, env);
  const host = describeHost(service, model, endpoint.maxTokens);
  const reached = { ...endpoint, baseUrl: findHost(service, endpoint.baseUrl) };
  return createHostModel({ id, host, command, model, version: { goose: version }, endpoint: reached, env }, options);
}

type ServiceName = keyof typeof services;

function parseName(id: string, name: string): { service: ServiceName; model: string } {
  const [, service = "", model = ""] = /^([^/]*)\/(.+)$/.exec(name) ?? [];
  if (Object.hasOwn(services, service)) return { service: service as ServiceName, model };
  const known = Object.keys(services);
  const form = `Write goose:<provider>/<model>, with one of the providers ${known.join(" and ")}.`;
  const hint = [didYouMean(service || name, known, undefined), form].filter(Boolean).join(" ");
  const wrong = service === "" ? "has no provider" : `has the unknown provider "${service}"`;
  throw usageError(`The model id "${id}" ${wrong}.`, hint);
}

/** goose adds `v1` to the URL of OpenAI's API, and then chooses the API of each model as it does for users. */
function findHost(service: ServiceName, baseUrl: string): string {
  if (service !== "openai") return baseUrl;
  const host = /^(.*)\/v1\/?$/.exec(baseUrl)?.[1];
  if (host !== undefined) return host;
  throw usageError(`goose cannot use the base URL ${baseUrl}, which does not end with /v1.`, "Give one that does.");
}

/** Its own tools that only read. The others are denied: it has no sandbox. */
const readingTools = [
  ...["analyze", "extensionmanager__list_resources", "extensionmanager__read_resource", "load", "load_skill"],
  ...["extensionmanager__search_available_extensions", "read_image", "tree", "apps__list_apps"],
];
const deniedTools = [
  ...["apps__create_app", "apps__delete_app", "apps__iterate_app", "delegate", "edit", "shell", "write"],
  "extensionmanager__manage_extensions",
];

function describeHost(service: ServiceName, model: string, maxTokens: number): Host {
  return {
    name: "goose",
    wording: {
      searchTools: new Set(),
      skillTools: new Set(["load_skill"]),
      denial: /^The user has declined/,
      readRefusal: ({ text }) =>
        /^The user has declined to run this tool\./.exec(text)?.[0] ??
        /^Error: -32600: (Tool '.*' was not advertised for this model turn)/.exec(text)?.[1],
    },
    toServerName: (server) => server,
    toShownName: hostNames.goose,
    skillFolder: ".agents/skills",
    configFolders: /^\.(goose|agents|claude)$/i,
    hidesTools: false,
    // About 5,000 tokens, without project instructions.
    ownPromptTokens: 10_000,
    processBytes: 200 * 1024 * 1024,
    /** Writes the home of a trial. A tool that is neither permitted nor denied ends it: nobody can be asked. */
    async configure({ folder, servers, baseUrl, system, trial: { tools } }) {
      const home = join(folder.home, ".config/goose");
      await mkdir(home, { recursive: true });
      const extensions = [...servers].map(([name, uri]) => {
        return [name, { enabled: true, type: "streamable_http", name, description: name, uri, timeout: 300 }];
      });
      const config = stringify({ extensions: Object.fromEntries(extensions) });
      await writeFile(join(home, "config.yaml"), config, { mode: 0o600 });
      const tested = tools.map((tool) => hostNames.goose(tool.server || "tools", tool.name));
      const permissions = { always_allow: [...tested, ...readingTools], ask_before: [], never_allow: deniedTools };
      await writeFile(join(home, "permission.yaml"), stringify({ user: permissions }));
      return {
        args: [
          ...["run", "--instructions", "-", "--output-format", "stream-json", "--no-session"],
          ...(system === "" ? [] : ["--system", system]),
        ],
        env: {
          XDG_CONFIG_HOME: join(folder.home, ".config"),
          XDG_DATA_HOME: join(folder.home, ".local/share"),
          XDG_STATE_HOME: join(folder.home, ".local/state"),
          XDG_CACHE_HOME: join(folder.home, ".cache"),
          GOOSE_PROVIDER: service,
          GOOSE_MODEL: model,
          GOOSE_MODE: "approve",
          GOOSE_MAX_TOKENS: String(maxTokens),
          GOOSE_TELEMETRY_ENABLED: "false",
          GOOSE_DISABLE_KEYRING: "1",
          GOOSE_DISABLE_SESSION_NAMING: "true",
          [service === "openai" ? "OPENAI_HOST" : "ANTHROPIC_HOST"]: baseUrl,
        },
      };
    },
    readFailure: (output) => readEvents(output).findLast(({ type }) => type === "error")?.error as string | undefined,
  };
}
