// node bench/hosts.mjs [host] [rounds]: what a trial in a true host costs, next to the bare program with the same
// configuration, the same server over the same transport and the same endpoint, in turns: one at a time, and ten at once.
// The CPU time of the program is that of its process group; that of the harness is its own process, counted separately.
import { execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const stream = (events) => events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

/** Where the Copilot CLI unpacks itself, once for both sides. */
const copilotPackages = join(tmpdir(), "evals-bench-copilot");

/** How each host shows the tool, and the model that it is asked for. */
const hosts = {
  "claude-code": { tool: "mcp__reference__echo", model: "claude-code:claude-sonnet-5-5" },
  codex: { tool: "echo", model: "codex:gpt-5.4" },
  copilot: { tool: "reference-echo", model: "copilot:claude-sonnet-5-5" },
  goose: { tool: "reference__echo", model: "goose:anthropic/claude-sonnet-5-5" },
};

/** The first reply calls echo, the second ends the conversation. */
function messagesReply({ model, messages }, name) {
  const isFirst = !messages.some(({ role }) => role === "assistant");
  const block = isFirst ? { type: "tool_use", id: "toolu_1", name, input: {} } : { type: "text", text: "" };
  const delta = isFirst
    ? { type: "input_json_delta", partial_json: '{"text":"hello"}' }
    : { type: "text_delta", text: "Done." };
  const usage = { input_tokens: 100, output_tokens: 10 };
  const message = { id: "msg_1", type: "message", role: "assistant", model, content: [], stop_reason: null, usage };
  return stream([
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: isFirst ? "tool_use" : "end_turn" }, usage },
    { type: "message_stop" },
  ]);
}

function responsesReply({ model, input }) {
  const call = { type: "function_call", id: "fc_1", call_id: "call_1", namespace: "mcp__reference", name: "echo" };
  const item = input.some(({ type }) => type === "function_call")
    ? { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Done." }] }
    : { ...call, arguments: '{"text":"hello"}' };
  const usage = { input_tokens: 100, output_tokens: 10, total_tokens: 110 };
  const response = { id: "resp_1", object: "response", model, status: "completed", output: [item], usage };
  return stream([
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response },
  ]);
}

if (process.argv[2] === "endpoint") {
  const endpoint = createServer(async (request, response) => {
    const body = JSON.parse((await text(request)) || "{}");
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(body.input ? responsesReply(body) : messagesReply(body, hosts[process.argv[3]].tool));
  });
  endpoint.listen(0, "127.0.0.1", () => process.send(endpoint.address().port));
} else await measure(process.argv[2] ?? "claude-code", Number(process.argv[3] ?? 10));

