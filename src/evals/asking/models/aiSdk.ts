import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as z from "zod";
import { abortAfter, type Fetch } from "../../base/network.ts";
import { isSecretName } from "../../base/secrets/recognize.ts";
import {
  addSearch,
  type EndpointOptions,
  isLocal,
  parseBaseUrl,
  priceUsage,
  readHeaders,
  resolveLimits,
} from "../../base/types/endpoint.ts";
import { EvalsError, messageOf, usageError } from "../../base/types/errors.ts";
import { isJsonObject, type Json, parseJsonText } from "../../base/types/json.ts";
import { type AskedModel, type Fault, type Message, permanentFault } from "../../base/types/model.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Call } from "../../base/types/trial.ts";
import {
  anyJson,
  count,
  listOf,
  maybe,
  type ReceivedReply,
  readArguments,
  readFinish,
  text,
  toUsage,
  unreadableReply,
} from "../protocols/protocol.ts";
import { createServiceFetch, readRefusal } from "../protocols/refusals.ts";
import { askRemote, createLimits, nameRefused, toAttempt, toFault, withoutRefusedForm } from "./remote.ts";
import { createToolCache } from "./wireNames.ts";

export type AiSdkOptions = EndpointOptions & { cwd?: string };

/**
 * A model of a provider package of the AI SDK, `ai:<package>/<model>`, which the user has installed. `ai:google/…`
 * stands for `ai:@ai-sdk/google/…`. Packages for versions 5 to 7 of the AI SDK are supported (its specifications v2, v3
 * and v4). Throws a usage error for a package that is missing or no such provider, or lacks its key.
 */
export async function aiSdk(id: string, name: string, options: AiSdkOptions): Promise<AskedModel> {
  const { env } = options;
  const { maxTokens, timeoutMs, retries } = resolveLimits(options, 1_000_000);
  const { packageName, modelName, createProvider } = await importProvider(id, name, options.cwd ?? ".");
  const base = options.baseUrl === undefined ? undefined : parseBaseUrl(options.baseUrl, { name: packageName });
  const settings = {
    // The provider of endpoints that are compatible with OpenAI's has no name of its own.
    name: "endpoint",
    ...(base && { baseURL: base.url.href }),
    headers: { ...base?.headers, ...readHeaders(options.headers, env) },
    fetch: createWebFetch(env, base?.search ?? ""),
  };
  const isKeyless = Object.keys(settings.headers).some(isSecretName) || (base && isLocal(base.url.hostname));
  const create = async (more: object) => {
    // A package that is no provider may give a promise, whose rejection would end the process.
    const provider = await createProvider({ ...settings, ...more });
    const named = typeof provider === "function" ? provider : provider?.languageModel;
    if (named) return named.call(provider, modelName);
    throw usageError(`${packageName} is no provider of the AI SDK: it has no language models.`);
  };
  const model = await openLanguageModel(id, create, { ...options, ...(isKeyless && { isKeyless }) });
  const { effort } = options;
  if (effort !== undefined && model.specificationVersion !== "v4")
    throw usageError(`${packageName} takes no --effort in this version.`, "Install a newer version of it.");

  const prepare = createToolCache(64, writeTool);
  const warned = new Set<string>();
  const attempt = withoutRefusedForm(async (request, signal, written) => {
    const { params, names } = prepare(request);
    const tools = request.tools.flatMap((tool) => params.get(tool.name) ?? []);
    const limited = abortAfter(signal, timeoutMs);
    try {
      const result = await model.doGenerate({
        prompt: request.messages.flatMap((message) => writeMessage(message, names.toWire)),
        maxOutputTokens: maxTokens,
        ...(tools.length > 0 && { tools, toolChoice: { type: "auto" } }),
        ...(written.answerSchema && { responseFormat: { type: "json", name: "answer", schema: written.answerSchema } }),
        ...(effort !== undefined && { reasoning: effort }),
        abortSignal: limited,
      });
      const { data, error } = resultSchema.safeParse(result);
      if (!data) return unreadableReply("a result of the AI SDK", result, error);
      for (const { type, feature, setting, details, message } of data.warnings) {
        const warning = [type, feature || setting, details || message].filter((word) => word !== "").join(" ");
        if (!warned.has(warning)) options.warn?.(`${id}: ${warning}`);
        warned.add(warning);
      }
      const reply = readResult(data);
      // Some packages read an error with status 200 as an empty reply.
      const { body } = data.response ?? {};
      if (reply.problem && isJsonObject(body) && body.error)
        return unreadableReply("one that the package reads", body, undefined);
      return toAttempt(reply, names, request, result, (calls) => writeParts(data.content, calls));
    } catch (thrown) {
      const isTimeout = limited.aborted && !signal.aborted;
      const fault = isTimeout ? toFault(thrown, "timeout", timeoutMs) : readFault(thrown);
      return nameRefused(fault, request.tools);
    }
  });
  const limits = createLimits(retries, options.delay);
  const recorded = { package: packageName, ...(base && { baseUrl: base.url.href }), maxTokens, timeoutMs, retries };
  return {
    id,
    kind: "language model",
    settings: { ...recorded, ...(effort !== undefined && { effort }) },
    maxOutputTokens: maxTokens,
    deterministic: false,
    ask: (request, signal) => askRemote(request.cell, (own) => attempt(request, own), limits, signal),
    cost: (usage) => priceUsage(usage, modelName, options.prices),
  };
}

