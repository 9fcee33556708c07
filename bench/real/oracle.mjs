// What a small model tells about a large one: predictions of cheap models beside the recorded picks of large ones.
//
//   node bench/real/oracle.mjs                         prints the table from the recorded answers. Needs a build, no weights.
//   node bench/real/oracle.mjs record NAME FILE.gguf PROJECT [MINUTES]
//                                                      asks a model on this machine; PROJECT has node-llama-cpp installed.
//                                                      Appends to data/oracle/NAME.jsonl what is not there yet.
//
// data/oracle/README.md says where the queries and the picks of large models come from; extract.mjs there reads them.
import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { lexical } from "../../build/evals/asking/models/lexical.js";
import { toSearchDocument } from "../../build/evals/base/search/document.js";
import { buildRanker, rankerNames } from "../../build/evals/base/search/rankers.js";
import { seededRandom } from "../../build/evals/base/stats/random.js";
import { toSearchText } from "../../build/evals/inspection/search/evaluate.js";

const folder = new URL("data/oracle/", import.meta.url);
const readLines = (text) =>
  text
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
const readItems = () => readLines(String(gunzipSync(readFileSync(new URL("items.jsonl.gz", folder)))));

/** The draws of an item: each has its own seed. */
const draws = 3;
/** The queries of a list of near-equal tools. */
const queriesPerCluster = 12;
/** Enough to see whether a call begins, and of which tool, which is all that counts here. */
const maxTokens = 20;
const seed = 1;

/** The tools of every item in their order; near-equal tools are turned by as many places as the item says. */
function listTools(items) {
  const lists = new Map();
  for (const { set, cluster, tools } of items)
    if (cluster !== undefined && tools) lists.set(`${set} ${cluster}`, tools);
  return (item) => {
    if (item.cluster === undefined) return item.tools;
    const tools = lists.get(`${item.set} ${item.cluster}`);
    return [...tools.slice(item.turned), ...tools.slice(0, item.turned)];
  };
}

// ---- record ----

/** When an item is asked: a part of each set after the other, so that a recording that was stopped has some of all. */
function toPart({ set, cluster, turned, id }, location, swapped) {
  if (cluster === undefined)
    return { irrelevance: 0, live_irrelevance: 0.5, live_multiple: 2.5 }[set] + Math.floor(location / 80);
  // Each pass asks each order of each list one query, first of the lists of which two descriptions were swapped.
  const pass = (Number(id.split("_").at(-2)) - turned + queriesPerCluster) % queriesPerCluster;
  return pass + (swapped.has(cluster) ? 0.4 : 0.6);
}

/** Asks a model on this machine for what is not recorded yet, one request after the other, for at most so many minutes. */
async function record(name, file, project, minutes = "600") {
  const { local } = await import("../../build/evals/asking/models/local/local.js");
  const path = new URL(`${name}.jsonl`, folder);
  const [head, ...known] = existsSync(path) ? readLines(readFileSync(path, "utf8")) : [];
  const model = await local("local", resolve(file), {
    env: { ...process.env, EVALS_MODELS: resolve(project, "models") },
    cwd: resolve(project),
    maxTokens,
    timeoutMs: 900_000,
    io: { err: (text) => process.stderr.write(text) },
  });
  const own = { model: name, ...model.settings, seed };
  if (!head) appendFileSync(path, `${JSON.stringify(own)}\n`);
  else if (head.sha256 !== own.sha256) throw new Error(`${path.pathname} was recorded with other weights`);
  const done = new Set(known.map(({ id, draw }) => `${id} ${draw}`));
  const items = readItems();
  const getTools = listTools(items);
  const swapped = new Set(items.flatMap(({ set, cluster }) => (set === "swapped" ? [cluster] : [])));
  const until = Date.now() + Number(minutes) * 60_000;
  const ordered = items
    .map((item, at) => ({ item, part: toPart(item, at - items.findIndex(({ set }) => set === item.set), swapped) }))
    .sort((a, b) => a.part - b.part);
  for (let draw = 1; draw <= draws; draw++)
    for (const { item } of ordered) {
      if (done.has(`${item.id} ${draw}`)) continue;
      if (Date.now() > until) process.exit();
      const tools = getTools(item);
      const cell = { case: item.id, arm: "head", trial: draw };
      const reply = await model.ask(
        { cell, turn: 1, messages: item.messages, tools, toolset: item.id, seed },
        new AbortController().signal,
      );
      if (reply.kind === "broken") {
        console.error(item.id, reply.message);
        continue;
      }
      const { calls, text, stop } = reply.turn;
      // A call that the limit of tokens cut has its name, or the start of it, in the text.
      const begun = /"name"\s*:\s*"([^"\s]*)/.exec(text)?.[1];
      const named = tools.filter(({ name }) => begun !== undefined && name.startsWith(begun));
      const tool = calls[0]?.tool ?? (named.length > 1 ? "?" : (named[0]?.name ?? null));
      appendFileSync(path, `${JSON.stringify({ id: item.id, draw, tool, stop })}\n`);
    }
  process.exit();
}

