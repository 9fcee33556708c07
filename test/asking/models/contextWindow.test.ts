import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { readContextWindow } from "../../../src/evals/asking/models/contextWindow.ts";
import { listen } from "../../fixtures/ports.ts";

type Server = Parameters<typeof readContextWindow>[0];
/** Answers by method, path and body; a list is answered in turn. What is not listed is 404. */
type Answers = Record<string, unknown>;

const signal = new AbortController().signal;

async function readFrom(server: Server, model: string, answers: Answers, base = "/v1") {
  const asked: string[] = [];
  const listener = createServer(async (request, response) => {
    const key = `${request.method} ${request.url} ${await text(request)}`.trim();
    const answer = answers[key];
    const count = asked.filter((one) => one === key).length;
    asked.push(key);
    response.statusCode = answer === undefined ? 404 : 200;
    const body = Array.isArray(answer) ? answer[Math.min(count, answer.length - 1)] : answer;
    response.end(typeof body === "string" ? body : JSON.stringify(body ?? { error: "not found" }));
  });
  const baseUrl = `http://127.0.0.1:${await listen(listener)}${base}`;
  const window = await readContextWindow(server, model, { env: {}, baseUrl }, signal);
  return { tokens: window?.tokens, asked };
}

const running = (name: string, size: number) => ({ models: [{ name, model: name, context_length: size }] });
const load = 'POST /api/generate {"model":"qwen3"}';
const show = 'POST /api/show {"model":"qwen3"}';
const props = (model: string) => `GET /props?model=${model}&autoload=false`;
const info = { model_info: { "qwen3.context_length": 40960 } };

describe("readContextWindow", () => {
  it.each<[string, Server, Answers, number | undefined, string?]>([
    ["of a loaded model", "ollama", { "GET /api/ps": running("qwen3:latest", 8192) }, 8192],
    ["of a loaded model with a tag", "ollama", { "GET /api/ps": running("qwen3:4b", 32768) }, 32768, "qwen3:4b"],
    [
      "set in the Modelfile",
      "ollama",
      {
        "GET /api/ps": running("llama3:latest", 8192),
        [show]: { ...info, parameters: "stop  <|x|>\nnum_ctx   16384" },
      },
      16384,
    ],
    [
      "by default, after loading",
      "ollama",
      { "GET /api/ps": [{ models: [] }, running("qwen3:latest", 2048)], [show]: info, [load]: { done: true } },
      2048,
    ],
    ["by default, where it cannot be loaded", "ollama", { "GET /api/ps": { models: [] }, [show]: info }, 4096],
    ["of an old version", "ollama", { "GET /api/ps": { models: [{ name: "qwen3:latest" }] }, [show]: {} }, 4096],
    [
      "of a model of another registry",
      "ollama",
      { "GET /api/ps": running("hf.co:443/unsloth/qwen3-gguf:latest", 8192) },
      8192,
      "hf.co:443/unsloth/Qwen3-GGUF",
    ],
    ["of a model with its library", "ollama", { "GET /api/ps": running("qwen3:latest", 8192) }, 8192, "library/qwen3"],
    ["of a name in another case", "ollama", { "GET /api/ps": running("qwen3:4b", 8192) }, 8192, "Qwen3:4B"],
    ["of a cloud model", "ollama", { [show]: { ...info, remote_host: "https://ollama.com" } }, undefined],
    ["of an unknown model", "ollama", { "GET /api/ps": { models: [] } }, undefined],
    [
      "of a loaded model",
      "lmstudio",
      { "GET /api/v0/models": { data: [{ id: "qwen3", loaded_context_length: 4096, max_context_length: 32768 }] } },
      4096,
    ],
    [
      "at most, of one that is not loaded",
      "lmstudio",
      {
        "GET /api/v0/models": { data: [{ id: "b" }, { id: "qwen3", state: "not-loaded", max_context_length: 32768 }] },
      },
      32768,
    ],
    ["of a slot", "llamacpp", { [props("qwen3")]: { default_generation_settings: { n_ctx: 2048 } } }, 2048],
    [
      "of a model of a router",
      "llamacpp",
      { [props("org%2Fqwen3")]: { default_generation_settings: { n_ctx: 512 } } },
      512,
      "org/qwen3",
    ],
    ["of a model", "vllm", { "GET /v1/models": { data: [{ id: "qwen3", max_model_len: 40960 }] } }, 40960],
    [
      "of the base of an adapter",
      "vllm",
      {
        "GET /v1/models": {
          data: [
            { id: "a/b", max_model_len: 512 },
            { id: "qwen3", parent: "a/b" },
          ],
        },
      },
      512,
    ],
    ["that is null", "vllm", { "GET /v1/models": { data: [{ id: "qwen3", max_model_len: null }] } }, undefined],
    ["of another model", "vllm", { "GET /v1/models": { data: [{ id: "a/b", max_model_len: 1 }] } }, undefined],
    ["in no JSON", "vllm", { "GET /v1/models": "<html>" }, undefined],
    ["in another shape", "llamacpp", { [props("qwen3")]: [[{ n_ctx: 1 }]] }, undefined],
    ["as text", "lmstudio", { "GET /api/v0/models": { data: [{ id: "qwen3", max_context_length: "8k" }] } }, undefined],
  ])("reads the window %s (%s)", async (_, server, answers, tokens, model = "qwen3") => {
    expect((await readFrom(server, model, answers)).tokens).toBe(tokens);
  });

  it("loads a model only where nothing else shows its window", async () => {
    const { asked } = await readFrom("ollama", "qwen3", { "GET /api/ps": running("qwen3", 8192) });
    expect(asked).toEqual(["GET /api/ps"]);
  });

  it.each(["", "/", "/v1/", "/gateway/v1"])("asks below a base URL that ends with %j", async (base) => {
    const prefix = base.startsWith("/gateway") ? "/gateway" : "";
    const answers = { [`GET ${prefix}/v1/models`]: { data: [{ id: "x", max_model_len: 7 }] } };
    expect((await readFrom("vllm", "x", answers, base)).tokens).toBe(7);
  });

  it("does not reject where nothing listens, or the run is stopped", async () => {
    const options = { env: {}, baseUrl: "http://127.0.0.1:1/v1" };
    expect(await readContextWindow("ollama", "x", options, signal)).toBeUndefined();
    expect(await readContextWindow("vllm", "x", options, AbortSignal.abort())).toBeUndefined();
  });
});
