import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { buildEnvironment } from "../../../src/evals/asking/hosts/claudeCode.ts";
import type { HostedTrial } from "../../../src/evals/base/types/model.ts";
import { openModel } from "../../../src/evals/experiments/workspace/models.ts";
import { makeFolder } from "../../fakes/folder.ts";
import { cell } from "../models/request.ts";

const never = new AbortController().signal;
describe("the environment of Claude Code", () => {
  it("passes on credentials, and nothing else of the user's", () => {
    const env = {
      PATH: "/bin",
      HOME: "/home/me",
      AWS_SECRET: "x",
      CLAUDE_CODE_USE_BEDROCK: "1",
      https_proxy: "p",
      ANTHROPIC_BASE_URL: "http://127.0.0.1:1",
      ANTHROPIC_MODEL: "m",
    };
    expect(buildEnvironment({ env }, { apiKey: "key", retries: 2, maxTokens: 9 })).toEqual({
      PATH: "/bin",
      ANTHROPIC_MODEL: "m",
      ANTHROPIC_API_KEY: "key",
      TERM: "dumb",
      CLAUDE_CODE_MAX_RETRIES: "2",
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: "9",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
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
    const path = join(makeFolder(), "claude");
    writeFileSync(path, `#!/bin/sh\n[ "$1" = --version ] && echo "9.9.9 (Claude Code)" && exit\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  };
  const open = async (program: string, more = {}) => {
    const env = { ANTHROPIC_API_KEY: "secret", PATH: process.env.PATH, CLAUDE_CODE_PATH: program };
    const model = await openModel("claude-code", { env, ...more });
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
    const other = join(makeFolder(), "claude");
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
      "model: Claude Code exited with code 3 without a model request: no such option",
    ]);
  });

  it("is not started for a trial that is cancelled while it waits for a slot", async () => {
    const started = join(makeFolder(), "started");
    const model = await open(programOf(`echo x >> ${started}; exec sleep 600`), { hostProcesses: 1 });
    const [first, second] = [new AbortController(), new AbortController()];
    const running = model.converse(trial(), first.signal);
    const waiting = model.converse(trial(), second.signal);
    second.abort();
    const outcome = { kind: "broken", stage: "cancelled", message: "the trial was cancelled" };
    expect(await waiting).toEqual({ outcome, turns: [] });
    const starts = () => (existsSync(started) ? readFileSync(started, "utf8") : "");
    await expect.poll(starts).toBe("x\n");
    first.abort();
    expect((await running).outcome).toEqual(outcome);
    expect(starts()).toBe("x\n");
  });

  it("is started with what it may use, and the prompt on its standard input", async () => {
    const record = join(makeFolder(), "started");
    const script = `{ printf '%s\\n' "$@"; cat; echo; cat "\${10}"; } > ${record}`;
    const model = await open(programOf(script), { effort: "max" });
    const tool = { name: "get", inputSchema: { type: "object" }, server: "s", origin: "server" } as const;
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Say hi" },
    ] as const;
    await model.converse(trial({ messages, tools: [tool], writable: true }), never);
    const started = readFileSync(record, "utf8").replace(/\/\S*evals-host-\w+/g, "DIR");
    expect(started.replace(/127\.0\.0\.1:[^"]+/, "RELAY")).toMatchInlineSnapshot(`
      "-p
      --output-format
      json
      --no-session-persistence
      --setting-sources
      project
      --settings
      {"disableAllHooks":true,"disableSkillShellExecution":true}
      --mcp-config
      DIR/mcp.json
      --strict-mcp-config
      --permission-mode
      dontAsk
      --effort
      max
      --tools
      Read,Glob,Grep,Write,Edit
      --allowedTools
      mcp__s,Edit(./**)
      --append-system-prompt-file
      DIR/system.md
      Say hi
      {"mcpServers":{"s":{"type":"http","url":"http://RELAY"}}}"
    `);
  });

  it("is ended when it sends a failed request again more often than the retries allow", async () => {
    let requests = 0;
    const server = createServer((_, response) => {
      requests++;
      response.writeHead(500, { "content-type": "application/json" }).end('{"error":{"message":"down"}}');
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const script = join(makeFolder(), "stubborn.mjs");
    const body = { model: "m", messages: [{ role: "user", content: "hi" }], tools: [{ name: "Read" }] };
    writeFileSync(
      script,
      `const options = { method: "POST", body: ${JSON.stringify(JSON.stringify(body))} };
      for (;;) await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", options).catch(() => {});`,
    );
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const model = await open(programOf(`exec node ${script}`), { baseUrl, retries: 2 });
    expect((await model.converse(trial(), never)).outcome).toEqual({
      kind: "broken",
      stage: "model",
      message: "the provider answered 500: down (3 attempts)",
    });
    expect(requests).toBe(3);
  });

  it("is ended when it takes too long", async () => {
    const model = await open(programOf("exec sleep 600"), { timeoutMs: 300 });
    expect((await model.converse(trial(), never)).outcome).toEqual({
      kind: "broken",
      stage: "timeout",
      message: "Claude Code did not finish within 0.3 s: it made no model request; raise --timeout",
    });
  });
});