/** How the bare program is started: as the harness starts it, with the addresses of the server and the endpoint. */
function configure(name, dir, { url, port }) {
  const [home, project, tmp] = ["home", "project", "tmp"].map((part) => join(dir, part));
  for (const folder of [home, project, tmp]) mkdirSync(folder, { recursive: true });
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: tmp, TERM: "dumb" };
  if (name === "claude-code") {
    const config = join(dir, "mcp.json");
    writeFileSync(config, JSON.stringify({ mcpServers: { reference: { type: "http", url } } }));
    return {
      cwd: project,
      env: {
        ...env,
        ANTHROPIC_API_KEY: "none",
        ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
      },
      args: [
        ...["-p", "--output-format", "json", "--no-session-persistence", "--setting-sources", "project"],
        ...["--mcp-config", config, "--strict-mcp-config", "--permission-mode", "dontAsk"],
        ...["--model", "claude-sonnet-5-5", "--allowedTools", "Skill,mcp__reference"],
      ],
    };
  }
  if (name === "goose") {
    const config = join(home, ".config/goose");
    mkdirSync(config, { recursive: true });
    const reference = { enabled: true, type: "streamable_http", name: "reference", uri: url, timeout: 300 };
    writeFileSync(join(config, "config.yaml"), JSON.stringify({ extensions: { reference } }));
    const user = { always_allow: ["reference__echo"], ask_before: [], never_allow: [] };
    writeFileSync(join(config, "permission.yaml"), JSON.stringify({ user }));
    return {
      cwd: project,
      env: {
        ...env,
        ANTHROPIC_API_KEY: "none",
        ANTHROPIC_HOST: `http://127.0.0.1:${port}`,
        GOOSE_PROVIDER: "anthropic",
        GOOSE_MODEL: "claude-sonnet-5-5",
        GOOSE_MODE: "approve",
        GOOSE_TELEMETRY_ENABLED: "false",
        GOOSE_DISABLE_KEYRING: "1",
        GOOSE_DISABLE_SESSION_NAMING: "true",
      },
      args: ["run", "--instructions", "-", "--output-format", "stream-json", "--no-session"],
    };
  }
  if (name === "copilot") {
    const config = join(dir, "mcp.json");
    writeFileSync(config, JSON.stringify({ mcpServers: { reference: { type: "http", tools: ["*"], url } } }));
    return {
      cwd: project,
      env: {
        ...env,
        COPILOT_HOME: join(home, ".copilot"),
        COPILOT_CACHE_HOME: join(home, ".cache"),
        COPILOT_AUTO_UPDATE: "false",
        COPILOT_PROVIDER_BASE_URL: `http://127.0.0.1:${port}`,
        COPILOT_PROVIDER_TYPE: "anthropic",
        COPILOT_PROVIDER_API_KEY: "none",
        COPILOT_MODEL: "claude-sonnet-5-5",
        COPILOT_PKG_CACHE_HOME: copilotPackages,
        COPILOT_OFFLINE: "true",
      },
      args: [
        ...["--output-format", "json", "--no-ask-user", "--disable-builtin-mcps", "--no-remote", "--no-auto-update"],
        ...["--trust-folder", "--additional-mcp-config", `@${config}`, "--allow-tool=reference"],
      ],
    };
  }
  mkdirSync(join(home, ".codex"));
  const config = `model = "gpt-5.4"
model_provider = "recorded"
approval_policy = "never"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[analytics]
enabled = false
[otel]
exporter = "none"
[features]
plugins = false
[model_providers.recorded]
name = "OpenAI"
base_url = "http://127.0.0.1:${port}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
[mcp_servers.reference]
url = "${url}"
required = true
default_tools_approval_mode = "approve"
[projects."${project}"]
trust_level = "trusted"
`;
  writeFileSync(join(home, ".codex/config.toml"), config);
  return {
    cwd: project,
    env: { ...env, OPENAI_API_KEY: "none", CODEX_HOME: join(home, ".codex") },
    args: ["exec", "--json", "--skip-git-repo-check", "-C", project, "-"],
  };
}

