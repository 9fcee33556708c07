import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { buildEnvironment, createSlots } from "../../src/evals/hosts/claudeCode/index.ts";
import { startRelay } from "../../src/evals/hosts/claudeCode/relay.ts";
import { connect } from "../../src/evals/toolsets/connect.ts";
import type { HostedTrial } from "../../src/evals/types/model.ts";
import { openModel } from "../../src/evals/workspace/models.ts";
import { cell } from "../models/request.ts";

const never = new AbortController().signal;
const root = mkdtempSync(join(tmpdir(), "evals-claude-code-"));
afterAll(() => rmSync(root, { recursive: true }));
let folders = 0;
const freshFolder = () => {
  const dir = join(root, String(folders++));
  mkdirSync(dir);
  return dir;
};

describe("the relay of tool servers", () => {
  it("offers exactly the tools of a service, and answers calls with their executions", async () => {
    const relay = await startRelay();
    const tool = {
      name: "files.read",
      description: "Reads.",
      inputSchema: { type: "object", properties: { path: { type: "string" } } },
      annotations: { readOnlyHint: true },
    };
    const image = { type: "image", mimeType: "image/png", bytes: 3 };
    const service = relay.serve({
      name: "files",
      tools: [tool],
      call: async (_, { path }) =>
        path === "a"
          ? {
              status: "executed",
              ms: 1,
              result: { isError: false, content: [{ type: "text", text: "A" }, image], structuredContent: { a: 1 } },
            }
          : { status: "skipped", reason: "it is not safe" },
    });
    const server = await connect({ url: service.url }, { name: "sut", dir: root, env: {}, signal: never });
    expect(await server.list(never)).toEqual([tool]);
    expect(await server.call("files.read", { path: "a" }, never)).toEqual({
      kind: "result",
      result: {
        isError: false,
        content: [
          { type: "text", text: "A" },
          { type: "text", text: "[image image/png]" },
        ],
        structuredContent: { a: 1 },
      },
    });
    expect(await server.call("files.read", {}, never)).toMatchObject({
      result: { isError: true, content: [{ text: "This call was not executed: it is not safe" }] },
    });
    const statusOf = async (url: string, method: string) => (await fetch(url, { method })).status;
    expect([await statusOf(service.url, "GET"), await statusOf(`${service.url}x`, "POST")]).toEqual([405, 404]);
    service.close();
    expect(await statusOf(service.url, "POST")).toBe(404);
    await server.close();
  });
});

describe("slots", () => {
  it("limit concurrency, first come, first served, and skip who gave up", async () => {
    const take = createSlots(2);
    const first = await take(never);
    const second = await take(never);
    const controller = new AbortController();
    const order: string[] = [];
    const impatient = take(controller.signal);
    const third = take(never).then((release) => {
      order.push("third");
      return release;
    });
    const fourth = take(never).then((release) => {
      order.push("fourth");
      return release;
    });
    controller.abort();
    expect(await impatient).toBeUndefined();
    expect(order).toEqual([]);
    first?.();
    first?.();
    (await third)?.();
    second?.();
    await fourth;
    expect(order).toEqual(["third", "fourth"]);
    expect(await take(AbortSignal.abort())).toBeUndefined();
  });
});

describe("the environment of Claude Code", () => {
  it("passes on credentials and proxies, and nothing else of the user's", () => {
    const env = {
      PATH: "/bin",
      HOME: "/home/me",
      AWS_SECRET: "x",
      CLAUDE_CODE_USE_BEDROCK: "1",
      https_proxy: "p",
      ANTHROPIC_MODEL: "m",
    };
    expect(
      buildEnvironment({ env, baseUrl: "http://127.0.0.1:1" }, { apiKey: "key", retries: 2, maxTokens: 9 }),
    ).toEqual({
      PATH: "/bin",
      https_proxy: "p",
      ANTHROPIC_MODEL: "m",
      ANTHROPIC_API_KEY: "key",
      ANTHROPIC_BASE_URL: "http://127.0.0.1:1",
      TERM: "dumb",
      NO_PROXY: "127.0.0.1",
      CLAUDE_CODE_MAX_RETRIES: "2",
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: "9",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
      ENABLE_TOOL_SEARCH: "false",
    });
    const withToken = buildEnvironment(
      { env: { CLAUDE_CODE_OAUTH_TOKEN: "t" } },
      { apiKey: "t", retries: 2, maxTokens: 9 },
    );
    expect(withToken).toMatchObject({ CLAUDE_CODE_OAUTH_TOKEN: "t" });
    expect(withToken).not.toHaveProperty("ANTHROPIC_API_KEY");
  });
});

