import { join, resolve } from "node:path";
import * as z from "zod";
import type { HostOptions } from "../../asking/hosts/model.ts";
import type { CustomOptions } from "../../asking/models/custom.ts";
import type { LocalOptions } from "../../asking/models/local/local.ts";
import type { ReplayOptions } from "../../asking/models/replay.ts";
import { refuseAsJudge } from "../../asking/trials/judge.ts";
import { defined } from "../../base/collections.ts";
import { createFetch } from "../../base/network.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { nearest } from "../../base/text/nearest.ts";
import { isText } from "../../base/text/text.ts";
import {
  localServers,
  localUrl,
  type Prices,
  pricesSchema,
  priceUsage,
  resolveLocalUrl,
} from "../../base/types/endpoint.ts";
import { formatIssues, messageOf, printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { parseBoundedJson } from "../../base/types/json.ts";
import { type AskedModel, lexicalId, type Model, noUsage } from "../../base/types/model.ts";
import { readQuery } from "../../base/types/suite.ts";
import type { Cell, Cost } from "../../base/types/trial.ts";
import { readNamed } from "../../input/parsing/read.ts";
import { failToWrite } from "../../records/disk.ts";
import { findRecord, findRun } from "../../records/find.ts";
import { readManifest, readTrials } from "../../records/record.ts";
import { type ExposureOptions, parseExposures } from "./exposures.ts";
import { version } from "./version.ts";

/** How models are reached and asked. */
export type RequestOptions = {
  out: string;
  /** In dollars. */
  budget?: number | undefined;
  maxRequests?: number | undefined;
  /** In seconds. */
  maxTime?: number | undefined;
  baseUrl?: string | undefined;
  /** Further headers of requests, as `NAME=VALUE`. */
  header?: readonly string[] | undefined;
  maxTokens?: number | undefined;
  /** In seconds. */
  timeout?: number | undefined;
  retries?: number | undefined;
  effort?: string | undefined;
  free?: boolean | undefined;
  prices?: string | undefined;
  dryRun?: boolean | undefined;
  /** The queue whose workers make the requests, so that no key is needed here. */
  queue?: string | undefined;
  cache?: boolean | undefined;
  /** The folder with the cache; default: `out`. */
  cacheIn?: string | undefined;
} & Pick<ExposureOptions, "exposure">;

/** Opens the models with these ids, each once. Throws a usage error before any request. */
export async function openModels(ids: readonly string[], options: RequestOptions, io: Io): Promise<Model[]> {
  const toolSearch = options.exposure !== undefined && parseExposures(options.exposure).includes("search");
  const settings = { ...(await readModelOptions(options, io)), ...(toolSearch && { toolSearch }) };
  const opened = await Promise.all([...new Set(ids)].map((id) => openModel(id, settings)));
  // A model can have two names: "lexical" is the newest "lexical-<n>".
  const models = [...new Map(opened.map((model) => [model.id, model])).values()];
  if (options.budget !== undefined) for (const model of models) refuseUnpriced(model);
  return models;
}

/** Whether replies of a model are always reused: it repeats them anyway, and a language model takes time. */
const isRepeating = ({ deterministic, kind }: Model) => deterministic && kind === "language model";

/** The given seed; a random one; or 0 where replies or lists of earlier runs are found again only in equal orders. */
export function chooseSeed(
  models: readonly Model[],
  { seed, cache }: { seed?: number | undefined; cache?: boolean | undefined },
): number {
  const isFoundAgain = cache ?? models.every((model) => isRepeating(model) || model.keepsLists);
  return seed ?? (isFoundAgain ? 0 : Math.floor(Math.random() * 2 ** 31));
}

/** A function that adds the cache to a model that `--cache` or `--no-cache` is about. Warns if it has no effect. */
export async function addCache(
  models: readonly Model[],
  options: RequestOptions,
  io: Io,
): Promise<<M extends Model>(model: M) => M> {
  const { cache: isWanted } = options;
  if (isWanted === false || options.dryRun || !(isWanted || models.some(isRepeating))) return (model) => model;
  const { cacheFolder, cacheReplies, openReplyCache } = await import("../../asking/models/cache.ts");
  const { redact } = knownSecrets(io.env);
  const dir = join(resolve(io.cwd, options.cacheIn ?? options.out), cacheFolder);
  const cache = await openReplyCache(dir, redact).catch(failToWrite(dir));
  return <M extends Model>(model: M) => {
    if ("ask" in model && (isRepeating(model) || (isWanted && isCached(model))))
      return cacheReplies(model, cache, version) as M;
    if (!isWanted || model.kind !== "language model") return model;
    const message = `--cache has no effect on ${model.id}: only replies of model services are kept.`;
    printProblem(io)({ severity: "warning", message });
    return model;
  };
}

const isCached = ({ id }: Model) => /^(?:anthropic|openai|ai|ollama|lmstudio|llamacpp|vllm):/.test(id);

/** Opens the judge, if one is named. Throws a usage error if the model cannot judge. */
export async function openJudge(
  { judge, ...options }: RequestOptions & { judge?: string | undefined },
  io: Io,
): Promise<AskedModel | undefined> {
  if (judge === undefined) return undefined;
  const model = await openAskedModel(judge, await readModelOptions(options, io));
  refuseAsJudge(model);
  if (options.budget !== undefined) refuseUnpriced(model);
  return model;
}

/** Opens the model that writes queries or wordings. Throws a usage error if it is no language model. */
export async function openWriter(id: string, options: RequestOptions, io: Io): Promise<AskedModel> {
  const [model] = await openModels([id], { ...options, exposure: undefined }, io);
  if (model?.kind === "language model" && "ask" in model) return model;
  throw usageError(
    `${id} cannot be the writer: it is not a language model that answers single requests.`,
    "Name a language model, for example --writer anthropic:claude-opus-5-5.",
  );
}

async function readModelOptions(options: RequestOptions, io: Io): Promise<ModelOptions> {
  const { baseUrl, header: headers, maxTokens, timeout, retries, effort, budget: maxCostUsd } = options;
  const prices = options.prices === undefined ? undefined : readPrices(resolve(io.cwd, options.prices));
  const timeoutMs = timeout === undefined ? undefined : timeout * 1000;
  return {
    env: io.env,
    cwd: io.cwd,
    io,
    ...defined({ baseUrl, headers, maxTokens, timeoutMs, retries, effort, maxCostUsd, prices }),
    ...(options.free && { free: true }),
    ...(options.dryRun && { isDryRun: true }),
    ...(options.queue !== undefined && { isAskedElsewhere: true }),
    warn: (message: string) => printProblem(io)({ severity: "warning", message }),
    recorded: async (run: string) => {
      const out = resolve(io.cwd, options.out);
      // Any command may have written the record; `latest` is the latest of `evals run`.
      const dir = run === "latest" ? (await findRecord("run", run, out)).dir : await findRun(run, out);
      const { id, models, suites } = await readManifest(dir);
      const cases = new Map(suites.map(({ name, cases }) => [name, new Map(cases.map((one) => [one.id, one]))]));
      const queryOf = (cell: Cell) => {
        const one = cases.get(cell.suite)?.get(cell.case);
        return one && readQuery(one, cell.trial);
      };
      return { models, trials: readTrials(dir, id), queryOf };
    },
  };
}

const maxPricesBytes = 16 * 1024 * 1024;

function readPrices(file: string): Prices {
  const hint = "Give --prices the path of a JSON file.";
  const text = readNamed("The price list", file, { limit: maxPricesBytes, pipes: true, hint, location: { file } });
  try {
    return pricesSchema.parse(parseBoundedJson(text));
  } catch (error) {
    const isJson = error instanceof z.ZodError;
    const why = isJson ? `Not a price list: ${formatIssues(error)}` : `The price list is not JSON: ${messageOf(error)}`;
    throw usageError(`${why}.`, undefined, { file });
  }
}

/** A budget can only be kept where costs are known. */
function refuseUnpriced(model: Model): void {
  if (model.cost({ ...noUsage, inputTokens: 1, outputTokens: 1 }) !== "unknown") return;
  throw usageError(`--budget cannot be kept: the price of ${model.id} is unknown.`, "Give its price with --prices.");
}

/** The options of all providers; each reads those that it needs. */
export type ModelOptions = HostOptions & ReplayOptions & CustomOptions & LocalOptions;

/** How to open a model. `takes`: what may follow the provider in its id, after a colon; default: a name. */
type Provider = {
  example: string;
  takes?: "nothing" | "either";
  open(id: string, name: string, options: ModelOptions): Promise<Model>;
};

/** A server on this machine, at its usual port or `--base-url`. It never gets the key of a provider. */
function createLocal(server: keyof typeof localServers): Provider {
  return {
    example: `${server}:<name>`,
    open: async (id, name, options) => {
      const own = { ...options, isKeyless: true, baseUrl: resolveLocalUrl(server, options) };
      const model = (await import("../../asking/models/openai.ts")).openai(id, name, own);
      const { readContextWindow } = await import("../../asking/models/contextWindow.ts");
      return { ...model, readContextWindow: (signal) => readContextWindow(server, name, own, signal) };
    },
  };
}

/** All providers. Each is loaded on first use: an SDK takes longer to load than most runs. */
const providers = {
  lexical: {
    example: "lexical",
    takes: "nothing",
    open: async () => (await import("../../asking/models/lexical.ts")).lexical(),
  },
  anthropic: {
    example: "anthropic:claude-sonnet-5-5",
    open: async (...args) => (await import("../../asking/models/anthropic.ts")).anthropic(...args),
  },
  openai: {
    example: "openai:gpt-5",
    open: async (id, name, options) =>
      options.toolSearch
        ? (await import("../../asking/models/openaiResponses.ts")).openaiResponses(id, name, options)
        : (await import("../../asking/models/openai.ts")).openai(id, name, options),
  },
  ai: {
    example: "ai:<package>/<model>",
    open: async (...args) => (await import("../../asking/models/aiSdk.ts")).aiSdk(...args),
  },
  ollama: createLocal("ollama"),
  lmstudio: createLocal("lmstudio"),
  llamacpp: createLocal("llamacpp"),
  vllm: createLocal("vllm"),
  local: {
    example: "local or local:<name, file.gguf or hf:user/repo:quant>",
    takes: "either",
    open: async (...args) => (await import("../../asking/models/local/local.ts")).local(...args),
  },
  "claude-code": {
    example: "claude-code or claude-code:claude-sonnet-5-5",
    takes: "either",
    open: async (...args) => (await import("../../asking/hosts/claudeCode.ts")).claudeCode(...args),
  },
  codex: {
    example: "codex:gpt-6.1-sol",
    open: async (...args) => (await import("../../asking/hosts/codex.ts")).codex(...args),
  },
  copilot: {
    example: "copilot:claude-sonnet-5-5",
    open: async (...args) => (await import("../../asking/hosts/copilot.ts")).copilot(...args),
  },
  goose: {
    example: "goose:anthropic/claude-sonnet-5-5",
    open: async (...args) => (await import("../../asking/hosts/goose.ts")).goose(...args),
  },
  replay: {
    example: "replay:<run> or replay:<run>#<model>",
    open: async (...args) => (await import("../../asking/models/replay.ts")).replay(...args),
  },
  custom: {
    example: "custom:<file>",
    open: async (...args) => (await import("../../asking/models/custom.ts")).custom(...args),
  },
} as const satisfies Record<string, Provider>;

type ProviderName = keyof typeof providers;

/** Opens the model `<provider>` or `<provider>:<name>`. Throws a usage error, such as for a missing key. */
export async function openModel(id: string, options: ModelOptions): Promise<Model> {
  if (id === lexicalId) return openModel("lexical", options);
  const colon = id.indexOf(":");
  const provider = colon < 0 ? id : id.slice(0, colon);
  const name = colon < 0 ? "" : id.slice(colon + 1);
  if (!isProvider(provider)) throw await unknownProvider(id, provider, options);
  const { takes, example, open }: Provider = providers[provider];
  const isNameless = name === "" && (takes === undefined || (takes === "either" && colon >= 0));
  if (isNameless) throw usageError(`The model id "${id}" has no model name.`, `Write ${example}.`);
  if (takes === "nothing" && colon >= 0) {
    throw usageError(`The model id "${id}" has a name, but "${provider}" takes none.`, `Write ${example}.`);
  }
  return open(id, name, options);
}

/** Opens a model that answers single requests, as a judge must. Throws a usage error for a host. */
export async function openAskedModel(id: string, options: ModelOptions): Promise<AskedModel> {
  const model = await openModel(id, options);
  if ("ask" in model) return model;
  throw usageError(
    `"${id}" is a host, which cannot answer single requests.`,
    "Name a language model, for example anthropic:claude-sonnet-5-5.",
  );
}

function isProvider(name: string): name is ProviderName {
  return Object.hasOwn(providers, name);
}

async function unknownProvider(id: string, provider: string, { env }: ModelOptions) {
  const known = Object.values(providers).map(({ example }) => example);
  const near = nearest(provider, Object.keys(providers));
  const meant = guessModel(id) ?? (near && near + id.slice(provider.length));
  return usageError(
    `Unknown model "${id}".`,
    `${meant ? `Did you mean "${meant}"? ` : ""}Use one of: ${known.join(", ")}. ${await describeAvailable(env)}`,
  );
}

/** Guesses the intended id from a bare model name, or one with another separator; undefined without a guess. */
function guessModel(id: string): string | undefined {
  const [, prefix = "", name = id] = /^([a-z]+)[/:](.+)$/i.exec(id) ?? [];
  const vendor = prefix.toLowerCase();
  if (/^(google|mistral|azure|bedrock|cohere|groq|xai)$/.test(vendor))
    return `ai:${vendor.replace("bedrock", "amazon-bedrock")}/${name}`;
  if (isProvider(vendor)) return `${vendor}:${name}`;
  if (/^claude-(?!cod)|^(opus|sonnet|haiku|fable)\b/i.test(name) && /^(|claude)$/.test(vendor))
    return `anthropic:${/^claude-/i.test(name) ? name : `claude-${name}`}`;
  if (/^(gpt|o\d|chatgpt|codex)\b/i.test(name) && /^(|gpt)$/.test(vendor)) return `openai:${name}`;
  // Open models are served through the same API, usually on this machine.
  const open = /^(llama|qwen|mistral|mixtral|gemma|phi|deepseek|glm|kimi|grok|gemini|command|granite|olmo)/i;
  return open.test(name) ? `ollama:${name}` : undefined;
}

/** A model that can be asked right away: the flags that name it, why it is offered, and what the run costs. */
export type OfferedModel = { flags: string; reason: string; costUsd: Cost };

/** The model of each provider that is asked if its key is set; the first is suggested if none is. */
const byKey = [
  { key: "ANTHROPIC_API_KEY", provider: "anthropic", model: "claude-haiku-5-5" },
  { key: "OPENAI_API_KEY", provider: "openai", model: "gpt-5" },
] as const;

/** The id of a model whose key is in the environment; undefined if there is none. */
export function findKeyedModel(env: Io["env"]): string | undefined {
  const found = byKey.find(({ key }) => env[key]);
  return found && `${found.provider}:${found.model}`;
}

/** Keys of providers whose packages of the AI SDK can be installed, by the names of the packages. */
const packageKeys = {
  google: "GOOGLE_GENERATIVE_AI_API_KEY",
  mistral: "MISTRAL_API_KEY",
  groq: "GROQ_API_KEY",
  xai: "XAI_API_KEY",
  cohere: "COHERE_API_KEY",
  azure: "AZURE_API_KEY",
  "amazon-bedrock": "AWS_BEARER_TOKEN_BEDROCK",
} as const;

/** The keys in the environment and the local servers that answer, each with the flags that use it, as one sentence. */
export async function describeAvailable(env: Io["env"], local = findLocalModels(new AbortController().signal)) {
  const ofPackages = Object.entries(packageKeys).flatMap(([name, key]) => {
    return env[key] ? [{ flags: `-m ai:${name}/<model>`, reason: `${key} is set` }] : [];
  });
  const byKeys = offerProviders({ trials: 0, listTokens: 0 }, env).filter(({ isSet }) => isSet);
  const found = [...byKeys, ...ofPackages, ...(await local)].map(({ flags, reason }) => `${reason} (${flags})`);
  return found.length === 0 ? "No API key is set, and no local model server runs." : `Found: ${found.join(", ")}.`;
}

const noChat = /embed|rerank|whisper|tts|clip/i;

/** The models of providers, with the cost of trials of one reply each; `isSet`: its key is in the environment. */
export function offerProviders({ trials, listTokens }: { trials: number; listTokens: number }, env: Io["env"]) {
  const usage = { ...noUsage, inputTokens: listTokens + 100, outputTokens: 150 };
  return byKey.map(({ key, provider, model }) => {
    const each = priceUsage(usage, model);
    const costUsd: Cost = each === "unknown" || trials === 0 ? "unknown" : trials * each;
    return { flags: `-m ${provider}:${model}`, reason: `${key} is set`, costUsd, isSet: Boolean(env[key]) };
  });
}

/** The first model of each local server that answers in time. */
export async function findLocalModels(
  signal: AbortSignal,
  servers: Readonly<Record<string, { name: string; port: number }>> = localServers,
  timeoutMs = 300,
): Promise<OfferedModel[]> {
  const found = Object.entries(servers).map(async ([provider, { name, port }]): Promise<OfferedModel[]> => {
    try {
      // Without the environment, so that no proxy is asked for an address of this machine.
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const response = await createFetch({})(`${localUrl(port)}/models`, { signal: limit });
      const { data } = (await response.json()) as { data: { id: string }[] };
      const model = data.find(({ id }) => isText(id) && /^[\w./:@-]{1,100}$/.test(id) && !noChat.test(id))?.id;
      return model === undefined
        ? []
        : [{ flags: `-m ${provider}:${model}`, reason: `${name} runs on this machine`, costUsd: 0 }];
    } catch {
      // Nothing listens, or it is no model server.
      return [];
    }
  });
  return (await Promise.all(found)).flat();
}