/** What is used of a model of the AI SDK. */
type LanguageModel = { specificationVersion: string; doGenerate(options: object): Promise<unknown> };
type NamedModel = (modelName: string) => unknown;
type Provider = NamedModel | { languageModel?: NamedModel } | undefined;
type CreateProvider = (settings: object) => Provider | Promise<Provider>;

/** Finds the package that an id names, installed in the user's project or beside this program, and imports it. */
async function importProvider(id: string, name: string, cwd: string) {
  const [first = "", second = ""] = name.split("/");
  const written = first.startsWith("@") ? `${first}/${second}` : first;
  const modelName = name.slice(written.length + 1);
  const form = "Write ai:<package>/<model>, for example ai:google/gemini-3-pro.";
  if (modelName === "") throw usageError(`The model id "${id}" has no model name.`, form);
  const candidates = written.startsWith("@") ? [written] : [`@ai-sdk/${written}`, written];
  const { createJiti } = await import("jiti");
  const parents = [pathToFileURL(join(cwd, "package.json")).href, import.meta.url];
  const places = candidates.flatMap((packageName) => parents.map((parent) => ({ packageName, parent })));
  const install = (name: string | undefined) => `Run: npm install --save-dev ${name}`;
  for (const { packageName, parent } of places) {
    const found = createJiti(parent).esmResolve(packageName, { try: true });
    if (found === undefined || !found.startsWith("file:")) continue;
    const loaded = (await import(found).catch((error: unknown) => {
      const missing = /Cannot find (?:module|package) '((?:@[^/']+\/)?[^/'.][^/']*)/.exec(messageOf(error))?.[1];
      const hint = missing === undefined ? "Install a version for this Node.js." : install(missing);
      throw usageError(`${packageName} cannot be loaded: ${firstLine(messageOf(error))}.`, hint);
    })) as Record<string, unknown>;
    const isFactory = (key: string) => /^create[A-Z]/.test(key) && typeof loaded[key] === "function";
    const factories = Object.keys(loaded).filter(isFactory);
    // Some packages have several, such as one for a search service.
    const ownName = packageName.replace(/\W/g, "").toLowerCase();
    const isOwn = (key: string) => ownName.includes(key.slice("create".length).toLowerCase());
    const create = factories.find(isOwn) ?? factories[0];
    if (create !== undefined) return { packageName, modelName, createProvider: loaded[create] as CreateProvider };
    throw usageError(`${packageName} is no provider of the AI SDK: it exports no function create….`);
  }
  throw usageError(`${id} needs the package ${candidates[0]}, which is not installed.`, install(candidates[0]));
}

/** The error of a provider that lacks a key or another setting. It names the variable that the provider reads. */
const missingSetting = /\bis missing\b|environment variable|credentials|authentication|invalid URL/i;

