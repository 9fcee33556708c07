import { describe, expect, it } from "vitest";
import { knownSecrets } from "../../../src/evals/base/secrets/secrets.ts";
import type { Model } from "../../../src/evals/base/types/model.ts";
import {
  chooseSeed,
  describeAvailable,
  type ModelOptions,
  openModel,
} from "../../../src/evals/experiments/workspace/models.ts";

const key = { ANTHROPIC_API_KEY: "secret", OPENAI_API_KEY: "secret" };

describe("a model that can be asked", () => {
  it.each<[string, Partial<ModelOptions>, object]>([
    ["lexical-2", {}, { leastShare: 1 / 3 }],
    [
      "anthropic:claude-sonnet-5-5",
      { env: key },
      { baseUrl: "https://api.anthropic.com/", maxTokens: 4096, timeoutMs: 120_000, retries: 4 },
    ],
    ["anthropic:x", { env: { ANTHROPIC_BASE_URL: "http://localhost:1" } }, { baseUrl: "http://localhost:1/" }],
    ["anthropic:x", { baseUrl: "http://localhost:1/proxy/v1/messages" }, { baseUrl: "http://localhost:1/proxy" }],
    ["anthropic:x", { baseUrl: "http://localhost:1/v1/?beta=1" }, { baseUrl: "http://localhost:1/" }],
    [
      "openai:meta-llama/llama:free",
      { env: { ...key, OPENAI_BASE_URL: "http://other:1/v1" }, baseUrl: "https://me:pw@a.example/v1?k=secret" },
      { baseUrl: "https://a.example/v1" },
    ],
    [
      "openai:qwen3",
      { baseUrl: "http://192.168.1.5:8000/v1", maxTokens: 10, timeoutMs: 5, retries: 0, effort: "high" },
      { baseUrl: "http://192.168.1.5:8000/v1", maxTokens: 10, timeoutMs: 5, retries: 0, effort: "high" },
    ],
    // Asked on this machine, without the key of another provider.
    ["ollama:qwen3:4b", { env: { OPENAI_API_KEY: "sk" } }, { baseUrl: "http://127.0.0.1:11434/v1" }],
    ["lmstudio:qwen/qwen3-4b", {}, { baseUrl: "http://127.0.0.1:1234/v1" }],
    ["llamacpp:any", {}, { baseUrl: "http://127.0.0.1:8080/v1" }],
    ["vllm:m", { baseUrl: "https://gpu.example.com" }, { baseUrl: "https://gpu.example.com/v1" }],
    ["lmstudio:m", { baseUrl: "http://localhost:1234/api/v0/" }, { baseUrl: "http://localhost:1234/v1" }],
    ["ollama:m", { baseUrl: "http://[::1]:11434/api" }, { baseUrl: "http://[::1]:11434/v1" }],
    ["ollama:m", { baseUrl: "http://h:1/ollama/v1/chat/completions" }, { baseUrl: "http://h:1/ollama/v1" }],
    ["vllm:Qwen/Qwen3-4B", { baseUrl: "http://10.0.0.2:9000/v1" }, { baseUrl: "http://10.0.0.2:9000/v1" }],
  ])("%s", async (id, options, settings) => {
    const model = await openModel(id, { env: {}, ...options });
    expect(model.id).toBe(id);
    expect(model.settings).toMatchObject(settings);
  });
});

describe("the seed of a run", () => {
  const plain = { deterministic: false, kind: "language model" } as Model;
  const kept = { ...plain, keepsLists: true };
  const repeating = { ...plain, deterministic: true };

  it.each<[string, Model[], Parameters<typeof chooseSeed>[1]]>([
    ["of a model that keeps its lists", [kept], {}],
    ["of a model that repeats itself", [repeating, kept], {}],
    ["with the cache", [plain], { cache: true }],
  ])("is the same in all runs %s", (_, models, options) => {
    expect(chooseSeed(models, options)).toBe(0);
  });

  it.each<[string, Model[], Parameters<typeof chooseSeed>[1]]>([
    ["of other models", [plain], {}],
    ["if one of the models finds nothing again", [kept, plain], {}],
    ["without the cache", [kept], { cache: false }],
  ])("is random %s", (_, models, options) => {
    const seeds = Array.from({ length: 20 }, () => chooseSeed(models, options));
    expect(new Set(seeds).size).toBeGreaterThan(15);
  });

  it("is the one that is asked for", () => {
    expect(chooseSeed([kept], { seed: 7, cache: true })).toBe(7);
  });
});

it.each([
  ["0.0.0.0", "http://127.0.0.1:11434"],
  ["0.0.0.0:8000", "http://127.0.0.1:8000"],
  [":8000", "http://127.0.0.1:8000"],
  ["[::]", "http://127.0.0.1:11434"],
  ["::1", "http://[::1]:11434"],
  ["[fd00::2]:80", "http://[fd00::2]"],
  ["gpu", "http://gpu:11434"],
  ["gpu.lan:80/", "http://gpu.lan"],
  ["http://gpu", "http://gpu"],
  ["https://gpu.example.com", "https://gpu.example.com"],
  ["https://gpu.example.com/ollama/", "https://gpu.example.com/ollama"],
  ["http://me:pw@gpu:80", "http://gpu"],
  [' "192.168.1.5:1" ', "http://192.168.1.5:1"],
  ["", "http://127.0.0.1:11434"],
])("OLLAMA_HOST=%s is %s", async (host, url) => {
  const env = { OLLAMA_HOST: host };
  expect((await openModel("ollama:m", { env })).settings).toMatchObject({ baseUrl: `${url}/v1` });
  expect((await openModel("vllm:m", { env })).settings).toMatchObject({ baseUrl: "http://127.0.0.1:8000/v1" });
});

