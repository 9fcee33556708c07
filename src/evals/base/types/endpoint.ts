import * as z from "zod";
import { isSecretName } from "../secrets/recognize.ts";
import { decodePercent, knownSecrets } from "../secrets/secrets.ts";
import { usageError } from "./errors.ts";
import type { JsonObject } from "./json.ts";
import type { Cost, Usage } from "./trial.ts";

/** Waits for this time in ms, or until the signal aborts. Does not reject. */
export type Delay = (ms: number, signal: AbortSignal) => Promise<void>;

/** How a model service is reached and used. The comments name the default of an absent option. */
export type EndpointOptions = {
  /** The environment, with API keys and base URLs. */
  env: Readonly<Record<string, string | undefined>>;
  /** Default: the provider's variable in `env`, else its public address. */
  baseUrl?: string;
  /** Further headers of every request, each as `NAME=VALUE`; `$VARIABLE` in a value is read from `env`. */
  headers?: readonly string[];
  /** Set for a server that must not get the key of the provider, and needs none. */
  isKeyless?: boolean;
  /** Maximum output tokens per reply. Default 4096: room for a call and the thinking before it. */
  maxTokens?: number;
  /** Limit for one attempt, including its whole body. Default 120,000. */
  timeoutMs?: number;
  /** Maximum retries for transient errors. Default 4. */
  retries?: number;
  effort?: string;
  /** Whether the tool search of the API will be used, which a provider may have in only one of its APIs. */
  toolSearch?: boolean;
  prices?: Prices;
  /** Set if no request will be made, so that a missing key is only a warning. */
  isDryRun?: boolean;
  /** Set if requests are made by other processes, which have the key. */
  isAskedElsewhere?: boolean;
  /** Called at most once per warning. */
  warn?: (message: string) => void;
  /** Waits between attempts; tests replace it. */
  delay?: Delay;
};

/** Servers of open models, all with OpenAI's API: their names, and their ports by default. */
export const localServers = {
  ollama: { name: "Ollama", port: 11434 },
  lmstudio: { name: "LM Studio", port: 1234 },
  llamacpp: { name: "llama.cpp", port: 8080 },
  vllm: { name: "vLLM", port: 8000 },
} as const;

/** The services of the largest providers, with their defaults and the most tokens of a reply. */
export const services = {
  anthropic: {
    keyVariable: "ANTHROPIC_API_KEY",
    baseUrlVariable: "ANTHROPIC_BASE_URL",
    baseUrl: "https://api.anthropic.com",
    maxTokensLimit: 128_000,
  },
  openai: {
    keyVariable: "OPENAI_API_KEY",
    baseUrlVariable: "OPENAI_BASE_URL",
    baseUrl: "https://api.openai.com/v1",
    maxTokensLimit: 128_000,
  },
} as const;

/** Whether a model is asked on such a server, or runs on this machine, by its id. */
export const isLocalModel = ({ id }: { id: string }): boolean =>
  Object.hasOwn({ ...localServers, local: true }, id.split(":", 1)[0] ?? "");

/** The base URL of a local server at its port by default. */
export const localUrl = (port: number): string => `http://127.0.0.1:${port}/v1`;

