// node bench/real/record.mjs FILE.gguf PROJECT ANSWERS.jsonl [--small] [--lists LIST --orders N --draws N --free --again]:
// asks a local model and appends its answers, one a line, in the order of `plan`, or N draws in each of N orders of the
// lists named; `--again` repeats the requests and seeds of draws on the record. Goes on where it was stopped, and ends when
// all are there. `--small`: the plan of a model that takes little time. Needs a build, and node-llama-cpp in PROJECT
// (docs/models.md). `node bench/real/record.mjs --pack MODEL ANSWERS.jsonl...` writes what the table reads.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { againFrom, packAnswers, parseLines } from "./answers.mjs";
import { cases, harmless, servers, today } from "./lists.mjs";
import { orderedTools } from "./orders.mjs";

const { local } = await import(new URL("../../build/evals/asking/models/local/local.js", import.meta.url).href);

const { values, positionals } = parseArgs({
  options: {
    lists: { type: "string", multiple: true },
    orders: { type: "string", default: "4" },
    draws: { type: "string", default: "1" },
    free: { type: "boolean", default: false },
    again: { type: "boolean" },
    small: { type: "boolean" },
    pack: { type: "string" },
  },
  allowPositionals: true,
});
/** What is on the record. */
const known = new Set();

/** What is asked, the most important first: `[list, free, first draw]`. */
function* plan() {
  const main = values.small ? ["everything", "git", "memory"] : ["git", "memory"];
  const large = ["filesystem", "github", "playwright"];
  const older = (server) =>
    servers[server]
      .slice(0, -1)
      .map(({ version }) => `${server}@${version}`)
      .reverse();
  const edited = (of, edits) => edits.flatMap((edit) => of.map((server) => `${today(server)}+${edit}`));
  yield* main.map(today);
  yield* main.map((server) => older(server)[0]);
  yield* edited(main, Object.keys(harmless));
  yield* main.flatMap((server) => older(server).slice(1));
  yield today(large[0]);
  yield* edited(
    ["git"],
    [1, 2, 3, 4, 5, 6, 7].map((mask) => `mask${mask}`),
  );
  yield [today("git"), false, againFrom];
  for (const server of main) yield [today(server), true];
  yield* edited([...main, large[0]], ["names", "undescribed"]);
  yield* large.slice(1).map(today);
  yield* large.flatMap(older);
}

/** Orders and draws of each list: first a little of all, then more. */
const rounds = [
  { orders: 1, draws: 1 },
  { orders: 3, draws: 1 },
  { orders: 6, draws: 1 },
  { orders: 12, draws: 2 },
];

const [weights, project, file] = positionals;
if (values.pack) packAnswers(values.pack, positionals);
else await record();

async function record() {
  const written = existsSync(file) ? readFileSync(file, "utf8") : "";
  for (const { list, order, id, draw, free, broken } of parseLines(written))
    if (broken === undefined) known.add(`${list} ${order} ${id} ${draw} ${free}`);
  // A line that was cut off by a kill is asked again, and so is what broke.
  if (written && !written.endsWith("\n")) appendFileSync(file, "\n");
  const log = { err: (text) => process.stderr.write(text), errIsTerminal: false };
  const options = {
    env: { ...process.env, EVALS_MODELS: join(file, "..", `${basename(file)}.models`) },
    cwd: project,
    timeoutMs: 1_200_000,
    io: log,
  };
  const models = [await local("local:real", weights, options)];
  appendFileSync(file, `${JSON.stringify({ settings: models[0].settings })}\n`);
  const asked = values.lists ? [{ orders: Number(values.orders), draws: Number(values.draws) }] : rounds;
  const firstDraw = values.again ? againFrom : 0;
  const named = values.lists?.map((list) => [list, values.free, firstDraw]);
  for (const { orders, draws } of asked)
    for (const [list, free = false, first = 0] of named ?? [...plan()].map((one) => [one].flat()))
      for (let order = 0; order < orders; order++) {
        if (free) models[1] ??= await local("local:real", weights, { ...options, free });
        for (let draw = first; draw < first + draws; draw++)
          await askAll(models[Number(free)], { list, order, draw, free });
      }
  process.exit(0);
}

/** Asks all queries of a list that are not on the record. */
async function askAll(model, cell) {
  const { list, order, draw, free } = cell;
  const [server] = list.split("@");
  const tools = orderedTools(list, order);
  for (const [id, { query }] of Object.entries(cases[server])) {
    if (known.has(`${list} ${order} ${id} ${draw} ${free}`)) continue;
    const trial = (draw % againFrom) + 1;
    const request = {
      cell: { suite: server, case: id, arm: list, model: model.id, trial },
      ...{ turn: 1, messages: [{ role: "user", content: query }], tools, toolset: list, seed: order },
    };
    const reply = await model.ask(request, new AbortController().signal);
    const answer = reply.kind === "turn" ? describeTurn(reply.turn) : { broken: reply.message };
    appendFileSync(file, `${JSON.stringify({ list, order, id, draw, free, ...answer })}\n`);
  }
}

function describeTurn({ calls, text, stop, usage, ms }) {
  return {
    calls: calls.map(({ tool, arguments: args, argumentsText }) => [tool, args ?? argumentsText]),
    ...(calls.length === 0 && { text: text.slice(0, 200) }),
    stop,
    tokens: [usage.cacheReadTokens + usage.cacheWriteTokens, usage.inputTokens, usage.outputTokens],
    isRead: usage.cacheWriteTokens > 0,
    ms: Math.round(ms),
  };
}
