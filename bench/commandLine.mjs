// What the check must reach, through the command line: the rows of `npm run bench:verdicts` against an endpoint of the
// chat-completions protocol on this machine, whose answers come from the same models. The built program accepts a baseline,
// the descriptions change, and `evals run` checks them. Usage: npm run build && node bench/commandLine.mjs
// `--runs`: checks a row. `--row TEXT`: rows whose name contains it. `--at-once`: checks at a time.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { deriveSeed, seededRandom } from "./decisions/product.mjs";
import { cacheWindow, checkRows, measureVerdict } from "./decisions/rows/check.mjs";
import { formatFigure, formatTarget, summarize } from "./decisions/summary.mjs";
import { cli, scratch } from "./harness.mjs";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "60" },
    simulated: { type: "string", default: "400" },
    row: { type: "string", multiple: true, default: [] },
    "at-once": { type: "string", default: "2" },
  },
});

/** The rows of the table, by name. */
const names = [
  ...["1 tool", "2 tools", "3 tools", "5 tools", "8 tools"].map((tools) => `nothing changed, ${tools}: FIVE98`),
  "nothing changed, 1 tool: 3 cases of 0.95",
  "nothing changed, 2 tools: 2 cases of 0.98",
  "nothing changed, 3 tools: 5 cases of 0.9",
  "one of five .98 -> .5, 3 tools",
  "five cases .98 -> .88, the margin, 2 tools",
  ...["seed kept for 3 calls", "20 % repeats", "50 % repeats"].map((what) => `nothing changed, ${what}: M_MIX10`),
  "one of ten .95 -> .6",
  "all .9 -> .8",
  "all .9 -> .8, the right tool always",
  "selection .9 -> .8, pass .9 of it",
  "nothing passes, right tool 1 -> .5",
  "pass .5, failures: right tool -> wrong tool",
  "a better description steals: own .3 -> .95, victim 1 -> .5",
  "nine dead, one .95 -> .6",
  "two .95 -> .3",
  "three of ten -> 0, --fail-on suite",
  "30 % of head's passing answers are errors, sent again unseen: M_MIX10",
  "all ten broken, nine of them reworded",
  ...["one wording", "3 wordings"].flatMap((wordings) => [
    `an edit flips 5 % of the wordings, temperature 0, ${wordings}: 10 cases that pass`,
    `each wording and list has its own rate, intraclass correlation .1, ${wordings}: M_MIX10`,
  ]),
  "requests of a check: M_MIX10",
  "requests of a check: mixed50",
];
const rows = names
  .filter((name) => values.row.every((text) => name.includes(text)))
  .map((name) => checkRows.find((row) => row.name === name) ?? fail(`no row is called "${name}"`));

function fail(message) {
  throw new Error(message);
}

/** The runs under way, by the first part of the path of their requests. */
const runs = new Map();

/** Answers as the model of the run does, and counts the requests whose list a prompt cache would have. */
class Run {
  calls = 0;
  found = 0;
  #lastCall = new Map();
  #again = new Map();
  #answer;

  constructor({ base, head, model }, seed) {
    this.#answer = model((i, arm) => (arm === "head" ? head : base)[i], seededRandom(seed));
  }