it.each([
  ...["localhost", "ollama", "host.docker.internal", "gpu.lan", "gpu.tail1234.ts.net", "100.101.102.103", "[::1]"],
  ...["[fd12:3456::1]"],
])("needs no key for a server of the private network, %s", async (host) => {
  const model = await openModel("openai:m", { env: {}, baseUrl: `http://${host}:8000/v1` });
  expect(model.settings).toMatchObject({ baseUrl: `http://${host}:8000/v1` });
});

it("keeps the headers for a local server secret", async () => {
  const env = {};
  const headers = ["Authorization=Bearer tok-1234567890"];

  await openModel("vllm:m", { env, headers });
  expect(knownSecrets(env).redact("tok-1234567890")).toBe("[redacted: Authorization]");
});

describe("a model that cannot", () => {
  const known =
    "Use one of: lexical, anthropic:claude-sonnet-5-5, openai:gpt-5, ai:<package>/<model>, ollama:<name>, lmstudio:<name>, llamacpp:<name>, vllm:<name>, local or local:<name, file.gguf or hf:user/repo:quant>, claude-code or claude-code:claude-sonnet-5-5, codex:gpt-6.1-sol, copilot:claude-sonnet-5-5, goose:anthropic/claude-sonnet-5-5, replay:<run> or replay:<run>#<model>, custom:<file>. No API key is set, and no local model server runs.";

  it.each<[string, Partial<ModelOptions>, string]>([
    ["antropic:x", {}, `error: Unknown model "antropic:x".\n  Did you mean "anthropic:x"? ${known}`],
    ["tortoise", {}, `error: Unknown model "tortoise".\n  ${known}`],
    ["toString", {}, `error: Unknown model "toString".\n  ${known}`],
    ["anthropic", {}, 'error: The model id "anthropic" has no model name.\n  Write anthropic:claude-sonnet-5-5.'],
    ["lexical:x", {}, 'error: The model id "lexical:x" has a name, but "lexical" takes none.\n  Write lexical.'],
    [
      "anthropic:x",
      {},
      "error: api.anthropic.com needs an API key, but ANTHROPIC_API_KEY is not set.\n  Set ANTHROPIC_API_KEY, or, without a key, use a local server (--base-url or ANTHROPIC_BASE_URL), -m ollama:<model> or -m local.",
    ],
    [
      "openai:x",
      { baseUrl: "https://openrouter.ai/api/v1" },
      "error: openrouter.ai needs an API key, but OPENAI_API_KEY is not set.\n  Set OPENAI_API_KEY, or, without a key, use a local server (--base-url or OPENAI_BASE_URL), -m ollama:<model> or -m local.",
    ],
    [
      "openai:x",
      { baseUrl: "localhost:8000" },
      'error: "localhost:8000" is not a valid base URL for openai.\n  Give a complete URL, for example http://localhost:8000.',
    ],
    [
      "anthropic:x",
      { env: key, maxTokens: 64_000 },
      "error: --max-tokens is 64000, not an integer from 1 to 21333.\n  Give a value from 1 to 21333.",
    ],
    [
      "anthropic:x",
      { env: key, retries: 1.5 },
      "error: --retries is 1.5, not an integer from 0 to 20.\n  Give a value from 0 to 20.",
    ],
    [
      "anthropic:x",
      { env: key, effort: "minimal" },
      'error: Unknown effort "minimal" for anthropic.\n  Use one of: low, medium, high, xhigh, max.',
    ],
    ["replay:x", {}, 'error: "replay:x" has no recorded runs to read.'],
  ])("%s (%#)", async (id, options, message) => {
    await expect(openModel(id, { env: {}, ...options })).rejects.toHaveProperty("message", message);
  });
});

describe("an unknown model", () => {
  it("gets the keys and the local servers that were found", async () => {
    const env = { OPENAI_API_KEY: "k", GROQ_API_KEY: "k", ANTHROPIC_API_KEY: "" };
    const local = Promise.resolve([{ flags: "-m ollama:qwen3", reason: "Ollama runs on this machine", costUsd: 0 }]);
    expect(await describeAvailable(env, local)).toBe(
      "Found: OPENAI_API_KEY is set (-m openai:gpt-5), GROQ_API_KEY is set (-m ai:groq/<model>), Ollama runs on this machine (-m ollama:qwen3).",
    );
  });

  it.each([
    ["claude-haiku-5-5", "anthropic:claude-haiku-5-5"],
    ["claude:sonnet-5-5", "anthropic:claude-sonnet-5-5"],
    ["anthropic/claude-opus-5-5", "anthropic:claude-opus-5-5"],
    ["gpt-5", "openai:gpt-5"],
    ["o3", "openai:o3"],
    ["openai/gpt-5", "openai:gpt-5"],
    ["qwen3", "ollama:qwen3"],
    ["olama:llama3.3", "ollama:llama3.3"],
    ["lexcal", "lexical"],
    ["claude-cod", "claude-code"],
    ["opena:gpt-5", "openai:gpt-5"],
    ["google:gemini-3-pro", "ai:google/gemini-3-pro"],
    ["bedrock/anthropic.claude-x:0", "ai:amazon-bedrock/anthropic.claude-x:0"],
    ["groq:qwen/qwen3", "ai:groq/qwen/qwen3"],
  ])("%s: did you mean %s?", async (id, meant) => {
    await expect(openModel(id, { env: {} })).rejects.toThrow(`Unknown model "${id}".\n  Did you mean "${meant}"? Use`);
  });

  it("without a similar name gets only the list", async () => {
    await expect(openModel("zzz", { env: {} })).rejects.toThrow('Unknown model "zzz".\n  Use one of: lexical, ');
  });
});
