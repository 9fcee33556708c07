import { accessSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, vi } from "vitest";
import { cacheReplies, openReplyCache } from "../../src/evals/asking/models/cache.ts";
import { noUsage } from "../../src/evals/base/types/model.ts";
import type { Call, Trial, Turn } from "../../src/evals/base/types/trial.ts";
import { openAskedModel } from "../../src/evals/experiments/workspace/models.ts";
import { createProject } from "../asking/models/local/stub.ts";
import { cell } from "../asking/models/request.ts";
import { makeFolder } from "../fakes/folder.ts";
import { type CompletionsBody, startCompletionsEndpoint } from "../fixtures/endpoints/completions.ts";
import type { Endpoint, Script } from "../fixtures/endpoints/endpoint.ts";
import { geminiModel, startGeminiEndpoint } from "../fixtures/endpoints/gemini.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { startResponsesEndpoint } from "../fixtures/endpoints/responses.ts";
import { modelContract, type Subject } from "./model.ts";

type Scripted = { name: string; input: { [key: string]: string } }[];

/** What an endpoint calls in a case of the contract; in a later turn, and without tools, nothing. */
function scripted(caseId: string, isLater: boolean, names: readonly string[]): Scripted {
  if (isLater || names.length === 0) return [];
  const echo = { name: "echo", input: { text: "hello" } };
  const read = { name: names.find((name) => name.includes("read")) ?? "", input: { path: "notes.txt" } };
  const answers: Record<string, Scripted> = {
    echo: [echo],
    two: [echo, echo],
    read: [read],
    unknown: [{ name: "no_such_tool", input: {} }],
  };
  return answers[caseId] ?? [];
}

/** One model made of one for each case, each with an endpoint that knows which case it is asked in. */
async function perCase(open: (caseId: string, hung: () => void) => ReturnType<Subject["open"]>) {
  let hung = () => {};
  const waiting = new Promise<void>((resolve) => {
    hung = resolve;
  });
  const ids = ["echo", "two", "read", "unknown", "hang"];
  const opened = new Map(await Promise.all(ids.map(async (id) => [id, await open(id, () => hung())] as const)));
  const [first] = opened.values();
  if (!first) throw new Error("no case");
  return {
    model: {
      ...first.model,
      ask: (...args: Parameters<typeof first.model.ask>) => (opened.get(args[0].cell.case) ?? first).model.ask(...args),
    },
    underway: () => waiting,
    refused: () => [...opened.values()].flatMap(({ refused }) => refused()),
    close: async () => {
      await Promise.all([...opened.values()].map(({ close }) => close()));
    },
  };
}

/**
 * A model at an endpoint of its own for each case. `read`: the names of tools in a request, and whether it is of a later
 * turn; `say`: the answer with these calls, or without any.
 */
const atEndpoint = <Body, Answer>(
  start: (script: Script<Body, Answer>) => Promise<Endpoint<Body>>,
  read: (body: Body) => [isLater: boolean, names: string[]],
  say: (calls: Scripted) => Answer,
  open: (url: string) => ReturnType<typeof openAskedModel>,
): Subject => ({
  generates: true,
  waits: true,
  open: () =>
    perCase(async (caseId, hung) => {
      const endpoint = await start((body) => {
        if (caseId === "hang") {
          hung();
          return { fault: "hang" };
        }
        return say(scripted(caseId, ...read(body)));
      });
      return {
        model: await open(endpoint.url),
        underway: async () => {},
        refused: () => endpoint.requests.flatMap(({ refused }) => refused ?? []),
        close: endpoint.close,
      };
    }),
});

const anthropicSubject = atEndpoint(
  startMessagesEndpoint,
  ({ messages, tools = [] }) => [messages.length > 1, tools.map(({ name }) => name)],
  (calls) => ({ text: "ok", calls }),
  (url) =>
    openAskedModel("anthropic:claude-sonnet-5-5", { env: { ANTHROPIC_API_KEY: "secret", ANTHROPIC_BASE_URL: url } }),
);

const readCompletion = ({ messages, tools = [] }: CompletionsBody): [boolean, string[]] => [
  messages.length > 1,
  tools.map((tool) => tool.function.name),
];
const writeCompletion = (calls: Scripted) =>
  calls.length === 0
    ? { text: "ok" }
    : { calls: calls.map(({ name, input }) => ({ name, arguments: JSON.stringify(input) })) };

const openaiSubject = atEndpoint(startCompletionsEndpoint, readCompletion, writeCompletion, (url) =>
  openAskedModel("openai:local", { env: { OPENAI_API_KEY: "secret", OPENAI_BASE_URL: `${url}/v1` } }),
);

const responsesSubject = atEndpoint(
  startResponsesEndpoint,
  ({ input, tools = [] }) => [input.length > 1, tools.map(({ name = "" }) => name)],
  (calls) => (calls.length === 0 ? { text: "ok" } : { calls }),
  (url) => {
    const env = { OPENAI_API_KEY: "secret", OPENAI_BASE_URL: `${url}/v1` };
    return openAskedModel("openai:gpt-6.1", { env, toolSearch: true });
  },
);

