import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Io } from "../../../../src/evals/base/types/io.ts";
import type { AskedModel } from "../../../../src/evals/base/types/model.ts";
import type { Usage } from "../../../../src/evals/base/types/trial.ts";
import { openAskedModel } from "../../../../src/evals/experiments/workspace/models.ts";
import { cell, requestOf, tool } from "../request.ts";
import { createProject, qwen } from "./stub.ts";

const never = new AbortController().signal;
const tools = [
  tool("echo", "Echoes the text back.", { text: "the text to echo" }),
  tool("files.read", "Reads a file.", { path: "path of the file" }),
];

function setUp(model?: Parameters<typeof createProject>[0]) {
  const project = createProject(model);
  onTestFinished(() => rmSync(project.cwd, { recursive: true, force: true }));
  return project;
}

const ask = (model: AskedModel, id: string, more: object = {}) =>
  model.ask(requestOf(`Do it [case ${id}]`, tools, { cell: { ...cell, case: id }, seed: 7, ...more }), never);

type Answered = { turn: { usage: Usage } };

const quietIo = { err: () => {}, errIsTerminal: false, signal: never } as unknown as Io;

it("states the memory before it loads, and records weights, template and sampling", async () => {
  const told: string[] = [];
  const sampling = { temp: 0.2, top_k: 5 };
  const io = { ...quietIo, err: (text: string) => void told.push(text) };
  const model = await openAskedModel("local:m.gguf", { ...setUp({ template: qwen, sampling }), io });
  expect(told.join("").replace(/from \S+/, "from <file>")).toMatchInlineSnapshot(`
    "Loading Stub from <file> about 1 MB of memory with a context of 8,192 tokens. Reading a list of tools takes longest; it is kept for later requests.
    "
  `);
  expect(model.note).toBe("a small model, which says little about a large one");
  expect(model.settings).toEqual({
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    engine: "node-llama-cpp 0.0.0",
    template: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ...{ temperature: 0.2, topP: 0.8, topK: 5, minP: 0, maxTokens: 512, timeoutMs: 120_000 },
  });
});

it("reads a tool list once, keeps its state on disk, and seeds each reply", async () => {
  const project = setUp();
  const model = await openAskedModel("local:m.gguf", project);
  await ask(model, "echo");
  await ask(model, "read");
  const again = await openAskedModel("local:m.gguf", project);
  const { turn } = (await ask(again, "echo")) as { turn: { usage: object } };
  await ask(again, "echo", { tools: [...tools].reverse() });
  const lines = project.log().map((line) => line.replace(/^(prefix) \d+$/, "$1"));
  const told = lines.filter((line, at) => /^(prefix|load|ask)/.test(line) && line !== lines[at - 1]);
  expect(told).toMatchInlineSnapshot(`
    [
      "prefix",
      "ask echo seed 875531614 temperature 0.7 topP 0.8",
      "ask read seed 656902989 temperature 0.7 topP 0.8",
      "load",
      "ask echo seed 875531614 temperature 0.7 topP 0.8",
      "prefix",
      "ask echo seed 875531614 temperature 0.7 topP 0.8",
    ]
  `);
  expect(turn.usage).toMatchObject({ cacheReadTokens: expect.any(Number), cacheWriteTokens: 0 });
});

it("reads of a list that begins like the one before only what differs", async () => {
  const project = setUp();
  const model = await openAskedModel("local:m.gguf", project);
  const edited = [...tools, tool("files.write", "Writes a file.", { path: "path of the file" })];
  const { turn: first } = (await ask(model, "echo", { tools })) as Answered;
  const { turn: second } = (await ask(model, "echo", { tools: edited })) as Answered;
  expect(first.usage).toMatchObject({ cacheReadTokens: 0 });
  const { cacheReadTokens: known, cacheWriteTokens: read } = second.usage;
  expect(known % 128).toBe(0);
  expect(known).toBeGreaterThan(256);
  const lengths = project.log().flatMap((line) => /^prefix (\d+)$/.exec(line)?.slice(1).map(Number) ?? []);
  expect(lengths.reduce((sum, length) => sum + length)).toBe(first.usage.cacheWriteTokens + read);
});

