// `evals try` on five public servers, with a local endpoint of the Messages API as the model. No model is called.
//   node bench/try.mjs [server...] [--latency ms] [--verbose]
// The servers are installed with npm in a scratch folder. Each is started through a recorder, which writes down every method
// that the client sends. Prints for each server the time to the first matrix, what was asked and dropped, which methods the
// server got, and whether the draft suite runs unchanged. Exits with 1 when a matrix takes longer than 60 s, a tool is
// executed or a draft suite does not run. Needs `npm run build`.
import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";

const servers = {
  memory: { package: "@modelcontextprotocol/server-memory@2026.8.31", program: "mcp-server-memory" },
  filesystem: {
    package: "@modelcontextprotocol/server-filesystem@2026.8.31",
    program: "mcp-server-filesystem",
    args: ["."],
  },
  everything: { package: "@modelcontextprotocol/server-everything@2026.8.31", program: "mcp-server-everything" },
  playwright: { package: "@playwright/mcp@0.0.83", program: "playwright-mcp", args: ["--headless"] },
  context7: { package: "@upstash/context7-mcp@4.1.1", program: "context7-mcp" },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    latency: { type: "string", default: "800" },
    verbose: { type: "boolean" },
    // What a recorder is started with: the file for the methods, then the server.
    record: { type: "string" },
  },
});
if (values.record === undefined) await main();
else record(values.record, positionals);

/** Passes stdio through to a server, and appends each method that the client sends to a file. */
function record(file, [command, ...args]) {
  const child = spawn(command, args, { stdio: ["pipe", "inherit", "inherit"] });
  createInterface({ input: process.stdin })
    .on("line", (line) => {
      appendFileSync(file, `${JSON.parse(line).method ?? "response"}\n`);
      child.stdin.write(`${line}\n`);
    })
    .on("close", () => child.stdin.end());
  process.on("SIGTERM", () => child.kill());
  child.on("exit", (code) => process.exit(code ?? 1));
}

