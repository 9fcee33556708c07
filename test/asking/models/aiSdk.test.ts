import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AiSdkOptions, aiSdk } from "../../../src/evals/asking/models/aiSdk.ts";
import { type AskedModel, type Message, noUsage, type Reply } from "../../../src/evals/base/types/model.ts";
import { makeFolder, writeIn } from "../../fakes/folder.ts";
import type { Fault } from "../../fixtures/endpoints/endpoint.ts";
import { geminiModel, startGeminiEndpoint } from "../../fixtures/endpoints/gemini.ts";
import { followUp, requestOf, tool } from "./request.ts";

const signal = new AbortController().signal;
const echo = tool("echo", "Echoes.", { text: "the text" });
const delay = async () => {};

/** What a package of the AI SDK with this specification answers; what it is asked with is kept in `globalThis.asked`. */
const packageOf = (specificationVersion: unknown, result: object) => `
export const createFake = (settings) => (model) => ({
  specificationVersion: ${JSON.stringify(specificationVersion)},
  async doGenerate(options) {
    if (options.maxOutputTokens === undefined) throw new Error("only written");
    globalThis.asked.push({ settings, model, options: JSON.parse(JSON.stringify(options)) });
    return ${JSON.stringify(result)};
  },
});`;

const call = { type: "tool-call", toolCallId: "c1", toolName: "echo", input: '{"text":"hi"}' };
const thought = { type: "reasoning", text: "hm", providerMetadata: { fake: { signature: "s" } } };
const v3Usage = { inputTokens: { total: 100, noCache: 60, cacheRead: 30, cacheWrite: 10 }, outputTokens: { total: 7 } };
const results: Record<string, [unknown, object]> = {
  v2: [
    "v2",
    {
      content: [thought, { type: "text", text: "" }, call],
      finishReason: "tool-calls",
      usage: { inputTokens: 90, outputTokens: 7, totalTokens: 97, cachedInputTokens: 30 },
      warnings: [{ type: "unsupported-setting", setting: "toolChoice", details: "left out" }],
    },
  ],
  v3: [
    "v3",
    { content: [thought, call], finishReason: { unified: "tool-calls", raw: "STOP" }, usage: v3Usage, warnings: [] },
  ],
  v4: [
    "v4",
    {
      content: [
        thought,
        { type: "custom", kind: "fake.part" },
        { ...call, toolCallId: "" },
        { ...call, toolCallId: "" },
      ],
      finishReason: { unified: "tool-calls", raw: undefined },
      usage: v3Usage,
      response: { id: "r1", modelId: "fake-2026" },
      warnings: [],
    },
  ],
  cut: ["v3", { content: [call], finishReason: { unified: "length", raw: "max" }, usage: v3Usage }],
  filtered: ["v3", { content: [], finishReason: { unified: "content-filter", raw: "SAFETY" }, usage: v3Usage }],
  malformed: ["v3", { content: [], finishReason: { unified: "error", raw: "MALFORMED_FUNCTION_CALL" }, usage: {} }],
  executed: [
    "v3",
    {
      content: [
        { ...call, providerExecuted: true },
        { type: "text", text: "done" },
      ],
      finishReason: { unified: "stop" },
      usage: {},
    },
  ],
  odd: ["v3", { text: "hi" }],
  // Less than the specification asks for.
  loose: ["v3", { content: [{ ...call, input: { text: "hi" } }, null] }],
  bare: ["v2", { content: [{ type: "text", text: "hi" }], finishReason: null, usage: { inputTokens: null } }],
  old: [undefined, {}],
};