/**
 * The model, whose key is there. Providers read their keys when they write a request, so one is written and not sent.
 * They know the environment of the process alone: a key from elsewhere is given to them.
 */
async function openLanguageModel(
  id: string,
  create: (more: object) => Promise<unknown>,
  { env, isDryRun, isAskedElsewhere, isKeyless, warn }: AiSdkOptions,
): Promise<LanguageModel> {
  const open = async (more: object): Promise<LanguageModel> => {
    const model = (await create(more).catch((thrown: unknown) => {
      throw thrown instanceof EvalsError ? thrown : explainLack(id, messageOf(thrown));
    })) as Partial<LanguageModel> | undefined;
    const { specificationVersion: version = "v1", doGenerate } = model ?? {};
    if (typeof doGenerate === "function" && /^v[234]$/.test(version)) return model as LanguageModel;
    const speaks = `the package speaks an unknown version of the AI SDK (${version})`;
    throw usageError(`${id}: ${speaks}.`, "Install a newer one.");
  };
  const unsent = await open({ fetch: () => Promise.reject(new Error("not sent")) });
  const prompt = [{ role: "user", content: [{ type: "text", text: "." }] }];
  const problem = messageOf(await unsent.doGenerate({ prompt }).catch((error: unknown) => error));
  if (!missingSetting.test(problem) || isAskedElsewhere) return open({});
  const variable = findVariable(problem);
  const apiKey = env[variable] || (isKeyless ? "no-key-needed" : "");
  if (keyName.test(variable) && apiKey !== "") return open({ apiKey });
  const lack = explainLack(id, problem);
  if (!isDryRun) throw lack;
  warn?.(`${lack.problems[0]?.message} A dry run needs none.`);
  return open({});
}

const keyName = /KEY|TOKEN/;
const findVariable = (problem: string) => /\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/.exec(problem)?.[0] ?? "";
const firstLine = (message: string) => message.split("\n", 1)[0]?.replace(/\.$/, "") ?? "";

/** The error for a provider that lacks a setting, by the words of its own error. */
function explainLack(id: string, problem: string): EvalsError {
  const variable = findVariable(problem);
  const hint = /invalid URL/i.test(problem) ? "Give --base-url." : undefined;
  if (variable === "") return usageError(`${id} cannot be used: ${firstLine(problem)}.`, hint);
  const needs = keyName.test(variable) ? `an API key, but ${variable} is not set` : `${variable}, which is not set`;
  return usageError(`${id} needs ${needs}.`, `Set ${variable}.`);
}

/** Why the service could not be reached, kept apart from the errors of a provider. */
class UnreachableError extends Error {}

/** The fetch of all services, with the whole of a response that a package may use. */
function createWebFetch(env: EndpointOptions["env"], search: string): Fetch {
  const send = createServiceFetch(env);
  return async (url, init) => {
    const reply = await send(addSearch(String(url), search), init).catch((cause: unknown) => {
      throw init?.signal?.aborted ? cause : new UnreachableError("unreachable", { cause });
    });
    const { status, headers } = reply;
    return new Response(await reply.text(), { status, headers: Object.fromEntries(headers.entries()) });
  };
}

function writeTool({ description, inputSchema }: OfferedTool, name: string): object {
  const schema = { type: "object", ...inputSchema };
  return { type: "function", name, ...(description && { description }), inputSchema: schema };
}

function writeMessage(message: Message, toWire: (name: string) => string): object[] {
  if (message.role === "system") return [message];
  if (message.role === "results") {
    const content = message.results.map(({ callId, tool, text: value, isError }) => ({
      type: "tool-result",
      toolCallId: callId,
      toolName: toWire(tool),
      output: { type: isError ? "error-text" : "text", value },
    }));
    return [{ role: "tool", content }];
  }
  const written = message.content.trim() === "" ? [] : [{ type: "text", text: message.content }];
  const content = message.role === "assistant" && Array.isArray(message.native) ? message.native : written;
  return content.length === 0 ? [] : [{ role: message.role, content }];
}

