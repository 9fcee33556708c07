import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_INHERITED_ENV_VARS } from "@modelcontextprotocol/client/stdio";
import { expect, test } from "vitest";
import type { JsonObject } from "../../src/evals/base/types/json.ts";
import { connect } from "../../src/evals/servers/connect.ts";
import { inheritedVariables } from "../../src/evals/servers/stdio.ts";
import { later } from "../fakes/later.ts";
import { fixture, never, open, serve, tidyUp } from "./servers.ts";

tidyUp();

const limits = { startTimeoutMs: 60_000, callTimeoutMs: 60_000 };
const old = "2025-11-25";
const current = "2026-07-28";

const kinds = [
  ["sdk1.mjs", "stdio", [], { name: "sdk1", version: "1.2.3", protocol: old, transport: "stdio" }],
  ["sdk1.mjs", "http", [], { name: "sdk1", version: "1.2.3", protocol: old, transport: "http" }],
  ["sdk1.mjs", "sse", [], { name: "sdk1", version: "1.2.3", protocol: old, transport: "sse" }],
  ["sdk2.mjs", "stdio", [], { name: "sdk2", version: "4.5.6", protocol: current, transport: "stdio" }],
  ["sdk2.mjs", "http", [], { name: "sdk2", version: "4.5.6", protocol: current, transport: "http" }],
  ["sdk2.mjs", "stdio", ["reject"], { name: "sdk2", version: "4.5.6", protocol: current, transport: "stdio" }],
  ["sdk2.mjs", "http", ["reject"], { name: "sdk2", version: "4.5.6", protocol: current, transport: "http" }],
] as const;

const deaths = {
  stdio: /^Server "sut", called for "\w+", exited with code 3\. Its stderr ends with:\n {4}out of cheese$/,
  http: /^Server "sut", called for "\w+", broke the connection at http:.*\/mcp \(.+\)\.$/,
  sse: /^Server "sut", called for "\w+", broke the connection at http:.*\/sse \(.+\)\.$/,
};

async function openKind(script: string, kind: "stdio" | "http" | "sse", args: readonly string[]) {
  if (kind === "stdio") return open({ ...fixture(script, kind, ...args), ...limits });
  const url = await serve(kind === "sse" ? "/sse" : "/mcp", script, kind, ...args);
  return open({ url, transport: kind, ...limits });
}

for (const [script, kind, args, about] of kinds) {
  test(`${script} over ${kind} ${args.join()}: lists, calls, cancels, and reports its end at once`, async () => {
    const server = await openKind(script, kind, args);
    expect(server.about).toEqual(about);
    const names = (await server.list(never)).map(({ name }) => name);
    expect(names.join()).toBe("echo,read_env,get_sum,break_promise,get_media,refuse,crash,hang");
    const answer = async (tool: string, args: JsonObject) => Object(await server.call(tool, args, never)).result;
    const gives = (text: string, more: object = {}) => ({ isError: false, content: [{ type: "text", text }], ...more });
    expect(await answer("echo", { text: "hi" })).toEqual(gives("Echo: hi"));
    expect(await answer("get_sum", { a: 1, b: 2 })).toEqual(gives("3", { structuredContent: { sum: 3 } }));
    expect(await answer("break_promise", {})).toEqual(gives("lots", { structuredContent: { sum: "lots" } }));
    expect(await answer("refuse", {})).toEqual(gives("not today", { isError: true }));
    expect(await server.call("nope", {}, never)).toEqual({ kind: "unknown-tool", message: "Unknown tool: nope" });
    const cancel = new AbortController();
    const cancelled = server.call("hang", {}, cancel.signal);
    cancel.abort();
    expect(await cancelled).toEqual({
      kind: "broken",
      stage: "cancelled",
      message: 'The call of "hang" was cancelled.',
    });
    expect(server.alive()).toBe(true);

    const outcome = await server.call("crash", {}, never);
    // Not "timeout": it is over when the server is.
    expect(outcome).toMatchObject({ kind: "broken", stage: "server" });
    expect(outcome).toMatchObject({ message: expect.stringMatching(deaths[kind]) });
    expect(server.alive()).toBe(false);
    expect(await server.call("echo", { text: "hi" }, never)).toEqual({
      ...outcome,
      message: expect.stringMatching(deaths[kind]),
    });
    await server.close();
    await server.close();
  });
}