const aiSdkGoogleSubject = atEndpoint(
  startGeminiEndpoint,
  ({ contents, tools = [] }) => [
    contents.length > 1,
    tools.flatMap((tool) => tool.functionDeclarations.map(({ name }) => name)),
  ],
  (calls) => (calls.length === 0 ? { text: "ok" } : { calls }),
  (url) => {
    const env = { GOOGLE_GENERATIVE_AI_API_KEY: "secret" };
    return openAskedModel(`ai:google/${geminiModel}`, { env, baseUrl: `${url}/v1beta` });
  },
);

const aiSdkMistralSubject = atEndpoint(
  startCompletionsEndpoint,
  readCompletion,
  (calls) => ({ usage: { total_tokens: 110 }, ...writeCompletion(calls) }),
  (url) =>
    openAskedModel("ai:@ai-sdk/mistral/mistral-small", {
      env: { MISTRAL_API_KEY: "secret" },
      baseUrl: `${url}/v1`,
    }),
);

const lexicalSubject: Subject = {
  generates: false,
  waits: false,
  open: async () => ({
    model: await openAskedModel("lexical", { env: {} }),
    underway: async () => {},
    refused: () => [],
    close: async () => {},
  }),
};

function recordedTrial(caseId: string, calls: Omit<Call, "id">[]): Trial {
  const turn = { text: "", usage: noUsage, ms: 5 };
  const first: Turn = { ...turn, stop: "calls", calls: calls.map((call, i) => ({ ...call, id: `r${i}` })) };
  const trial = { toolset: "", orderSeed: 1, costUsd: 0, startedAt: "2026-11-01T00:00:00Z", ms: 10 };
  const last: Turn = { ...turn, stop: "done", calls: [] };
  return { ...trial, cell: { ...cell, case: caseId }, outcome: { kind: "answered" }, turns: [first, last] };
}

const replaySubject: Subject = {
  generates: true,
  waits: false,
  open: async () => {
    const echo = { tool: "echo", arguments: { text: "hello" } };
    const trials = [
      recordedTrial("echo", [echo]),
      recordedTrial("two", [echo, echo]),
      recordedTrial("read", [{ tool: "files.read", arguments: { path: "notes.txt" } }]),
      recordedTrial("unknown", [{ tool: "no_such_tool", arguments: {} }]),
    ];
    return {
      model: await openAskedModel("replay:old", { env: {}, recorded: async () => ({ models: [], trials }) }),
      underway: async () => {},
      refused: () => [],
      close: async () => {},
    };
  },
};

/** The same model behind a cache of its own, which is empty at first. */
const withCache = (subject: Subject): Subject => ({
  ...subject,
  open: async () => {
    const opened = await subject.open();
    return { ...opened, model: cacheReplies(opened.model, await openReplyCache(makeFolder(), String), "1") };
  },
});

const remote = {
  ...{ anthropic: anthropicSubject, openai: openaiSubject, "openai with tool search": responsesSubject },
  ...{ "ai:google": aiSdkGoogleSubject, "ai:mistral": aiSdkMistralSubject },
};
describe.each(Object.entries(remote))("%s", (_, subject) => modelContract(subject));
describe.each(Object.entries(remote))("%s with a cache", (_, subject) => modelContract(withCache(subject)));
describe("lexical", () => modelContract(lexicalSubject));
describe("replay", () => modelContract(replaySubject));

/** A file of a user that answers as the endpoints do. */
const customSubject: Subject = {
  generates: true,
  waits: true,
  open: async () => {
    const dir = makeFolder();
    const underway = join(dir, "underway");
    writeFileSync(
      join(dir, "model.mjs"),
      `import { writeFileSync } from "node:fs";
const scripted = ${scripted.toString()};
export default ({ case: id, messages, tools }) => {
  if (id === "hang") { writeFileSync(${JSON.stringify(underway)}, ""); return new Promise(() => {}); }
  const calls = scripted(id, messages.length > 1, tools.map(({ name }) => name));
  return { text: "ok", calls: calls.map(({ name, input }) => ({ tool: name, arguments: input })) };
};`,
    );
    return {
      model: await openAskedModel("custom:model.mjs", { env: {}, cwd: dir }),
      underway: async () => void (await vi.waitUntil(() => existsSync(underway), { timeout: 60_000 })),
      refused: () => [],
      close: async () => {},
    };
  },
};

describe("custom", () => modelContract(customSubject));

/** The stub of node-llama-cpp in one process for all tests, told in the query which case it is asked. */
describe("local", () => {
  const project = createProject();
  const opened = openAskedModel("local:m.gguf", project);
  afterAll(() => rmSync(project.cwd, { recursive: true, force: true }));
  modelContract({
    generates: true,
    waits: true,
    open: async () => {
      const model = await opened;
      return {
        model: {
          ...model,
          ask: ({ messages, ...request }, signal) => {
            const [first, ...others] = messages;
            const told = first && {
              ...first,
              content: `${"content" in first && first.content} [case ${request.cell.case}]`,
            };
            return model.ask({ ...request, messages: told ? [told as typeof first, ...others] : [] }, signal);
          },
        },
        underway: () => vi.waitFor(() => accessSync(join(project.cwd, "hanging"))),
        refused: () => [],
        close: async () => {},
      };
    },
  });
});