  /** The name and the arguments of a call, none for an answer in words; undefined for an error of the server. */
  reply(text, { messages, tools }) {
    const [, id, wording] = /case (\d+), wording (\d+)/.exec(JSON.stringify(messages)) ?? fail("an unknown query");
    const listed = tools.map((tool) => tool.function);
    const arm = listed.some(({ description }) => description.startsWith("New")) ? "head" : "base";
    const order = Number.parseInt(
      createHash("sha256")
        .update(listed.map(({ name }) => name).join())
        .digest("hex")
        .slice(0, 8),
      16,
    );
    if (this.calls++ - (this.#lastCall.get(`${arm} ${order}`) ?? Number.NEGATIVE_INFINITY) <= cacheWindow) this.found++;
    this.#lastCall.set(`${arm} ${order}`, this.calls);
    const [drawn, , isResent = false] = this.#again.has(text)
      ? [this.#again.get(text)]
      : [this.#answer(id, arm, Number(wording), order)].flat();
    this.#again.delete(text);
    if (isResent) this.#again.set(text, drawn);
    if (isResent) return undefined;
    const right = Number(id) % listed.length;
    const call = (tool, value) => [{ name: `tool_${tool}`, arguments: JSON.stringify({ value }) }];
    if (drawn === "fail") return listed.length > 1 ? call((right + 1) % listed.length, "right") : [];
    return call(right, drawn === "pass" ? "right" : "wrong");
  }
}

let replies = 0;
const server = createServer(async (request, response) => {
  const text = Buffer.concat(await request.toArray()).toString();
  const calls = runs.get(request.url.split("/")[1]).reply(text, JSON.parse(text));
  const send = (status, body, headers = {}) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  if (calls === undefined) return send(500, { error: { message: "internal error" } }, { "retry-after": "0" });
  const tool_calls = calls.map((one, at) => ({ id: `call_${replies}_${at}`, type: "function", function: one }));
  const message = {
    role: "assistant",
    content: calls.length > 0 ? null : "No tool.",
    ...(calls.length > 0 && { tool_calls }),
  };
  send(200, {
    id: `chatcmpl-${++replies}`,
    object: "chat.completion",
    created: 0,
    model: "bench",
    choices: [{ index: 0, message, finish_reason: calls.length > 0 ? "tool_calls" : "stop" }],
    usage: { prompt_tokens: 1100, completion_tokens: 20, total_tokens: 1120 },
  });
});
server.keepAliveTimeout = 60_000;
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

/** A list that is long enough for a prompt cache, so that the check shares its orders, has so many of these sentences. */
const sentences = 80;
const sentence = "It takes one value and returns what is stored under it. ";
const toolCounts = new Map([
  [1, 1],
  [2, 2],
  [6, 3],
  [120, 5],
]);

/** Writes the suite of a row into a folder, with the descriptions of base or of head. */
function writeProject(folder, { setup: { base, options }, reworded = 0 }, arm) {
  const count = toolCounts.get(options.requests?.("0")) ?? 8;
  const wordings = options.wordings?.("0") ?? 1;
  const tools = Array.from({ length: count }, (_, at) => ({
    name: `tool_${at}`,
    description: `${arm === "head" ? "New" : "Old"} store number ${at}. ${sentence.repeat(sentences / count)}`,
    inputSchema: { type: "object", properties: { value: { type: "string" } }, required: ["value"] },
  }));
  const word = (id, wording) =>
    `Please do case ${id}, wording ${wording}${arm === "head" && id < reworded ? ", in other words" : ""}.`;
  const cases = base.map((_, id) => ({
    id: String(id),
    input: wordings === 1 ? word(id, 0) : Array.from({ length: wordings }, (_, wording) => word(id, wording)),
    expect: { tool: `tool_${id % count}`, args: { value: "right" } },
  }));
  mkdirSync(join(folder, "evals"), { recursive: true });
  writeFileSync(join(folder, "evals/tools.json"), JSON.stringify(tools));
  writeFileSync(
    join(folder, "evals/bench.json"),
    JSON.stringify({ name: "bench", server: { tools: "tools.json" }, cases }),
  );
}

/** Runs `evals run` in a folder against the endpoint of a run, and returns what it prints with --json. */
async function evals(folder, name, run, flags) {
  runs.set(name, run);
  const url = `http://127.0.0.1:${server.address().port}/${name}/v1`;
  const args = ["run", "-m", "openai:bench", "--base-url", url, "--trust", "--json", "--out", `out-${name}`, ...flags];
  const env = { ...process.env, OPENAI_API_KEY: "bench" };
  const child = spawn(process.execPath, [cli, ...args], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const [out, err] = [child.stdout, child.stderr].map((stream) => stream.toArray());
  const code = await new Promise((resolve) => child.on("close", resolve));
  runs.delete(name);
  rmSync(join(folder, `out-${name}`), { recursive: true, force: true });
  const text = Buffer.concat(await out).toString();
  if (code > 1 && text === "") fail(`evals run ended with ${code}: ${Buffer.concat(await err)}`);
  return { code, ...JSON.parse(text) };
}

async function playRow(row, index) {
  const { setup, name } = row;
  const folder = join(scratch, `row-${index}`);
  writeProject(folder, row, "base");
  await evals(folder, `${index}-accept`, new Run(setup, 0), ["-n", "5", "--accept", "--fail-on", "any"]);
  writeProject(folder, row, "head");
  const flags = setup.options.onlySuite ? ["--fail-on", "suite"] : [];
  const played = [];
  let next = 0;
  const drain = async () => {
    while (next < Number(values.runs)) {
      const r = next++;
      const run = new Run(setup, deriveSeed(1, name, r));
      const { suites, code } = await evals(folder, `${index}-${r}`, run, [
        "--check",
        "on",
        "--seed",
        String(r),
        ...flags,
      ]);
      const { verdict } = suites[0];
      if ((verdict.kind === "regressed") !== (code === 1)) fail(`${name}: ${verdict.kind} exits with ${code}`);
      const found = { "found in a cache": [run.found, run.calls] };
      played.push({ ...measureVerdict(verdict, setup.wanted), ...found, calls: run.calls / setup.base.length });
    }
  };
  await Promise.all(Array.from({ length: Number(values["at-once"]) }, drain));
  rmSync(folder, { recursive: true });
  return played;
}

const shown = [
  "regressed",
  "changed",
  "no regression",
  "selection",
  "named",
  "deterministic",
  "found in a cache",
  "calls",
];
const table = new Table({
  head: ["what is true", "figure", "command line", "simulated", "asked"],
  style: { head: [], border: [] },
});
for (const [index, row] of rows.entries()) {
  const simulated = Array.from({ length: Number(values.simulated) }, (_, r) =>
    row.once(seededRandom(deriveSeed(1, row.group, row.name, r)), r),
  );
  const measures = { regressed: "share", changed: "share", "no regression": "share", calls: "mean", ...row.measures };
  const [ours, theirs] = [await playRow(row, index), simulated].map(
    (played) => summarize({ measures, targets: row.targets }, played).figures,
  );
  for (const name of shown.filter((one) => measures[one])) {
    const target = row.targets[name] ? formatTarget(row.targets[name], measures[name]) : "";
    const line = [name, formatFigure(ours[name]), formatFigure(theirs[name]), target];
    table.push([row.name, ...line]);
    console.error([row.name, ...line].join(" | "));
  }
}
console.log(table.toString());
console.log(
  `${values.runs} checks a row with \`evals run\`, ${values.simulated} simulated. Shares in %, with 95 % intervals; calls per case.`,
);
server.close();