const dir = makeFolder();
const asked: { settings: Record<string, unknown>; model: string; options: Record<string, unknown> }[] = [];
beforeAll(() => {
  Object.assign(globalThis, { asked });
  const write = (name: string, code: string) => {
    const description = { name, type: "module", exports: { ".": { import: "./index.js" } } };
    writeIn(dir, `node_modules/${name}/package.json`, description);
    writeIn(dir, `node_modules/${name}/index.js`, code);
  };
  for (const [name, [version, result]] of Object.entries(results)) write(`fake-${name}`, packageOf(version, result));
  const model = packageOf("v3", { content: [{ type: "text", text: "hi" }], finishReason: "stop", usage: {} });
  write("two-factories", `${model.replace("createFake", "createTwo")} export const createSearch = () => () => ({});`);
  write("only-named", model.replace("(model) => ({", "({ languageModel: (model) => ({").replace(/}\);$/, "}) });"));
  write("no-models", "export const createNothing = () => ({ image: () => ({}) });");
  write("async-stream", "export const createStream = async () => { throw new Error('There is no agent.'); };");
  write("async-factory", "export const createReader = () => async ({ response }) => response.headers;");
  write(
    "no-region",
    "export const createCloud = () => { throw new Error('Set the CLOUD_REGION environment variable.'); };",
  );
  write(
    "no-address",
    "export const createAny = () => () => ({ specificationVersion: 'v3', doGenerate: async () => new URL('undefined/v1') });",
  );
  write("lacks-peer", "import '@peer/zod/v4'; export const createX = 1;");
  const refusal =
    "Object.assign(new Error('Quota used up'), { statusCode: 429, responseHeaders: { 'retry-after': '1' } })";
  write("fake-no-body", `${model.replace("return {", `throw ${refusal}; return {`)}`);
  write("no-provider", "export const nothing = 1;");
  write("broken", "throw new Error('needs Node.js 99');");
});
afterAll(() => {
  Reflect.deleteProperty(globalThis, "asked");
  rmSync(dir, { recursive: true });
});

const open = (name: string, options: Partial<AiSdkOptions> = {}) => {
  return aiSdk(`ai:${name}`, name, { env: {}, cwd: dir, delay, ...options });
};
const ask = (model: AskedModel, messages?: Message[]) => {
  return model.ask({ ...requestOf("Echo hi", [echo]), ...(messages && { messages }) }, signal);
};
const turnOf = (reply: Reply) => {
  if (reply.kind !== "turn") throw new Error(reply.message);
  const { ms: _, ...turn } = reply.turn;
  return turn;
};

describe("a package that cannot be used", () => {
  it.each([
    ["google/m", { cwd: "/nowhere" }, "ai:google/m needs an API key, but GOOGLE_GENERATIVE_AI_API_KEY is not set."],
    [
      "cohere/command",
      {},
      "ai:cohere/command needs the package @ai-sdk/cohere, which is not installed.\n  Run: npm install --save-dev @ai-sdk/cohere",
    ],
    ["@acme/llm/m", {}, "the package @acme/llm, which is not installed.\n  Run: npm install --save-dev @acme/llm"],
    ["google", {}, 'The model id "ai:google" has no model name.'],
    ["@ai-sdk/google", {}, 'The model id "ai:@ai-sdk/google" has no model name.'],
    ["no-provider/m", {}, "no-provider is no provider of the AI SDK: it exports no function create…."],
    ["broken/m", {}, "broken cannot be loaded: needs Node.js 99.\n  Install a version for this Node.js."],
    ["lacks-peer/m", {}, "lacks-peer cannot be loaded: Cannot find "],
    ["lacks-peer/m", {}, "\n  Run: npm install --save-dev @peer/zod"],
    ["no-models/m", {}, "no-models is no provider of the AI SDK: it has no language models."],
    ["async-factory/m", {}, "ai:async-factory/m cannot be used: Cannot read properties of undefined"],
    ["async-stream/m", {}, "ai:async-stream/m cannot be used: There is no agent."],
    ["no-region/m", {}, "ai:no-region/m needs CLOUD_REGION, which is not set.\n  Set CLOUD_REGION."],
    ["no-address/m", {}, "ai:no-address/m cannot be used: Invalid URL.\n  Give --base-url."],
    ["fake-old/m", {}, "speaks an unknown version of the AI SDK (v1)."],
    ["fake-v3/m", { effort: "high" }, "fake-v3 takes no --effort in this version."],
    ["fake-v3/m", { baseUrl: "localhost" }, '"localhost" is not a valid base URL for fake-v3.'],
  ])("%s", async (name, options, message) => {
    await expect(open(name, options)).rejects.toThrow(message);
  });

  it.each([
    [{ baseUrl: "http://127.0.0.1:1/v1beta" }],
    [{ baseUrl: "https://gateway.example/v1beta", headers: ["cf-aig-authorization=Bearer t"] }],
  ])("needs no key at %j", async (options) => {
    expect((await open("google/m", options)).settings).toMatchObject({ baseUrl: options.baseUrl });
  });

  it("needs other settings for a dry run, too", async () => {
    await expect(open("no-region/m", { isDryRun: true })).rejects.toThrow("needs CLOUD_REGION, which is not set.");
  });

  it("needs no key for a dry run", async () => {
    const warnings: string[] = [];
    await open("google/m", { isDryRun: true, warn: (message) => warnings.push(message) });
    expect(warnings).toEqual([
      "ai:google/m needs an API key, but GOOGLE_GENERATIVE_AI_API_KEY is not set. A dry run needs none.",
    ]);
  });
});