/** The base URL of a local server: the given one, whatever path it has, that of OLLAMA_HOST, or the default. */
export function resolveLocalUrl(server: keyof typeof localServers, { env, baseUrl }: EndpointOptions): string {
  const ollamaHost = server === "ollama" && env.OLLAMA_HOST ? readOllamaHost(env.OLLAMA_HOST) : undefined;
  const written = baseUrl ?? ollamaHost ?? localUrl(localServers[server].port);
  if (!URL.canParse(written)) return written;
  const url = new URL(written);
  url.pathname = url.pathname.replace(/(?:\/v1(?:\/chat\/completions)?|\/api(?:\/(?:v\d|chat|generate))?)?\/*$/, "/v1");
  return url.href;
}

/**
 * The URL that OLLAMA_HOST means to a client of Ollama: scheme, host and port can be missing, and the address can be
 * the one on which a server listens for all. Source: `Host` in envconfig of Ollama.
 */
function readOllamaHost(written: string): string {
  const [, scheme, rest = ""] = /^(?:(https?):\/\/)?(.*)$/.exec(written.trim().replace(/^["']|["']$/g, "")) ?? [];
  const [, given = "", path = ""] = /^([^/]*)(.*)$/.exec(rest) ?? [];
  const authority = /^[^[@]*:[^@]*:/.test(given) ? `[${given}]` : given;
  const host = authority.replace(/^(?:0\.0\.0\.0|\[::\])?(?=:\d|$)/, "127.0.0.1");
  const port = scheme === undefined && !/:\d+$/.test(host) ? `:${localServers.ollama.port}` : "";
  return `${scheme ?? "http"}://${host}${port}${path}`;
}

type ProviderDefaults = {
  name: string;
  keyVariable: string;
  baseUrlVariable: string;
  baseUrl: string;
  efforts: readonly string[];
  maxTokensLimit: number;
};

type Limits = { maxTokens: number; timeoutMs: number; retries: number };

type Endpoint = Limits & {
  apiKey: string;
  /** The variable or the flag that gives the credentials. */
  credentials: string;
  baseUrl: string;
  /** The query of every request, with its question mark; empty without one. */
  search: string;
  /** Those of the user; null for a header of the SDK that must not be sent, since the user's hold the credentials. */
  headers: Record<string, string | null>;
  effort?: string;
  /** The settings to record: neither the key nor credentials in the URL. */
  record: JsonObject;
};

/** Checks the options and fills in defaults. Throws a usage error. */
export function resolveEndpoint(options: EndpointOptions, provider: ProviderDefaults): Endpoint {
  const { env, effort } = options;
  const written = options.baseUrl ?? (env[provider.baseUrlVariable] || provider.baseUrl);
  const { url: baseUrl, search, headers } = parseBaseUrl(written, provider);
  const given = readHeaders(options.headers, env);
  const own = { ...headers, ...given };
  const key = options.isKeyless ? undefined : env[provider.keyVariable];
  const hasCredentials = Object.keys(own).some(isSecretName);
  const isKeyless = options.isKeyless || hasCredentials || isLocal(baseUrl.hostname);
  const apiKey = key || (isKeyless ? "no-key-needed" : undefined);
  const lack = `${baseUrl.host} needs an API key, but ${provider.keyVariable} is not set.`;
  if (apiKey === undefined && options.isDryRun) options.warn?.(`${lack} A dry run needs none.`);
  if (apiKey === undefined && !options.isDryRun && !options.isAskedElsewhere) {
    const local = `use a local server (--base-url or ${provider.baseUrlVariable}), -m ollama:<model> or -m local`;
    throw usageError(lack, `Set ${provider.keyVariable}, or, without a key, ${local}.`);
  }
  if (effort !== undefined && !provider.efforts.includes(effort)) {
    throw usageError(`Unknown effort "${effort}" for ${provider.name}.`, `Use one of: ${provider.efforts.join(", ")}.`);
  }
  const limits = resolveLimits(options, provider.maxTokensLimit);
  const secrets = knownSecrets(env);
  secrets.addUrl(provider.baseUrlVariable, written);
  if (headers.authorization) secrets.add(provider.baseUrlVariable, headers.authorization.slice("Basic ".length));
  if (key) secrets.add(provider.keyVariable, key);
  const shared = { ...limits, ...(effort !== undefined && { effort }) };
  // A gateway that holds the key of the provider gets its own credentials alone; user and password of a URL are for a
  // proxy before it.
  const isReplaced = key ? Object.keys(given).some((name) => credentialHeaders.includes(name)) : hasCredentials;
  const replaced = isReplaced ? Object.fromEntries(credentialHeaders.map((name) => [name, null])) : {};
  return {
    apiKey: apiKey ?? "dry-run",
    credentials: hasCredentials || options.isKeyless ? "--header" : provider.keyVariable,
    baseUrl: baseUrl.href,
    search,
    headers: { ...replaced, ...own },
    ...shared,
    record: { baseUrl: withoutSecrets(baseUrl), ...shared },
  };
}

/** The limits of requests, with their defaults. `maxTokensLimit`: of the service. Throws a usage error. */
export function resolveLimits({ maxTokens, timeoutMs, retries }: EndpointOptions, maxTokensLimit: number): Limits {
  return {
    maxTokens: checkInteger("--max-tokens", maxTokens ?? 4096, 1, maxTokensLimit),
    timeoutMs: checkInteger("The timeout in ms", timeoutMs ?? 120_000, 1, 3_600_000),
    retries: checkInteger("--retries", retries ?? 4, 0, 20),
  };
}

/** Headers in which services and gateways take a key. */
const credentialHeaders = ["authorization", "x-api-key", "api-key"];

/** Headers in lower case from `NAME=VALUE` or `NAME: VALUE`, filled in from `env`. They count as secrets. */
export function readHeaders(written: readonly string[] = [], env: EndpointOptions["env"]): Record<string, string> {
  const headers = written.map((text): [string, string] => {
    const [, name, template] = /^([\w!#$%&'*+.^`|~-]+)\s*[=:]\s*(.+)$/s.exec(text.trim()) ?? [];
    if (name === undefined || template === undefined)
      throw usageError("A header is not written as NAME=VALUE.", "Write, for example, --header 'X-Team=search'.");
    const value = template.replace(/\$(?:\{(\w+)\}|([A-Za-z_]\w*))/g, (_, braced?: string, bare?: string) => {
      const variable = braced ?? bare ?? "";
      const found = env[variable];
      if (found === undefined || found === "")
        throw usageError(`The header ${name} needs the variable ${variable}, which is not set.`, `Set ${variable}.`);
      return found;
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what HTTP forbids in a value
    if (/[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]/.test(value))
      throw usageError(`The value of the header ${name} has a character that HTTP does not take.`, "Remove it.");
    knownSecrets(env).add(name, value.replace(/^(?:Bearer|Basic)\s+/i, ""));
    return [name.toLowerCase(), value];
  });
  return Object.fromEntries(headers);
}

/**
 * The base URL in `text`, of a service with this name, as the SDKs take it: without the path that they append, which
 * users copy too, and without a version that the service's own base URL does not have. Its query comes apart, and user
 * and password as a header, as in curl. Throws a usage error.
 */
export function parseBaseUrl(text: string, { name, baseUrl = "/v1" }: { name: string; baseUrl?: string }) {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const complete = /^[\w.-]+(?::\d+)?(?:\/.*)?$/.test(text) ? `http://${text}` : undefined;
  const hint = `Give a complete URL, for example ${complete ?? "http://127.0.0.1:8080/v1"}.`;
  if (!url || !/^https?:$/.test(url.protocol) || /[<>{}]/.test(text))
    throw usageError(`"${text.replace(/[^/@]*@/, "")}" is not a valid base URL for ${name}.`, hint);
  const { search, username, password } = url;
  const path = url.pathname.replace(/(?:(?<=\/v\d)\/models|(?:\/chat)?\/(?:completions|responses|messages))?\/*$/, "");
  const credentials = [username, password].map(decodePercent).join(":");
  return {
    url: new URL(url.origin + (baseUrl.endsWith("/v1") ? path : path.replace(/\/v1$/, ""))),
    search,
    headers:
      username + password === "" ? {} : { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
  };
}

/** The URL of a request with the query of its service. */
export function addSearch(url: string, search: string): string {
  const target = new URL(url);
  for (const [key, value] of new URLSearchParams(search)) target.searchParams.set(key, value);
  return target.href;
}

/** The URL without user, password and query. */
export function withoutSecrets(url: URL | string): string {
  if (!URL.canParse(String(url))) return String(url);
  return Object.assign(new URL(url), { username: "", password: "", search: "" }).href;
}

/** This machine or its private network: servers there rarely need a key. */
export function isLocal(hostname: string): boolean {
  return (
    /^[^.:]+$|^0\.0\.0\.0$|\.(local|localhost|internal|lan|home\.arpa|ts\.net)$|^\[(::1\]|f[cd]|fe80:)/.test(
      hostname,
    ) ||
    /^(127|10)\.\d+\.\d+\.\d+$|^192\.168\.\d+\.\d+$|^172\.(1[6-9]|2\d|3[01])\.\d+\.\d+$/.test(hostname) ||
    /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+$/.test(hostname)
  );
}

function checkInteger(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw usageError(`${name} is ${value}, not an integer from ${min} to ${max}.`, `Give a value from ${min} to ${max}.`);
}

const dollars = z.number().min(0);

const priceSchema = z.strictObject({
  input: dollars.describe("US dollars per million input tokens"),
  output: dollars.describe("US dollars per million output tokens"),
  cacheRead: dollars.optional().describe("per million tokens read from the prompt cache; default 0.1 x input"),
  cacheWrite: dollars
    .optional()
    .describe("per million tokens written to the cache; default 1.25 x input (kept 5 minutes)"),
  batch: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe("what a request in a batch costs, as a share of these prices; default 0.5"),
  above: z
    .strictObject({ promptTokens: z.number().int().min(1), input: dollars, output: dollars })
    .optional()
    .describe("prices of a request whose prompt, including cached tokens, is longer than this"),
});
type Price = z.infer<typeof priceSchema>;

/** Prices given by the user: model name -> price. They take precedence over the built-in list. */
export const pricesSchema = z.record(z.string().min(1), priceSchema);
export type Prices = z.infer<typeof pricesSchema>;

/** List prices of the Anthropic API, November 2026. */
const listPrices: Prices = {
  "claude-fable-5-1": { input: 10, output: 50 },
  "claude-opus-5-5": { input: 4, output: 20 },
  "claude-sonnet-5-5": { input: 2, output: 10 },
  "claude-haiku-5-5": { input: 0.1, output: 0.5, above: { promptTokens: 100_000, input: 0.5, output: 2.5 } },
};

const datedSuffix = /^[-@](latest|\d{8}|\d{4}-\d{2}-\d{2})$/;

/** Finds the price of a model by its name, with or without a date; never that of a model with a similar name. */
function findPrice(prices: Prices, model: string): Price | undefined {
  const dated = Object.keys(prices).filter((key) => model.startsWith(key));
  const name = dated.find((key) => model === key || datedSuffix.test(model.slice(key.length)));
  return name === undefined ? undefined : prices[name];
}

/**
 * The cost of one request in US dollars at list price, or "unknown" when the model has no known price. Several requests
 * must be priced one by one: a longer prompt may have another price. `by`: it was asked in a batch.
 */
export function priceUsage(usage: Usage, model: string, custom: Prices = {}, by?: "batch"): Cost {
  const price = findPrice(custom, model) ?? findPrice(listPrices, model);
  if (!price) return "unknown";
  const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const tier = price.above && prompt > price.above.promptTokens ? price.above : price;
  // Cache prices scale with the input price of the tier.
  const scale = price.input > 0 ? tier.input / price.input : 1;
  const read = (price.cacheRead ?? 0.1 * price.input) * scale;
  const write = (price.cacheWrite ?? 1.25 * price.input) * scale;
  const millionths =
    usage.inputTokens * tier.input +
    usage.outputTokens * tier.output +
    usage.cacheReadTokens * read +
    usage.cacheWriteTokens * write;
  return (millionths / 1_000_000) * (by === "batch" ? (price.batch ?? 0.5) : 1);
}
