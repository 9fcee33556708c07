import { usageError } from "../errors.ts";
import type { JsonObject } from "../types/json.ts";
import type { Prices } from "./prices.ts";
import type { Delay } from "./remote.ts";

/** How a model behind an interface is reached and asked; what is absent has the default that is named here. */
export type RemoteOptions = {
  /** The environment: keys and base URLs are looked up in it. */
  env: Readonly<Record<string, string | undefined>>;
  /** Default: the provider's variable in `env`, else its public address. */
  baseUrl?: string;
  /** The most output tokens of one reply. Default 4096: room for a call and the thinking before it. */
  maxTokens?: number;
  /** For one attempt, its whole body included. Default 120,000. */
  timeoutMs?: number;
  /** How often a transient fault is tried again. Default 4. */
  retries?: number;
  effort?: string;
  prices?: Prices;
  /** Called at most once for each thing that the user should know of. */
  warn?: (message: string) => void;
  /** How to wait between attempts; tests pass one that does not. */
  delay?: Delay;
};

/** What distinguishes one provider's settings from another's. */
type ProviderDefaults = {
  name: string;
  keyVariable: string;
  baseUrlVariable: string;
  baseUrl: string;
  efforts: readonly string[];
  maxTokensLimit: number;
};

type RemoteSettings = {
  apiKey: string;
  baseUrl: string;
  maxTokens: number;
  timeoutMs: number;
  retries: number;
  effort?: string;
  /** All of the above that goes on the record: not the key, nor credentials in the URL. */
  record: JsonObject;
};

/** Checks and completes the options. Throws a usage error before anything is asked. */
export function remoteSettings(options: RemoteOptions, provider: ProviderDefaults): RemoteSettings {
  const { env, effort } = options;
  const baseUrl = parsedUrl(options.baseUrl ?? (env[provider.baseUrlVariable] || provider.baseUrl), provider);
  const apiKey = env[provider.keyVariable] || (isLocal(baseUrl.hostname) ? "no-key-needed" : undefined);
  if (apiKey === undefined) {
    throw usageError(
      `the environment has no ${provider.keyVariable}, which ${baseUrl.host} needs`,
      `Set ${provider.keyVariable}, give the base URL of a local server (--base-url, or ${provider.baseUrlVariable}), or use the offline model: lexical.`,
    );
  }
  if (effort !== undefined && !provider.efforts.includes(effort)) {
    throw usageError(`${provider.name} has no effort "${effort}"`, `Use one of ${provider.efforts.join(", ")}.`);
  }
  const numbers = {
    maxTokens: whole("--max-tokens", options.maxTokens ?? 4096, 1, provider.maxTokensLimit),
    timeoutMs: whole("the time-out (ms)", options.timeoutMs ?? 120_000, 1, 3_600_000),
    retries: whole("--retries", options.retries ?? 4, 0, 20),
  };
  const shared = { ...numbers, ...(effort !== undefined && { effort }) };
  return { apiKey, baseUrl: baseUrl.href, ...shared, record: { baseUrl: shownUrl(baseUrl), ...shared } };
}

function parsedUrl(text: string, { name }: ProviderDefaults): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw usageError(`"${text}" is not a base URL for ${name}`, "Give a whole one, such as http://127.0.0.1:8080/v1.");
}

function shownUrl(url: URL): string {
  const shown = new URL(url);
  shown.username = "";
  shown.password = "";
  shown.search = "";
  return shown.href;
}

/** This machine or its own network: servers there seldom ask for a key. */
function isLocal(hostname: string): boolean {
  return (
    /^(localhost|\[::1\]|0\.0\.0\.0|host\.docker\.internal)$|\.(local|localhost|internal)$/.test(hostname) ||
    /^(127|10)\.\d+\.\d+\.\d+$|^192\.168\.\d+\.\d+$|^172\.(1[6-9]|2\d|3[01])\.\d+\.\d+$/.test(hostname)
  );
}

function whole(what: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw usageError(`${what} is ${value}`, `Give a whole number from ${least} to ${most}.`);
}