// ---- figures ----

const mean = (values) => values.reduce((sum, one) => sum + one, 0) / values.length;

/** The mean of a statistic over resamples of `units`, 95 % between the quantiles (percentile bootstrap, 2,000 resamples). */
function bootstrap(units, statistic) {
  const random = seededRandom(1);
  const drawn = Array.from({ length: 2_000 }, () => statistic(units.map(() => units[random.below(units.length)])))
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  const at = (share) => drawn[Math.min(drawn.length - 1, Math.floor(share * drawn.length))];
  return { value: statistic(units), interval: [at(0.025), at(0.975)], n: units.length };
}

/**
 * The area under the ROC curve for "this answer of a large model is an error", with each recorded answer as one observation
 * and items resampled: the chance that an item with an error has the higher score than another item without one. Equal
 * scores count half. `scored`: `{ item: { erring, of }, score }`.
 */
function areaUnderCurve(scored) {
  const sorted = [...scored].sort((a, b) => a.score - b.score);
  const locations = sorted.map((_, location) => location);
  return bootstrap(locations, (drawn) => {
    const times = sorted.map(() => 0);
    for (const location of drawn) times[location]++;
    let [above, errors, right, own, at] = [0, 0, 0, 0, 0];
    while (at < sorted.length) {
      const { score } = sorted[at];
      let [errorsHere, rightHere] = [0, 0];
      for (; at < sorted.length && sorted[at].score === score; at++) {
        const { erring, of } = sorted[at].item;
        errorsHere += times[at] * erring;
        rightHere += times[at] * (of - erring);
        // An item is not compared with itself, however often it was drawn.
        own += times[at] ** 2 * erring * (of - erring);
      }
      above += errorsHere * (right + rightHere / 2);
      errors += errorsHere;
      right += rightHere;
    }
    return (above - own / 2) / (errors * right - own);
  });
}

/** Ranks from 1, ties with the mean of their places. */
const toRanks = (values) =>
  values.map(
    (one) =>
      1 + values.filter((other) => other < one).length + (values.filter((other) => other === one).length - 1) / 2,
  );

/** Spearman's rank correlation; 0 where one side has no order. */
function spearman(one, other) {
  const [a, b] = [toRanks(one), toRanks(other)];
  const middle = (one.length + 1) / 2;
  const product = (x, y) => x.reduce((sum, value, at) => sum + (value - middle) * (y[at] - middle), 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b)) || 0;
}

const userText = ({ messages }) => messages.findLast(({ role }) => role === "user")?.content ?? "";

/** Best and second best score of a ranker, and its best tool, for the query of an item. */
function rank(name, item, tools) {
  const text = toSearchText({ kind: "request", text: userText(item) }, name);
  const found = buildRanker(
    name,
    tools.map((tool) => toSearchDocument(tool)),
  )(text, 2);
  const [best, second] = found.kind === "found" ? found.ranked : [];
  return { best: best?.score ?? 0, second: second?.score ?? 0, tool: best?.document.name };
}