async function main() {
  const chosen = positionals.length > 0 ? positionals : Object.keys(servers);
  const unknown = chosen.find((name) => !(name in servers));
  if (unknown !== undefined) throw new Error(`There is no server "${unknown}": ${Object.keys(servers).join(", ")}.`);
  const scratch = mkdtempSync(join(tmpdir(), "evals-bench-try-"));
  const service = await startService(Number(values.latency));
  try {
    const packages = chosen.map((name) => servers[name].package);
    const npm = ["install", "--prefix", scratch, "--no-audit", "--no-fund", "--ignore-scripts", ...packages];
    execFileSync("npm", npm, { stdio: ["ignore", "ignore", "inherit"] });
    console.log(`One request takes ${values.latency} ms.\n`);
    console.log(
      "| server | tools | first matrix | queries | dropped | right | methods, of both commands | `evals run` of the suite |",
    );
    console.log("|---|---|---|---|---|---|---|---|");
    for (const name of chosen) await tryOne(name, scratch, service.url);
  } finally {
    service.close();
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Tries one server, then runs the suite that this left, and prints a line of figures. */
async function tryOne(name, scratch, url) {
  const cwd = join(scratch, "work", name);
  mkdirSync(cwd, { recursive: true });
  const log = join(scratch, `${name}.methods`);
  writeFileSync(log, "");
  const { program, args = [] } = servers[name];
  const command = [process.execPath, import.meta.filename, "--record", log, "--"];
  const line = [...command, join(scratch, "node_modules/.bin", program), ...args].join(" ");
  const options = { cwd, env: { ...process.env, ANTHROPIC_API_KEY: "bench", ANTHROPIC_BASE_URL: url } };
  const cli = join(import.meta.dirname, "../dist/evals/cli.js");
  const began = performance.now();
  const tried = await run([cli, "try", line, "--yes", "--json"], options);
  const seconds = (performance.now() - began) / 1000;
  if (tried.code !== 0) {
    const why = tried.err.trim().split("\n").at(-1);
    console.log(`| ${name} | failed with ${tried.code} after ${seconds.toFixed(1)} s: ${why} |`);
    process.exitCode = 1;
    return;
  }
  const { tools, queries, dropped, right } = JSON.parse(tried.out);
  const again = await run([cli, "run", "-m", "anthropic:claude-haiku-5-5", "-n", "1", "--json"], options);
  const ran = again.code < 2 ? JSON.parse(again.out).totals : undefined;
  const methods = countMethods(log);
  const executed = methods.get("tools/call") ?? 0;
  const listed = [...methods].map(([method, times]) => `${times}x ${method}`).join(", ");
  const suite = ran ? `${ran.trials} trials, ${ran.broken} broken` : `fails with ${again.code}`;
  const figures = [name, tools, `${seconds.toFixed(1)} s`, queries, dropped.length];
  console.log(`| ${[...figures, `${right.passed} of ${right.trials}`, listed, suite].join(" | ")} |`);
  if (values.verbose) {
    for (const { input, why } of dropped) console.log(`  dropped: ${why}: ${input.slice(0, 100)}`);
    if (!ran) console.log(again.err);
  }
  if (seconds > 60 || executed > 0 || !ran) process.exitCode = 1;
}

function countMethods(log) {
  const counts = new Map();
  for (const method of readFileSync(log, "utf8").trim().split("\n")) counts.set(method, (counts.get(method) ?? 0) + 1);
  return counts;
}

async function run(args, options) {
  const child = spawn(process.execPath, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  child.stdout.on("data", (data) => (out += data));
  child.stderr.on("data", (data) => (err += data));
  const code = await new Promise((resolve) => child.on("close", resolve));
  return { code, out, err };
}

/** An endpoint of the Messages API that writes queries in the words of descriptions, and picks tools by shared words. */
async function startService(latencyMs) {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (data) => (text += data));
    request.on("end", async () => {
      await pause(latencyMs);
      const content = answer(JSON.parse(text));
      const stop = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
      const usage = { input_tokens: Math.ceil(text.length / 4), output_tokens: 60 };
      const message = { id: "msg_bench", type: "message", role: "assistant", model: "bench", content, usage };
      response
        .writeHead(200, { "content-type": "application/json", "request-id": "req_bench" })
        .end(JSON.stringify({ ...message, stop_reason: stop, stop_sequence: null }));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

function answer({ messages, tools = [] }) {
  const { content } = messages.at(-1);
  const query = typeof content === "string" ? content : content.map(({ text = "" }) => text).join("");
  if (tools.length === 0) return [{ type: "text", text: JSON.stringify({ queries: write(query) }) }];
  const words = new Set(listWords(query));
  const score = ({ description = "" }) => {
    const own = new Set(listWords(description));
    return [...own].filter((word) => words.has(word)).length / Math.sqrt(own.size || 1);
  };
  const [best] = tools.toSorted((a, b) => score(b) - score(a));
  return score(best) < 0.5
    ? [{ type: "text", text: "I can answer that myself." }]
    : [{ type: "tool_use", id: "toolu_bench", name: best.name, input: {} }];
}

function listWords(text) {
  return text.toLowerCase().match(/[a-z]{4,}/g) ?? [];
}

/** A message for each numbered item: words of the description, without names of tools, and every value that is given. */
function write(prompt) {
  const lines = prompt.split("\n");
  const tool = lines.flatMap((line) => (line.startsWith('{"name":') ? [JSON.parse(line)] : []))[0];
  const items = lines.filter((line) => /^\d+\. /.test(line));
  const jokes = [
    "Thanks, that helped a lot!",
    "Why is the sky blue?",
    "Write me a haiku about rain.",
    "Order me a pizza.",
  ];
  return items.map((item, at) => {
    if (!tool) return jokes[at % jokes.length];
    const args = /arguments (\{.*?\})(?:; near miss|$)/.exec(item)?.[1];
    const said = args === undefined ? "" : listValues(JSON.parse(args)).join(", ");
    const words = [...new Set(listWords(tool.description ?? ""))].slice(at * 3, at * 3 + 9).join(" ");
    return `Please ${words}${said === "" ? "" : `: ${said}`}`;
  });
}

function listValues(value) {
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(listValues) : [String(value)];
}
