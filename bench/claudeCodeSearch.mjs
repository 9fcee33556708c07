// Whether the ranker `keyword` finds what Claude Code's ToolSearch finds: the real program, with a server of real tools
// (bench/data/livemcp) and a local endpoint in place of the model, which asks for many searches in one reply. Nothing
// leaves the machine. Claude Code's own deferred tools are left out of the comparison.
// Usage: CLAUDE_CODE_PATH=/path/to/claude node bench/claudeCodeSearch.mjs
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { toSearchDocument } from "../build/evals/base/search/document.js";
import { buildRanker } from "../build/evals/base/search/rankers.js";
import { listQueryWords } from "../build/evals/inspection/search/queries.js";
import { scratch } from "./harness.mjs";

const program = process.env.CLAUDE_CODE_PATH;
if (!program) {
  console.error("Not measured: set CLAUDE_CODE_PATH to the path of Claude Code.");
  process.exit(3);
}
const limit = 10;
const prefix = "mcp__lab__";
const rows = (file) =>
  readFileSync(new URL(`data/livemcp/${file}`, import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

const hint = "anthropic/searchHint";
const made = (name, description, more = {}) => ({ name, description, inputSchema: { type: "object" }, ...more });
const listed = new Map(
  rows("tools.jsonl")
    .filter(({ name }) => /^[\w-]{1,50}$/.test(name))
    // Claude Code cuts descriptions at 2,048 characters.
    .map(({ name, description = "", inputSchema }) => [
      name,
      { name, description: description.slice(0, 2000), inputSchema },
    ]),
);
const tools = [
  ...listed.values(),
  made("qalpha_one", "Nothing."),
  made("qalphabet", "Nothing about qbeta."),
  made("qtwo", "Something about qalpha, qdelta-eps and (qzeta)."),
  made("qthree", "Nothing.", { _meta: { [hint]: "qalpha" } }),
  made("qbeta", "Nothing."),
  made("qbeta_more", "A tool for qbeta."),
  made("qother", "Größe, été und 使用必应搜索."),
];
const steps = rows("tasks.jsonl")
  .filter(({ paired }) => paired)
  .flatMap((task) => task.steps);
const forms = `qalpha|qbeta|one qalpha|+qalpha nothing|+nothing +qalpha|qalpha_one|${prefix}qtwo|${prefix}qa|select:qtwo|select:qtwo,qbeta
select:${prefix}qthree|select:nothing|qdelta|qdelta-eps|qzeta.|(qzeta)|größ|été|搜索|FILE|files?|file|read file`;
const queries = [
  ...steps.map((step) => listQueryWords(step).slice(0, 3).join(" ")).filter((query) => query !== ""),
  ...forms.split(/[|\n]/),
];

let results = [];
const endpoint = createServer((request, response) => {
  let text = "";
  request.on("data", (data) => (text += data));
  request.on("end", () => {
    const body = request.url?.includes("/messages") && !request.url.includes("count_tokens") ? JSON.parse(text) : {};
    if (!body.messages) return response.writeHead(200, { "content-type": "application/json" }).end("{}");
    const returned = body.messages.flatMap(({ content }) =>
      Array.isArray(content) ? content.filter(({ type }) => type === "tool_result") : [],
    );
    if (returned.length > 0) results = returned;
    const isAsked = returned.length === 0 && body.tools?.some(({ name }) => name === "ToolSearch");
    const blocks = isAsked
      ? queries.map((query, at) => [
          { type: "tool_use", id: `toolu_${at}`, name: "ToolSearch", input: {} },
          { type: "input_json_delta", partial_json: JSON.stringify({ query, max_results: 50 }) },
        ])
      : [
          [
            { type: "text", text: "" },
            { type: "text_delta", text: "Done." },
          ],
        ];
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: "msg", type: "message", role: "assistant", model: body.model, content: [], usage };
    const events = [
      { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null } },
      ...blocks.flatMap(([block, delta], index) => [
        { type: "content_block_start", index, content_block: block },
        { type: "content_block_delta", index, delta },
        { type: "content_block_stop", index },
      ]),
      { type: "message_delta", delta: { stop_reason: isAsked ? "tool_use" : "end_turn", stop_sequence: null }, usage },
      { type: "message_stop" },
    ];
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
  });
});
await new Promise((resolve) => endpoint.listen(0, "127.0.0.1", resolve));

const server = join(scratch, "server.mjs");
writeFileSync(
  server,
  `import { createInterface } from "node:readline";
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "lab", version: "1" } }),
  "tools/list": () => ({ tools: ${JSON.stringify(tools)} }),
  ping: () => ({}),
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const body = answer ? { result: answer(params) } : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...body }) + "\\n");
});
`,
);
const config = join(scratch, "mcp.json");
writeFileSync(config, JSON.stringify({ mcpServers: { lab: { command: process.execPath, args: [server] } } }));
const [home, project] = [join(scratch, "home"), join(scratch, "project")];
for (const folder of [home, project]) mkdirSync(folder);
const flags = ["-p", "Go.", "--output-format", "json", "--mcp-config", config, "--strict-mcp-config"];
const child = spawn(program, [...flags, "--model", "claude-sonnet-5-5", "--allowedTools", "mcp__lab"], {
  cwd: project,
  env: {
    HOME: home,
    PATH: process.env.PATH,
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${endpoint.address().port}`,
    ANTHROPIC_API_KEY: "sk-fake-000000000",
    ENABLE_TOOL_SEARCH: "true",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
  },
  stdio: ["ignore", "ignore", "inherit"],
  timeout: 180_000,
});
const code = await new Promise((resolve) => child.on("close", resolve));
endpoint.close();
if (results.length !== queries.length) {
  console.error(`Not measured: Claude Code ended with ${code} after ${results.length} of ${queries.length} searches.`);
  process.exit(3);
}

const rank = buildRanker(
  "keyword",
  tools.map((tool) => ({ ...toSearchDocument(tool, tool._meta?.[hint]), name: prefix + tool.name })),
);
const differences = results.flatMap(({ tool_use_id: id, content }) => {
  const query = queries[Number(id.slice("toolu_".length))];
  const references = Array.isArray(content) ? content.flatMap(({ tool_name: name }) => name ?? []) : [];
  const theirs = references.filter((name) => name.startsWith(prefix)).slice(0, limit);
  const ours = rank(query, theirs.length === 0 ? 1 : theirs.length).ranked.map(({ document }) => document.name);
  return theirs.join() === ours.join() ? [] : [{ query, theirs, ours }];
});
for (const { query, theirs, ours } of differences) {
  console.log(`${JSON.stringify(query)}\n  Claude Code: ${theirs.join(" ")}\n  keyword:     ${ours.join(" ")}`);
}
const same = results.length - differences.length;
console.log(
  `${tools.length} tools; the same first ${limit} in the same order for ${same} of ${results.length} searches`,
);