/** The tool that the keyword search of a run calls; undefined if none. */
async function pickByKeywords(item, tools) {
  const cell = { case: item.id, arm: "head", trial: 1 };
  const request = { cell, turn: 1, messages: item.messages, tools, toolset: `${item.id}` };
  const { turn } = await lexical().ask(request, new AbortController().signal);
  return turn.calls[0]?.tool;
}

/** The recorded draws of each small model: `picked` has the tools of each item (null: none), one for each draw. */
const readRecorded = () =>
  readdirSync(folder)
    .filter((file) => file.endsWith(".jsonl"))
    .map((file) => {
      const [{ model }, ...rows] = readLines(readFileSync(new URL(file, folder), "utf8"));
      const picked = new Map();
      for (const { id, tool } of rows) picked.set(id, [...(picked.get(id) ?? []), tool]);
      return { model, picked };
    });

/** How likely a predictor takes an error to be, per item; undefined where it was not asked. */
function listPredictors(recorded, getTools) {
  const isWrong = (tool, { expected }) => (expected === undefined ? tool != null : tool !== expected);
  const ranker = (name) => (item) => {
    const { best, second } = rank(name, item, getTools(item));
    return item.expected === undefined ? best : second - best;
  };
  return [
    ["constant", () => 0],
    ["length of the query", (item) => userText(item).length],
    ["length of the tool list", (item) => JSON.stringify(getTools(item)).length],
    ["keyword search (lexical)", async (item) => Number(isWrong(await pickByKeywords(item, getTools(item)), item))],
    ...rankerNames.map((name) => [`search: ${name}`, ranker(name)]),
    ...recorded.map(({ model, picked }) => [
      model,
      (item) =>
        picked.has(item.id) ? mean(picked.get(item.id).map((tool) => Number(isWrong(tool, item)))) : undefined,
    ]),
  ];
}

const number = (value) => value.toFixed(2).replace(/^(-?)0\./, "$1.");
const cell = ({ value, interval: [low, high], n }) => `${number(value)} (${number(low)} to ${number(high)}), n = ${n}`;
const line = (name, cells) => console.log([name.padEnd(46), ...cells.map((one) => one.padEnd(30))].join("").trimEnd());

/** Where a large model errs: how well each predictor tells it, in each set of questions. */
async function printErrors(items, predictors, published) {
  const sets = ["irrelevance", "live_irrelevance", "live_multiple"];
  console.log("A large model errs: area under the curve (95 % interval), items\n");
  line("", sets);
  for (const [name, predict] of predictors) {
    const cells = [];
    for (const set of sets) {
      const scored = [];
      for (const item of items.filter((one) => one.set === set)) scored.push({ item, score: await predict(item) });
      const asked = scored.filter(({ score }) => score !== undefined);
      cells.push(asked.length < 20 ? "too few" : cell(areaUnderCurve(asked)));
    }
    line(name, cells);
  }
  // Items of a published model: how many it answered (rows: rightly, wrongly) where so many large models err (columns).
  for (const [model, rows] of Object.entries(published)) {
    const scored = rows.flatMap((counts, score) =>
      counts.flatMap((count, erring) =>
        Array.from({ length: count }, () => ({ item: { erring, of: counts.length - 1 }, score })),
      ),
    );
    line(`${model} (published)`, [cell(areaUnderCurve(scored))]);
  }
}

/** The share of each of the five tools of a list among what was picked; undefined if nothing was. */
function toShares(tools, picked) {
  const known = picked.filter((tool) => tool != null);
  return known.length > 0
    ? tools.map(({ name }) => known.filter((one) => one === name).length / known.length)
    : undefined;
}

