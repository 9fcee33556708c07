import { createFetch } from "../../base/network.ts";
import { type EndpointOptions, type localServers, parseBaseUrl, readHeaders } from "../../base/types/endpoint.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import type { ContextWindow } from "../../base/types/model.ts";

/** Sends a request to a path of the server. Resolves with undefined unless the answer is a JSON object. */
type Fetch = (path: string, body?: JsonObject, timeoutMs?: number) => Promise<JsonObject | undefined>;

type LocalServer = keyof typeof localServers;

/** How the window of a server is made larger. */
const remedies: Record<LocalServer, string> = {
  ollama: "Ollama cuts longer requests without an error. Start it with OLLAMA_CONTEXT_LENGTH=<tokens>, or set num_ctx.",
  lmstudio: "Load the model with a longer context: lms load <model> --context-length <tokens>.",
  llamacpp: "Start llama-server with a larger --ctx-size, which the slots of --parallel share.",
  vllm: "Start vLLM with a larger --max-model-len.",
};

/** The time limit of a question that a server answers from memory. */
const answerMs = 3_000;

/**
 * Asks a local server for the context window with which it runs a model. Resolves with undefined if it does not say.
 * Does not reject. Ollama loads the model for the answer, which the first request would do anyway.
 */
export async function readContextWindow(
  server: LocalServer,
  model: string,
  { env, baseUrl, headers, timeoutMs = 120_000 }: EndpointOptions & { baseUrl: string },
  signal: AbortSignal,
): Promise<ContextWindow | undefined> {
  const send = createFetch(env);
  const { url, headers: basic } = parseBaseUrl(baseUrl, { name: server, baseUrl: "" });
  const root = url.href.replace(/\/$/, "");
  const own = { ...basic, ...readHeaders(headers, env) };
  const fetch: Fetch = async (path, body, limitMs = answerMs) => {
    try {
      const response = await send(root + path, {
        headers: { ...own, ...(body && { "content-type": "application/json" }) },
        ...(body && { method: "POST", body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(limitMs)]),
      });
      const answer: unknown = response.ok ? await response.json() : undefined;
      return isJsonObject(answer) ? answer : undefined;
    } catch {
      // Another server, or none: the first request to the model says what is wrong.
      return undefined;
    }
  };
  const tokens = await readers[server](fetch, model, timeoutMs);
  return tokens === undefined ? undefined : { tokens, remedy: remedies[server] };
}

const readers: Record<LocalServer, (fetch: Fetch, model: string, timeoutMs: number) => Promise<number | undefined>> = {
  // https://docs.ollama.com/api/ps, https://docs.ollama.com/context-length
  async ollama(fetch, model, timeoutMs) {
    // With a registry, its name may have colons itself.
    const bare = model.replace(/^(?:registry\.ollama\.ai\/)?(?:library\/)?/, "");
    const tagged = /:[^/]+$/.test(bare) ? bare : `${bare}:latest`;
    const readLoaded = async () => {
      const found = findModel((await fetch("/api/ps"))?.models, ["name", "model"], [bare, tagged]);
      return readSize(found?.context_length);
    };
    const loaded = await readLoaded();
    if (loaded !== undefined) return loaded;
    const shown = await fetch("/api/show", { model });
    // The window of a model in Ollama's cloud is that of its service.
    if (!shown || typeof shown.remote_host === "string") return undefined;
    const set = readSize(Number(/^\s*num_ctx\s+(\d+)/m.exec(String(shown.parameters ?? ""))?.[1]));
    if (set !== undefined) return set;
    // The default depends on the server's variables and its memory, so only a loaded model shows it.
    await fetch("/api/generate", { model }, timeoutMs);
    return (await readLoaded()) ?? ollamaDefault;
  },
  // https://lmstudio.ai/docs/developer/rest/endpoints
  async lmstudio(fetch, model) {
    const found = findModel((await fetch("/api/v0/models"))?.data, ["id"], [model]);
    return readSize(found?.loaded_context_length) ?? readSize(found?.max_context_length);
  },
  // https://github.com/ggml-org/llama.cpp/tree/master/tools/server: the window of one slot; only a router reads the
  // name.
  async llamacpp(fetch, model) {
    const settings = (await fetch(`/props?model=${encodeURIComponent(model)}&autoload=false`))
      ?.default_generation_settings;
    return isJsonObject(settings) ? readSize(settings.n_ctx) : undefined;
  },
  async vllm(fetch, model) {
    const data = (await fetch("/v1/models"))?.data;
    const found = findModel(data, ["id"], [model]);
    // An adapter has the window of its base model.
    const base = findModel(data, ["id"], [String(found?.parent)]);
    return readSize(found?.max_model_len) ?? readSize(base?.max_model_len);
  },
};

/** Of servers with less than 24 GiB of graphics memory. */
const ollamaDefault = 4096;

function findModel(list: Json | undefined, keys: readonly string[], names: readonly string[]): JsonObject | undefined {
  const models = Array.isArray(list) ? list.filter(isJsonObject) : [];
  const known = names.map((name) => name.toLowerCase());
  return models.find((one) => keys.some((key) => known.includes(String(one[key]).toLowerCase())));
}

function readSize(value: Json | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