const tokens = z.union([
  z.number().transform((total) => ({ total })),
  z.object({ total: count, cacheRead: count, cacheWrite: count }),
]);
const metadata = maybe(z.record(z.string(), z.custom<Json>()));
const resultSchema = z.object({
  content: z.array(z.unknown()).pipe(
    listOf(
      z.object({
        type: text,
        text,
        toolCallId: text,
        toolName: text,
        // A text by the specification, an object in some packages.
        input: maybe(anyJson),
        providerExecuted: z.boolean().catch(false),
        providerMetadata: metadata,
      }),
    ),
  ),
  // A text in v2.
  finishReason: z
    .union([z.string().transform((unified) => ({ unified, raw: unified })), z.object({ unified: text, raw: text })])
    .catch({ unified: "", raw: "" }),
  usage: z
    .object({ inputTokens: maybe(tokens), outputTokens: maybe(tokens), cachedInputTokens: count })
    .catch({ inputTokens: undefined, outputTokens: undefined, cachedInputTokens: 0 }),
  response: maybe(z.object({ id: text, modelId: text, body: maybe(anyJson) })),
  warnings: listOf(z.object({ type: text, feature: text, setting: text, details: text, message: text })),
});
type Result = z.infer<typeof resultSchema>;
type Part = Result["content"][number];

const isCall = ({ type, providerExecuted }: Part) => type === "tool-call" && !providerExecuted;

function readResult({ content, finishReason, usage, response }: Result): ReceivedReply {
  const calls = content.filter(isCall);
  const answer = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  const { inputTokens, outputTokens, cachedInputTokens } = usage;
  const { total = 0, cacheRead = cachedInputTokens, cacheWrite = 0 } = (inputTokens ?? {}) as Record<string, number>;
  return {
    id: response?.id ?? "",
    model: response?.modelId ?? "",
    text: answer,
    calls: calls.map((one) => ({ id: one.toolCallId, tool: one.toolName, ...readArguments(one.input) })),
    answered: [],
    usage: toUsage(total, outputTokens?.total ?? 0, cacheRead, cacheWrite),
    ...readFinish(finishReason.unified, calls.length, answer !== "", finishReason.raw),
  };
}

/**
 * A reply as it is sent back, with what the provider needs of each part, such as the signature of a thought. `calls`:
 * with the ids that their results name, none in a reply that was cut off.
 */
function writeParts(content: readonly Part[], calls: readonly Call[]): object[] {
  const ids = calls.map(({ id }) => id);
  return content.flatMap((part) => {
    const { type, text: written, toolName, input, providerMetadata } = part;
    const options = providerMetadata && { providerOptions: providerMetadata };
    if (isCall(part)) {
      const { arguments: args } = readArguments(input);
      const toolCallId = ids.shift();
      if (toolCallId === undefined) return [];
      return { type, toolCallId, toolName, input: isJsonObject(args) ? args : {}, ...options };
    }
    const isKept = type === "reasoning" || (type === "text" && (written.trim() !== "" || options));
    return isKept ? { type, text: written, ...options } : [];
  });
}

/** The parts that are read of an error of the AI SDK. */
type CallError = Error & { statusCode?: number; responseHeaders?: Record<string, string>; responseBody?: string };

function readFault(thrown: unknown): Fault {
  const causes: unknown[] = [];
  for (let one = thrown; one instanceof Error && causes.length < 10; one = one.cause) causes.push(one);
  const unreachable = causes.find((one) => one instanceof UnreachableError);
  if (unreachable) return toFault(unreachable, "connection");
  const { statusCode, responseHeaders = {}, responseBody = "" } = Object(thrown) as Partial<CallError>;
  if (!(thrown instanceof Error) || (statusCode !== undefined && statusCode < 400)) {
    const invalid = causes.find((one) => Array.isArray(Object(one).issues)) as z.ZodError | undefined;
    return unreadableReply("one that the package reads", parseJsonText(responseBody) ?? responseBody, invalid);
  }
  if (statusCode === undefined) return permanentFault(`${thrown.name}: ${thrown.message}`);
  const error = responseBody === "" ? { message: thrown.message } : readRefusal(responseBody);
  const status = { status: statusCode, headers: new Headers(responseHeaders), error: { error } };
  return toFault(Object.assign(new Error(thrown.message), status), "other");
}