/** Which of several near-equal tools are picked, and what a swap of two descriptions changes. */
async function printShares(items, recorded, { large, small, swapped }) {
  const lists = new Map(
    items
      .filter(({ cluster, tools }) => cluster !== undefined && tools)
      .map((item) => [`${item.set} ${item.cluster}`, item]),
  );
  const clusters = [...new Set(items.flatMap(({ cluster }) => cluster ?? []))];
  const asked = (set, c) => items.filter((item) => item.set === set && item.cluster === c);
  const normalize = (counts) => counts.map((count) => count / counts.reduce((sum, one) => sum + one, 0));
  const sharesOf = async (set, c, pick) => {
    const { tools } = lists.get(`${set} ${c}`);
    const picked = [];
    for (const item of asked(set, c)) picked.push(...(await pick(item, tools)));
    return toShares(tools, picked);
  };
  const pickers = [
    ["keyword search (lexical)", async (item, tools) => [await pickByKeywords(item, tools)]],
    ...rankerNames.map((name) => [`search: ${name}`, async (item, tools) => [rank(name, item, tools).tool]]),
    ...recorded.map(({ model, picked }) => [model, async (item) => picked.get(item.id) ?? []]),
  ];
  const agreement = (shares, models) =>
    bootstrap(
      clusters.flatMap((c) => (shares[c] ? [mean(models.map((counts) => spearman(shares[c], counts[c])))] : [])),
      mean,
    );
  const models = Object.values(large);
  console.log(
    "\nFive near-equal tools: rank correlation of pick shares with six large models (95 % interval), lists\n",
  );
  const lengths = clusters.map((c) => lists.get(`near_equal ${c}`).tools.map(({ description }) => description.length));
  line("length of the description", [cell(agreement(lengths, models))]);
  const table = [];
  for (const [name, pick] of pickers) {
    const shares = { near_equal: [], swapped: [] };
    for (const { set, cluster } of lists.values()) shares[set][cluster] = await sharesOf(set, cluster, pick);
    table.push({ name, ...shares });
    if (shares.near_equal.filter(Boolean).length > 2) line(name, [cell(agreement(shares.near_equal, models))]);
  }
  for (const [name, counts] of Object.entries(small))
    line(`${name} (published)`, [cell(agreement(counts.map(normalize), models))]);
  const among = clusters.map((c) =>
    mean(models.flatMap((one, at) => models.slice(at + 1).map((other) => spearman(one[c], other[c])))),
  );
  line("the large models with each other", [cell(bootstrap(among, mean))]);

  const pairs = [...lists.values()].flatMap(({ pair, cluster }) => (pair ? [{ pair, cluster }] : []));
  const gap = (shares, [one, other]) => shares[one] - shares[other];
  const effect = (before, after, pair) => (before && after ? gap(after, pair) - gap(before, pair) : undefined);
  console.log(
    "\nTwo descriptions swapped: what the tool that had the better one gains on the other (pp), and how often with gemini's sign\n",
  );
  line("", ["same sign", ...pairs.map(({ cluster }) => `list ${cluster + 1}`)]);
  const points = (value) =>
    value === undefined ? "not recorded" : `${value > 0 ? "+" : ""}${Math.round(100 * value)}`;
  const published = Object.entries(swapped).map(([name, after]) => ({
    ...{ name: `${name} (published)`, near_equal: large[name].map(normalize), swapped: after.map(normalize) },
  }));
  const effectsOf = ({ near_equal, swapped: after }) =>
    pairs.map(({ pair, cluster }) => effect(near_equal[cluster], after[cluster], pair));
  const [effects] = published.map(effectsOf);
  for (const row of [...published, ...table]) {
    const own = effectsOf(row);
    const asked = own.filter((value) => value !== undefined).length;
    if (asked === 0) continue;
    const same = own.filter((value, at) => value !== undefined && Math.sign(value) === Math.sign(effects[at])).length;
    line(row.name, [`${same} of ${asked}`, ...own.map(points)]);
  }
}

async function printTable() {
  const items = readItems();
  const recorded = readRecorded();
  const picks = JSON.parse(readFileSync(new URL("picks.json", folder), "utf8"));
  await printErrors(items, listPredictors(recorded, listTools(items)), picks.published);
  await printShares(items, recorded, picks);
}

const [, , mode, ...rest] = process.argv;
if (mode === "record") await record(...rest);
else await printTable();
