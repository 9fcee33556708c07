import { usageError } from "../errors.ts";
import type { JsonObject } from "./json.ts";
import type { Prices } from "./prices.ts";

/** Waits that long, or until the signal aborts. Does not reject. */
export type Delay = (ms: number, signal: AbortSignal) => Promise<void>;

/** How a model service is reached and used. Absent options have the default named here. */
export type EndpointOptions = {
  /** The environment, with API keys and base URLs. */
  env: Readonly<Record<string, string | undefined>>;
  /** Default: the provider's variable in `env`, else its public address. */
  baseUrl?: string;
  /** Maximum output tokens per reply. Default 4096: room for a call and the thinking before it. */
  maxTokens?: number;
  /** Limit for one attempt, including its whole body. Default 120,000. */
  timeoutMs?: number;
  /** Maximum retries for transient errors. Default 4. */
  retries?: number;
  effort?: string;
  prices?: Prices;
  /** Called at most once for each thing the user should know. */
  warn?: (message: string) => void;
  /** Waits between attempts; tests replace it. */
  delay?: Delay;
};

/** The names, defaults and limits of one provider. */
type ProviderDefaults = {
  name: string;
  keyVariable: string;
  baseUrlVariable: string;
  baseUrl: string;
  efforts: readonly string[];
  maxTokensLimit: number;
};

type Endpoint = {
  apiKey: string;
  baseUrl: string;
  maxTokens: number;
  timeoutMs: number;
  retries: number;
  effort?: string;
  /** What is recorded of the above: not the key, nor credentials in the URL. */
  record: JsonObject;
};

/** Checks the options and fills in defaults. Throws a usage error. */
export function resolveEndpoint(options: EndpointOptions, provider: ProviderDefaults): Endpoint {
  const { env, effort } = options;
  const baseUrl = parseBaseUrl(options.baseUrl ?? (env[provider.baseUrlVariable] || provider.baseUrl), provider);
  const apiKey = env[provider.keyVariable] || (isLocal(baseUrl.hostname) ? "no-key-needed" : undefined);
  if (apiKey === undefined) {
    throw usageError(
      `${baseUrl.host} needs an API key, but ${provider.keyVariable} is not set.`,
      `Set ${provider.keyVariable}, use a local server (--base-url or ${provider.baseUrlVariable}), or use the offline model "lexical".`,
    );
  }
  if (effort !== undefined && !provider.efforts.includes(effort)) {
    throw usageError(`Unknown effort "${effort}" for ${provider.name}.`, `Use one of: ${provider.efforts.join(", ")}.`);
  }
  const numbers = {
    maxTokens: checkInteger("--max-tokens", options.maxTokens ?? 4096, 1, provider.maxTokensLimit),
    timeoutMs: checkInteger("The timeout in ms", options.timeoutMs ?? 120_000, 1, 3_600_000),
    retries: checkInteger("--retries", options.retries ?? 4, 0, 20),
  };
  const shared = { ...numbers, ...(effort !== undefined && { effort }) };
  return { apiKey, baseUrl: baseUrl.href, ...shared, record: { baseUrl: withoutSecrets(baseUrl), ...shared } };
}

function parseBaseUrl(text: string, { name }: ProviderDefaults): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw usageError(
    `"${text}" is not a valid base URL for ${name}.`,
    "Give a complete URL, for example http://127.0.0.1:8080/v1.",
  );
}

function withoutSecrets(url: URL): string {
  const shown = new URL(url);
  shown.username = "";
  shown.password = "";
  shown.search = "";
  return shown.href;
}

/** This machine or its private network: servers there rarely need a key. */
function isLocal(hostname: string): boolean {
  return (
    /^(localhost|\[::1\]|0\.0\.0\.0|host\.docker\.internal)$|\.(local|localhost|internal)$/.test(hostname) ||
    /^(127|10)\.\d+\.\d+\.\d+$|^192\.168\.\d+\.\d+$|^172\.(1[6-9]|2\d|3[01])\.\d+\.\d+$/.test(hostname)
  );
}

function checkInteger(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw usageError(`${name} is ${value}, not an integer from ${min} to ${max}.`, `Give a value from ${min} to ${max}.`);
}