describe("a result of each version", () => {
  it.each([
    ["v2", { usage: { inputTokens: 60, cacheReadTokens: 30, cacheWriteTokens: 0, outputTokens: 7 } }],
    ["v3", { usage: { inputTokens: 60, cacheReadTokens: 30, cacheWriteTokens: 10, outputTokens: 7 } }],
    ["v4", { responseId: "r1", model: "fake-2026" }],
  ])("%s is read, and sent back with what the provider needs of it", async (version, expected) => {
    asked.length = 0;
    const warnings: string[] = [];
    const model = await open(`fake-${version}/m/large:1`, { warn: (message) => warnings.push(message) });
    const reply = await ask(model);
    const turn = turnOf(reply);
    expect(turn).toMatchObject({ stop: "calls", ...expected });
    const made = { tool: "echo", arguments: { text: "hi" } };
    expect(turn.calls.map(({ id: _, ...rest }) => rest)).toEqual(version === "v4" ? [made, made] : [made]);
    if (reply.kind === "turn") await model.ask(followUp(requestOf("Echo hi", [echo]), reply), signal);
    const ids = turn.calls.map(({ id }) => id);
    expect(asked[1]?.options.prompt).toEqual([
      { role: "user", content: [{ type: "text", text: "Echo hi" }] },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm", providerOptions: { fake: { signature: "s" } } },
          ...ids.map((toolCallId) => ({ type: "tool-call", toolCallId, toolName: "echo", input: { text: "hi" } })),
        ],
      },
      {
        role: "tool",
        content: ids.map((toolCallId) => {
          return { type: "tool-result", toolCallId, toolName: "echo", output: { type: "text", value: "done" } };
        }),
      },
    ]);
    expect(asked[0]?.model).toBe("m/large:1");
    expect(warnings).toEqual(version === "v2" ? [`ai:fake-v2/m/large:1: unsupported-setting toolChoice left out`] : []);
  });

  it.each([
    ["cut", { stop: "cut", calls: [] }],
    ["filtered", { stop: "refused" }],
    ["executed", { stop: "done", text: "done", calls: [] }],
    ["loose", { stop: "calls", calls: [{ id: "c1", tool: "echo", arguments: { text: "hi" } }] }],
    ["bare", { stop: "done", text: "hi", usage: noUsage }],
  ])("%s", async (name, expected) => {
    expect(turnOf(await ask(await open(`fake-${name}/m`)))).toMatchObject(expected);
  });

  it.each(["two-factories", "only-named"])("the language models of %s are found", async (name) => {
    expect(turnOf(await ask(await open(`${name}/m`)))).toMatchObject({ stop: "done", text: "hi" });
  });

  it.each([
    ["no-body", "429: Quota used up (after 5 attempts)"],
    ["malformed", "the reply has finish reason MALFORMED_FUNCTION_CALL and no content (after 5 attempts)"],
    ["odd", "the reply is not a result of the AI SDK: "],
  ])("%s is broken", async (name, message) => {
    const reply = await ask(await open(`fake-${name}/m`));
    expect(reply).toMatchObject({ kind: "broken", stage: "model", message: expect.stringContaining(message) });
  });
});

it("passes on headers, effort, the form of the answer and the output limit, and no blank message", async () => {
  asked.length = 0;
  const model = await open("fake-v4/m", {
    env: { TEAM: "search" },
    headers: ["X-Team=$TEAM"],
    effort: "low",
    maxTokens: 9,
  });
  const messages: Message[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Thanks!" },
    { role: "assistant", content: "\n" },
    { role: "user", content: "Echo hi" },
  ];
  await model.ask({ ...requestOf("", [echo]), messages, answerSchema: { type: "object" } }, signal);
  expect(asked[0]).toMatchObject({
    settings: { headers: { "x-team": "search" } },
    options: {
      maxOutputTokens: 9,
      reasoning: "low",
      responseFormat: { type: "json", schema: { type: "object" } },
      prompt: [
        { role: "system", content: "Be brief." },
        { role: "user", content: [{ type: "text", text: "Thanks!" }] },
        { role: "user", content: [{ type: "text", text: "Echo hi" }] },
      ],
    },
  });
  expect(model.settings).toEqual({ package: "fake-v4", maxTokens: 9, timeoutMs: 120_000, retries: 4, effort: "low" });
});