test("many calls at once each get their own answer, and Node has nothing to warn of", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on("warning", note);
  const server = await open({ url: await serve("/mcp", "sdk1.mjs", "http"), ...limits });
  const texts = Array.from({ length: 40 }, (_, index) => `text ${index}`);
  const outcomes = await Promise.all(texts.map((text) => server.call("echo", { text }, never)));
  process.off("warning", note);
  expect(outcomes.map((outcome) => outcome.kind === "result" && outcome.result.content[0]?.text)).toEqual(
    texts.map((text) => `Echo: ${text}`),
  );
  expect(warnings).toEqual([]);
});

test("a server that is closed is not alive, and its calls are broken", async () => {
  const server = await open(fixture("faulty.mjs", "fine"));
  await server.close();
  expect(server.alive()).toBe(false);
  expect(await server.call("tool_0", {}, never)).toEqual({
    kind: "broken",
    stage: "server",
    message: 'Server "sut", called for "tool_0", was closed.',
  });
});

test("resources are kept with their text, links with their target, and binary data as type and size", async () => {
  const server = await open(fixture("sdk1.mjs"));
  expect(await server.call("get_media", {}, never)).toEqual({
    kind: "result",
    result: {
      isError: false,
      content: [
        { type: "image", mimeType: "image/png", bytes: 5 },
        { type: "audio", mimeType: "audio/wav", bytes: 5 },
        { type: "resource_link", mimeType: "text/plain", bytes: 7, uri: "file:///a", name: "a" },
        { type: "resource", uri: "file:///b", text: "four" },
        { type: "resource", uri: "file:///c", mimeType: "application/pdf", bytes: 5 },
      ],
    },
  });
});

test("a result of the first revision of the protocol is kept as text", async () => {
  const server = await open(fixture("sdk1.mjs"));
  expect(await server.call("answer_as_in_2024", {}, never)).toEqual({
    kind: "result",
    result: { isError: false, content: [{ type: "text", text: '{"temperature":21}' }] },
  });
});

test("a call that takes longer than callTimeoutMs is broken, and the server lives on", async () => {
  const server = await open({ ...fixture("sdk1.mjs"), callTimeoutMs: 100 });
  expect(await server.call("hang", {}, never)).toEqual({
    kind: "broken",
    stage: "timeout",
    message: 'Server "sut", called for "hang", did not answer within 0.1 s.',
  });
  expect(server.alive()).toBe(true);
});

test("a server sees the default environment and what its entry names, no more", async () => {
  expect(inheritedVariables).toEqual(DEFAULT_INHERITED_ENV_VARS);
  const env = { PATH: "/bin", HOME: "/home/x", TERM: "() { :; }", API_KEY: "secret", NODE_OPTIONS: "--no-warnings" };
  const spec = { ...fixture("sdk1.mjs"), env: { TOKEN: "named" } };
  const server = await connect(spec, { name: "sut", dir: "/", env, signal: never });
  const outcome = await server.call("read_env", {}, never);
  await server.close();
  const text = outcome.kind === "result" ? outcome.result.content[0]?.text : undefined;
  expect(JSON.parse(text ?? "")).toEqual({ PATH: "/bin", HOME: "/home/x", TOKEN: "named" });
});

test("a server of the new revision alone that is slow to start, as when npx installs it first", async () => {
  const folder = await mkdtemp(join(tmpdir(), "toolsets-"));
  later(() => rm(folder, { recursive: true }));
  const spec = fixture("sdk2.mjs", "stdio", "reject", join(folder, "once.started"));
  const server = await open({ ...spec, startTimeoutMs: 60_000 });
  expect(server.about).toMatchObject({ protocol: current });
});

test("a server that is known to be old is not asked for its revision again", async () => {
  const spec = { ...fixture("faulty.mjs", "leaves-early"), ...limits };
  const context = { name: "sut", dir: "/", env: process.env, signal: never };
  const server = await connect(spec, { ...context, revision: old });
  expect(server.about).toMatchObject({ protocol: old });
  await server.close();
});