async function measure(name, rounds) {
  const { connect } = await import("../build/evals/servers/connect.js");
  const { openModel } = await import("../build/evals/experiments/workspace/models.js");
  const scratch = mkdtempSync(join(tmpdir(), "evals-bench-"));
  const installer = join(import.meta.dirname, "../scripts/installHost.mjs");
  const program = execFileSync(process.execPath, [installer, name], { encoding: "utf8" }).trim();
  // Writes down the CPU time of the program and what it started.
  const wrapper = join(scratch, "wrapper");
  const timesFile = join(scratch, "times");
  writeFileSync(wrapper, `#!/bin/sh\n"${program}" "$@"\ncode=$?\ntimes >> ${timesFile}\nexit $code\n`);
  chmodSync(wrapper, 0o755);
  const takeCpu = () => {
    const lines = readFileSync(timesFile, "utf8").trim().split("\n");
    writeFileSync(timesFile, "");
    const seconds = [...lines.join(" ").matchAll(/(\d+)m([\d.]+)s/g)].map(([, m, s]) => 60 * Number(m) + Number(s));
    return seconds.reduce((sum, one) => sum + one, 0) * 1000;
  };

  const endpoint = fork(import.meta.filename, ["endpoint", name]);
  const [port] = await once(endpoint, "message");
  const main = join(import.meta.dirname, "../dist/server/main.js");
  const server = spawn(process.execPath, [main, "--transport", "http", "--port", "0"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  process.once("exit", () => {
    endpoint.kill();
    server.kill();
    rmSync(scratch, { recursive: true, force: true });
  });
  const [started] = await once(server.stderr, "data");
  const [url] = /http:\S+/.exec(String(started));

  const never = new AbortController().signal;
  const id = hosts[name].model;
  const model = await openModel(id, {
    env: {
      PATH: process.env.PATH,
      CLAUDE_CODE_PATH: wrapper,
      CODEX_PATH: wrapper,
      COPILOT_PATH: wrapper,
      COPILOT_PKG_CACHE_HOME: copilotPackages,
      GOOSE_PATH: wrapper,
      ANTHROPIC_API_KEY: "none",
      OPENAI_API_KEY: "none",
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
      OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
    },
    hostProcesses: 10,
  });
  const reference = await connect({ url }, { name: "reference", dir: scratch, env: process.env, signal: never });
  const tools = (await reference.list(never)).map((tool) => ({ ...tool, server: "reference", origin: "server" }));
  const prompt = "Please echo hello.";

  const harness = async () => {
    const { outcome, turns } = await model.converse(
      {
        cell: { suite: "s", case: "c", arm: "head", model: id, trial: 1 },
        messages: [{ role: "user", content: prompt }],
        exposure: "host",
        tools,
        instructions: [],
        skills: [],
        files: [],
        maxTurns: 5,
        execute: async (call, signal) => {
          const { result } = await reference.call(call.tool, call.arguments, signal);
          return { status: "executed", ms: 0, result };
        },
      },
      never,
    );
    if (outcome.kind !== "answered" || turns.length !== 2) throw new Error(JSON.stringify({ outcome, turns }));
  };
  let folders = 0;
  const bare = async () => {
    const dir = join(scratch, String(folders++));
    const { cwd, env, args } = configure(name, dir, { url, port });
    const child = spawn(wrapper, args, { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
    child.stdin.end(prompt);
    const [out, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
    if (code !== 0) throw new Error(out);
  };

  const sides = { harness, bare };
  const { claudeCode, codex, copilot, goose } = model.settings;
  const version = claudeCode ?? codex ?? copilot ?? goose;
  console.log(`${name} ${version}, ${rounds} rounds, ${availableParallelism()} cores, medians of one trial:`);
  for (const count of [1, 10]) {
    const all = { harness: [], bare: [] };
    for (let round = -1; round < rounds; round++) {
      for (const side of round % 2 === 0 ? ["harness", "bare"] : ["bare", "harness"]) {
        writeFileSync(timesFile, "");
        const own = process.cpuUsage();
        const startedAt = performance.now();
        await Promise.all(Array.from({ length: count }, sides[side]));
        const wall = performance.now() - startedAt;
        const { user, system } = process.cpuUsage(own);
        // The first round warms up caches and the harness's own modules.
        if (round >= 0) all[side].push({ wall, cpu: takeCpu() / count, own: (user + system) / 1000 / count });
      }
    }
    const median = (side, key) => all[side].map((one) => one[key]).toSorted((a, b) => a - b)[Math.floor(rounds / 2)];
    const line = (key) => {
      const [ours, theirs] = [median("harness", key), median("bare", key)];
      return `${ours.toFixed(0)} ms, bare ${theirs.toFixed(0)} ms: ${(ours / theirs).toFixed(2)}x`;
    };
    console.log(`${count === 1 ? "one at a time" : "ten at once"}`);
    console.log(`  wall time          ${line("wall")}`);
    console.log(`  CPU of the program ${line("cpu")}`);
    console.log(
      `  CPU of the harness ${median("harness", "own").toFixed(0)} ms a trial (bench of the bare program: ${median("bare", "own").toFixed(0)} ms)`,
    );
  }
  await reference.close();
  process.exit();
}