describe("faults of a service", () => {
  it.each<[string, Fault, string, number]>([
    [
      "a refusal as a list, as Gemini's compatible API has it",
      {
        fault: "text",
        text: '[{"error":{"code":400,"message":"Unknown name \\"const\\"","status":"INVALID_ARGUMENT"}}]',
      },
      'Unknown name "const"',
      5,
    ],
    [
      "a wrong key",
      { fault: "status", status: 400, type: "INVALID_ARGUMENT", message: "API key not valid." },
      "400 INVALID_ARGUMENT: API key not valid.",
      1,
    ],
    [
      "an exhausted quota",
      { fault: "status", status: 429, type: "RESOURCE_EXHAUSTED", message: "Quota exceeded." },
      "429 RESOURCE_EXHAUSTED: Quota exceeded. (after 5 attempts)",
      5,
    ],
    [
      "an overload",
      { fault: "status", status: 503, type: "UNAVAILABLE", message: "Overloaded." },
      "503 UNAVAILABLE: Overloaded. (after 5 attempts)",
      5,
    ],
    ["a broken connection", { fault: "reset" }, "the connection failed: ", 5],
    ["a reply cut off", { fault: "truncated" }, "the connection failed: the reply was cut off (after 5 attempts)", 5],
    ["a reply not in JSON", { fault: "invalid-json" }, "the reply is not one that the package reads but the text", 5],
    ["an empty reply", { fault: "empty" }, "the reply is empty (status 200, no body) (after 5 attempts)", 5],
    [
      "an error that the package reads as an empty reply",
      { fault: "body", body: { error: { code: 503, message: "Overloaded." } } },
      "the reply is not one that the package reads: Overloaded. (after 5 attempts)",
      5,
    ],
    [
      "a hang",
      { fault: "hang" },
      "no reply within 0.2 s (or no connection within 10 s); --timeout allows more (after 2 attempts)",
      2,
    ],
    [
      "an error in a reply",
      { fault: "body", body: { candidates: 1, error: { message: "Upstream failed" } } },
      "the reply is not one that the package reads: Upstream failed",
      5,
    ],
  ])("%s", async (_, fault, message, requests) => {
    const endpoint = await startGeminiEndpoint(() => fault);
    const model = await open(`google/${geminiModel}`, {
      env: { GOOGLE_GENERATIVE_AI_API_KEY: "secret" },
      baseUrl: `${endpoint.url}/v1beta`,
      ...(fault.fault === "hang" && { timeoutMs: 200 }),
    });
    const reply = await ask(model);
    expect(reply).toMatchObject({ kind: "broken", message: expect.stringContaining(message) });
    expect(endpoint.requests).toHaveLength(requests);
  });

  it.each<[string, object[], string]>([
    ["a call that was cut off", [{ text: "So." }, { functionCall: { name: "echo", args: {} } }], "MAX_TOKENS"],
    ["a blank text beside a call", [{ text: " " }, { functionCall: { name: "echo", args: { text: "a" } } }], "STOP"],
  ])("does not send back %s", async (_, parts, finishReason) => {
    const body = { candidates: [{ content: { role: "model", parts }, finishReason }] };
    const endpoint = await startGeminiEndpoint((_body, at) => (at === 0 ? { fault: "body", body } : { text: "ok" }));
    const env = { GOOGLE_GENERATIVE_AI_API_KEY: "secret" };
    const model = await open(`google/${geminiModel}`, { env, baseUrl: `${endpoint.url}/v1beta` });
    const request = requestOf("Echo hi", [echo]);
    const first = await model.ask(request, signal);
    if (first.kind !== "turn") throw new Error(first.message);
    const next = followUp(request, first);
    const isCut = first.turn.calls.length === 0;
    const more = { role: "user" as const, content: "And?" };
    const messages = isCut ? [...next.messages.slice(0, -1), more] : next.messages;
    expect(await model.ask({ ...next, messages }, signal)).toMatchObject({ kind: "turn", turn: { text: "ok" } });
    const sent = endpoint.requests[1]?.body.contents[1]?.parts;
    expect(sent?.map((part) => Object.keys(part)[0])).toEqual([isCut ? "text" : "functionCall"]);
  });

  it("names the URL that was not found", async () => {
    const endpoint = await startGeminiEndpoint(() => ({ text: "ok" }));
    const env = { GOOGLE_GENERATIVE_AI_API_KEY: "secret" };
    const reply = await ask(await open("google/m", { env, baseUrl: endpoint.url }));
    const message = `404 INVALID_ARGUMENT: no such path: /models/m:generateContent (asked for ${endpoint.url}/models/m:generateContent; most base URLs end in /v1)`;
    expect(reply).toMatchObject({ kind: "broken", message: expect.stringContaining(message) });
  });
});
