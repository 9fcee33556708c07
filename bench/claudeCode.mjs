// node bench/claudeCode.mjs [trials]: the time that the harness adds to a trial in Claude Code.
// Both sides send the same prompt, skill and tool to the same Messages endpoint, in turns: the harness through
// `converse`, the other as a bare `claude -p` in a home and a project that exist before the clock starts. The bare one
// is connected to the reference server over Streamable HTTP (already running) or over stdio (started by the host, as
// for a user).
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { parseSkill } from "../dist/evals/skills/package.js";
import { connect } from "../dist/evals/toolsets/connect.js";
import { openModel } from "../dist/evals/workspace/models.js";

const trials = process.argv[2] ?? "20";
const installer = join(import.meta.dirname, "../scripts/installHost.mjs");
const claudePath = execFileSync(process.execPath, [installer, "claude-code"], { encoding: "utf8" }).trim();
const server = join(import.meta.dirname, "../dist/server/main.js");
const scratch = mkdtempSync(join(tmpdir(), "evals-bench-"));
const prompt = "A guest is here: greet, then echo hello.";
const never = new AbortController().signal;

/** The replies in their order: call echo, load the skill, end. */
const replies = [
  { type: "tool_use", id: "toolu_1", name: "mcp__reference__echo", input: { text: "hello" } },
  { type: "tool_use", id: "toolu_2", name: "Skill", input: { skill: "greeting" } },
  { type: "text", text: "Done." },
];

function events(block, model) {
  const usage = { input_tokens: 100, output_tokens: 10 };
  const call = block.type === "tool_use";
  const delta = call
    ? { type: "input_json_delta", partial_json: JSON.stringify(block.input) }
    : { type: "text_delta", text: block.text };
  const start = call ? { ...block, input: {} } : { ...block, text: "" };
  const message = { id: `msg_${block.id}`, type: "message", role: "assistant", model, content: [], usage };
  return [
    { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null } },
    { type: "content_block_start", index: 0, content_block: start },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
}

const endpoint = createServer(async (request, response) => {
  const body = JSON.parse((await text(request)) || "{}");
  const said = (body.messages ?? []).filter(({ role }) => role === "assistant").length;
  const all = events(replies[said] ?? replies[2], body.model);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(all.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
});
endpoint.listen(0, "127.0.0.1");
await once(endpoint, "listening");
const env = {
  PATH: process.env.PATH,
  ANTHROPIC_API_KEY: "none",
  ANTHROPIC_BASE_URL: `http://127.0.0.1:${endpoint.address().port}`,
};

const skillText = "---\nname: greeting\ndescription: Greets. Use when a guest arrives.\n---\n# Greeting\n\n1. Bow.\n";
const skillDir = join(scratch, "greeting");
mkdirSync(skillDir);
writeFileSync(join(skillDir, "SKILL.md"), skillText);
const skill = {
  ...parseSkill(skillText, { folder: "greeting", file: "SKILL.md" }),
  folder: "greeting",
  dir: skillDir,
  level: "named",
};

const model = await openModel("claude-code:claude-sonnet-5-5", { env, claudePath });
const echo = await connect(
  { command: process.execPath, args: [server] },
  { name: "reference", dir: scratch, env, signal: never },
);
const tools = (await echo.list(never)).map((tool) => ({ ...tool, server: "reference", origin: "server" }));

async function harness() {
  const startedAt = performance.now();
  const { outcome, turns } = await model.converse(
    {
      cell: { suite: "s", case: "c", arm: "head", model: model.id, trial: 1 },
      messages: [{ role: "user", content: prompt }],
      tools,
      skills: [skill],
      files: [],
      maxTurns: 5,
      execute: async (call, signal) => {
        const { result } = await echo.call(call.tool, call.arguments, signal);
        return { status: "executed", ms: 0, result };
      },
    },
    never,
  );
  if (outcome.kind !== "answered" || turns.length !== 3) throw new Error(JSON.stringify({ outcome, turns }));
  return performance.now() - startedAt;
}

let folders = 0;
async function bare(reference) {
  const dir = join(scratch, String(folders++));
  const project = join(dir, "project");
  for (const name of ["home", "tmp"]) mkdirSync(join(dir, name), { recursive: true });
  cpSync(skillDir, join(project, ".claude/skills/greeting"), { recursive: true });
  writeFileSync(join(dir, "mcp.json"), JSON.stringify({ mcpServers: { reference } }));
  const args = [
    ...["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--no-session-persistence"],
    ...["--model", "claude-sonnet-5-5", "--setting-sources", "project", "--mcp-config", join(dir, "mcp.json")],
    ...["--strict-mcp-config", "--tools", "Skill,Read,Glob,Grep", "--allowedTools", "Skill,mcp__reference"],
    ...["--permission-mode", "dontAsk", "--max-turns", "5"],
  ];
  const own = {
    HOME: join(dir, "home"),
    TMPDIR: join(dir, "tmp"),
    TERM: "dumb",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
    ENABLE_TOOL_SEARCH: "false",
  };
  const startedAt = performance.now();
  const child = spawn(claudePath, args, { cwd: project, env: { ...env, ...own }, stdio: ["pipe", "pipe", "ignore"] });
  child.stdin.end(prompt);
  const [out] = await Promise.all([text(child.stdout), once(child, "close")]);
  const ms = performance.now() - startedAt;
  if (!out.includes("Echo: hello") || !out.includes('"subtype":"success"')) throw new Error(out);
  return ms;
}

const http = spawn(process.execPath, [server, "--transport", "http", "--port", "0"], {
  stdio: ["ignore", "ignore", "pipe"],
});
process.once("exit", () => {
  http.kill();
  rmSync(scratch, { recursive: true });
});
const [said] = await once(http.stderr, "data");
const sides = {
  "through the harness": harness,
  "bare, server over HTTP": () => bare({ type: "http", url: /http:\S+/.exec(String(said))[0] }),
  "bare, server over stdio": () => bare({ command: process.execPath, args: [server] }),
};
const times = Object.fromEntries(Object.keys(sides).map((name) => [name, []]));
for (let i = -1; i < Number(trials); i++) {
  // The first round warms up the disk cache and the harness's own modules.
  for (const [name, run] of Object.entries(sides)) {
    const ms = await run();
    if (i >= 0) times[name].push(ms);
  }
}
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const [own, ...others] = Object.entries(times).map(([name, list]) => ({ name, ms: median(list) }));
const title = `Claude Code ${model.settings.claudeCode}, ${trials} trials of 3 replies, ${availableParallelism()} cores, medians:`;
const rows = others.map(
  ({ name, ms }) => `${name} ${ms.toFixed(0)} ms: the harness adds ${(own.ms - ms).toFixed(0)} ms`,
);
console.log([title, `${own.name} ${own.ms.toFixed(0)} ms`, ...rows].join("\n"));
await echo.close();
process.exit();
