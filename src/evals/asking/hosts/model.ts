import { availableParallelism, totalmem } from "node:os";
import { openFetch } from "../../base/network.ts";
import { type EndpointOptions, priceUsage, resolveEndpoint } from "../../base/types/endpoint.ts";
import type { HostModel } from "../../base/types/model.ts";
import { broken } from "../../base/types/trial.ts";
import type { Host } from "./host.ts";
import { startPassThrough } from "./passThrough.ts";
import { startRelay } from "./relay.ts";
import { converse } from "./run.ts";

export type HostOptions = EndpointOptions & {
  /** Maximum concurrent processes of a host. Default: as many as memory and processors allow. */
  hostProcesses?: number;
  /** Maximum cost of a trial in US dollars. */
  maxCostUsd?: number;
};

/** The endpoint of a host, whose timeout is for a whole trial. `mostTokens`: per reply. Throws a usage error. */
export function resolveHostEndpoint(
  options: EndpointOptions,
  provider: Parameters<typeof resolveEndpoint>[1],
  mostTokens = 32_000,
): HostEndpoint {
  const { timeoutMs = 300_000, maxTokens = mostTokens } = options;
  return resolveEndpoint({ ...options, timeoutMs, maxTokens }, provider);
}
export type HostEndpoint = ReturnType<typeof resolveEndpoint>;

/** A host as a model. `model` is empty for the host's default. */
type HostFacts = {
  id: string;
  host: Host;
  command: string;
  model: string;
  /** The recorded settings of the host: its version, under its name. */
  version: Readonly<Record<string, string>>;
  endpoint: HostEndpoint;
  env: Readonly<Record<string, string>>;
};

/** A host as a model under test: its trials share one relay of tool servers and one pass-through to the provider. */
export async function createHostModel(facts: HostFacts, options: HostOptions): Promise<HostModel> {
  const { id, host, command, model, version, endpoint, env } = facts;
  const acquire = createSlots(options.hostProcesses ?? countProcesses(host.processBytes));
  const setup = {
    host,
    command,
    env,
    timeoutMs: endpoint.timeoutMs,
    retries: endpoint.retries,
    upstream: endpoint.baseUrl + endpoint.search,
    relay: await startRelay(),
    passThrough: await startPassThrough(openFetch(options.env), endpoint.headers),
    ...(options.maxCostUsd !== undefined && { maxCostUsd: options.maxCostUsd }),
    cost: (...[usage, name]: Parameters<typeof priceUsage>) => priceUsage(usage, name, options.prices),
  };
  return {
    id,
    kind: "language model",
    note: "a host with its own system prompt, skills and limits: not comparable with the model alone",
    settings: { ...endpoint.record, ...version, model: model || "the host's default" },
    maxOutputTokens: endpoint.maxTokens,
    ownPromptTokens: host.ownPromptTokens,
    exposures: ["host", "all"],
    ...(host.writesFiles && { writesFiles: true }),
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
    cost: (usage) => priceUsage(usage, model, options.prices),
  };
}

/**
 * A semaphore, first come, first served. Resolves with the function that frees the slot, which is safe to call twice;
 * undefined if aborted.
 */
export function createSlots(count: number): (signal: AbortSignal) => Promise<(() => void) | undefined> {
  let free = count;
  // In the order of their arrival.
  const waiting = new Set<() => void>();
  return (signal) =>
    new Promise((resolve) => {
      let isHeld = true;
      const release = () => {
        const [next] = waiting;
        if (isHeld && next) next();
        else if (isHeld) free++;
        isHeld = false;
      };
      const end = (result?: () => void) => {
        waiting.delete(start);
        signal.removeEventListener("abort", abort);
        resolve(result);
      };
      const abort = () => end();
      const start = () => end(release);
      if (signal.aborted) return abort();
      waiting.add(start);
      signal.addEventListener("abort", abort, { once: true });
      if (free === 0) return;
      free--;
      start();
    });
}

/** How many processes of `bytes` of memory fit: at most two per processor, because they mostly wait for the model. */
function countProcesses(bytes: number): number {
  // macOS counts file caches as used memory, although it frees them for a process.
  const free = process.platform === "darwin" ? totalmem() / 2 : process.availableMemory();
  return Math.max(1, Math.min(Math.floor(free / bytes), 2 * availableParallelism()));
}