it("constrains a reply from where a call begins, in the form of the template or in a code block", async () => {
  const project = setUp();
  const model = await openAskedModel("local:m.gguf", project);
  const native = await ask(model, "read");
  const fenced = await ask(model, "fenced");
  expect([native, fenced]).toMatchObject([
    { turn: { text: "", calls: [{ tool: "files.read", arguments: { path: "notes.txt" } }], stop: "calls" } },
    {
      turn: {
        text: "I will read it.",
        calls: [{ tool: "files.read", arguments: { path: "notes.txt" } }],
        stop: "calls",
      },
    },
  ]);
  expect(project.log().filter((line) => /^(constrained|free)/.test(line))).toMatchInlineSnapshot(`
    [
      "constrained root ::= ws "{" ws "\\"name\\"" ws ":" ws "\\"" ( "echo" "\\"" ws "," ws "\\"arguments\\"" ws ":" ws r0 | "files.read" "\\"" ws "," ws "\\"arguments\\"" ws ":" ws r1 ) ws "}"",
      "free",
      "constrained root ::= ws "\\"" ( "echo" "\\"" ws "," ws "\\"arguments\\"" ws ":" ws r0 | "files.read" "\\"" ws "," ws "\\"arguments\\"" ws ":" ws r1 ) ws "}"",
    ]
  `);
});

it("leaves a reply free with --free, so that a call in a code block is text", async () => {
  const project = setUp();
  const model = await openAskedModel("local:m.gguf", { ...project, free: true });
  expect(await ask(model, "fenced")).toMatchObject({ turn: { calls: [], stop: "done" } });
  expect(await ask(model, "unknown")).toMatchObject({ turn: { calls: [{ tool: "no_such_tool" }] } });
  expect(project.log().filter((line) => line.startsWith("constrained"))).toEqual([]);
  expect(model.settings).toMatchObject({ free: true });
});

it("cuts a reply at the limit of its tokens, and at that of its time", async () => {
  const project = setUp();
  const model = await openAskedModel("local:m.gguf", project);
  expect(await ask(model, "long")).toMatchObject({ turn: { stop: "cut", calls: [], usage: { outputTokens: 512 } } });
  const quick = await openAskedModel("local:m.gguf", { ...project, timeoutMs: 50 });
  expect(await ask(quick, "hang")).toEqual({
    ...{ kind: "broken", stage: "timeout", message: "no complete reply within 0.05 s" },
  });
});

it("breaks the trial in which the process crashes, and starts the model again", async () => {
  const model = await openAskedModel("local:m.gguf", setUp());
  expect(await ask(model, "crash")).toEqual({
    ...{ kind: "broken", stage: "model", message: expect.stringMatching(/^the process of the model ended by SIGABRT/) },
  });
  expect(await ask(model, "echo")).toMatchObject({ kind: "turn" });
});

it("breaks a request that is larger than the context, with both numbers", async () => {
  const model = await openAskedModel("local:m.gguf", setUp({ template: qwen, context: 600 }));
  expect(await ask(model, "echo")).toMatchObject({
    stage: "model",
    message: expect.stringMatching(
      /^the request has \d+ tokens, \d+ of them the tool list, and its reply up to 512; the context of the model has 600$/,
    ),
  });
});

it("ends with one error where the process is stopped while it loads", async () => {
  const stopping = new AbortController();
  const io = { ...quietIo, signal: stopping.signal, err: () => stopping.abort() };
  const opened = openAskedModel("local:m.gguf", { ...setUp({ template: qwen, fault: "hang" }), io });
  await expect(opened).rejects.toMatchObject({ message: "error: Stopped while the model was loaded.", exitCode: 3 });
});

it.each<[string, Parameters<typeof createProject>[0]]>([
  ["no GGUF file", "PK\u0003\u0004 a zip"],
  ["a file that is cut off", { template: qwen, fault: "tensor 'blk.1' data is not within the file bounds" }],
  ["an unknown architecture", { template: qwen, fault: "unknown model architecture: 'mamba9'" }],
  ["no chat template", {}],
  ["a template that is none", { template: "{% if %}" }],
  ["more memory than there is", { template: qwen, bytes: 9e15 }],
  ["a crash while it loads", { template: qwen, fault: "abort" }],
])("refuses %s with one error", async (_, model) => {
  const project = setUp(model);
  const error = await openAskedModel("local:m.gguf", project).catch((thrown: Error) => thrown);
  const shown = String((error as Error).message)
    .replaceAll(project.cwd, "<cwd>")
    .replace(/[\d,]+ MB are/, "<n> MB are");
  expect(shown).toMatchSnapshot();
});

it("says how to install the library where it is missing", async () => {
  const project = setUp();
  rmSync(join(project.cwd, "node_modules"), { recursive: true });
  await expect(openAskedModel("local:m.gguf", project)).rejects.toThrow(/^error: node-llama-cpp is not installed/);
});