describe("a program in place of Claude Code", () => {
  const programOf = (script: string) => {
    const path = join(freshFolder(), "claude");
    writeFileSync(path, `#!/bin/sh\n[ "$1" = --version ] && echo "9.9.9 (Claude Code)" && exit\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  };
  const open = async (claudePath: string, more = {}) => {
    const env = { ANTHROPIC_API_KEY: "secret", PATH: process.env.PATH };
    const model = await openModel("claude-code", { env, claudePath, ...more });
    if (!("converse" in model)) throw new Error("not a host");
    return model;
  };
  const trial = (change: Partial<HostedTrial> = {}): HostedTrial => ({
    cell,
    messages: [{ role: "user", content: "hi" }],
    tools: [],
    skills: [],
    exposure: "all",
    instructions: [],
    files: [],
    maxTurns: 3,
    execute: async () => ({ status: "skipped", reason: "no" }),
    ...change,
  });

  it("is refused when it is missing or another program", async () => {
    const hint =
      "Install it (npm install -g @anthropic-ai/claude-code), or set CLAUDE_CODE_PATH to the path of the program.";
    await expect(open("/no/claude")).rejects.toThrow(
      `error: Claude Code cannot be started as "/no/claude": spawn /no/claude ENOENT.\n  ${hint}`,
    );
    const other = join(freshFolder(), "claude");
    writeFileSync(other, "#!/bin/sh\necho 1.0 of something\n");
    chmodSync(other, 0o755);
    await expect(open(other)).rejects.toThrow(
      `error: "${other}" is not Claude Code: its version is "1.0 of something".\n  ${hint}`,
    );
  });

  it("is described as a host, with what decides its answers and no secret", async () => {
    const { id, kind, settings, note, deterministic } = await open(programOf(""));
    expect({ id, kind, settings, note, deterministic }).toEqual({
      id: "claude-code",
      kind: "language model",
      settings: {
        baseUrl: "https://api.anthropic.com/",
        maxTokens: 32000,
        timeoutMs: 300000,
        retries: 4,
        claudeCode: "9.9.9",
        model: "the host's default",
      },
      note: "a host with its own system prompt, skills and limits: not comparable with the model alone",
      deterministic: false,
    });
  });

  it("reports a case that it cannot run, and why it failed", async () => {
    const model = await open(programOf("echo no such option >&2; exit 3"));
    const earlier = trial({
      messages: [
        { role: "assistant", content: "yes?" },
        { role: "user", content: "hi" },
      ],
    });
    const twice = [{ name: "a.b" }, { name: "a_b" }].map(({ name }) => {
      return { name, inputSchema: { type: "object" }, server: "s", origin: "server" } as const;
    });
    const trials = [earlier, trial({ tools: twice }), trial()];
    const answers = await Promise.all(trials.map((one) => model.converse(one, never)));
    expect(answers.map(({ outcome }) => outcome.kind === "broken" && `${outcome.stage}: ${outcome.message}`)).toEqual([
      "model: Claude Code cannot start from earlier replies: use a case without them, or another model",
      'model: Claude Code could not run the trial: "a.b" and "a_b" would both be shown as "mcp__s__a_b"',
      "model: Claude Code exited with code 3 before it started: no such option",
    ]);
  });

  it("is not started for a trial that is cancelled while it waits for a slot", async () => {
    const started = join(freshFolder(), "started");
    const model = await open(programOf(`echo x >> ${started}; exec sleep 60`), { claudeProcesses: 1, timeoutMs: 300 });
    const controller = new AbortController();
    const running = model.converse(trial(), never);
    const waiting = model.converse(trial(), controller.signal);
    controller.abort();
    expect(await waiting).toEqual({
      outcome: { kind: "broken", stage: "cancelled", message: "the trial was cancelled" },
      turns: [],
    });
    expect((await running).outcome).toEqual({
      kind: "broken",
      stage: "timeout",
      message: "Claude Code did not finish within 0.3 s; raise --timeout",
    });
    expect(readFileSync(started, "utf8")).toBe("x\n");
  });
});
