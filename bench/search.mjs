// How well the rankers of tool search find the tools of real tasks: LiveMCPBench, 527 tools of 70 servers, 95 tasks with
// hand-labeled tools (bench/data/livemcp). Then the time for 1,000 tools, 100 queries and all rankers.
// Usage: node bench/search.mjs
import { readFileSync } from "node:fs";
import { toSearchDocument } from "../build/evals/base/search/document.js";
import { rankerNames } from "../build/evals/base/search/rankers.js";
import { evaluateSearch, recallDepths, summarizeRanker } from "../build/evals/inspection/search/evaluate.js";

const rows = (file) =>
  readFileSync(new URL(`data/livemcp/${file}`, import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

const documents = rows("tools.jsonl").map((tool) => toSearchDocument(tool));
const tasks = rows("tasks.jsonl");
const names = new Set(documents.map(({ name }) => name));

/** A query with the tools that it needs, by name; labels that name no tool of the list are left out. */
const toCase = (id, text, labels) => ({
  id,
  queries: [{ kind: "request", text }],
  expected: [...new Set(labels)].filter((label) => names.has(label)).map((label) => [label]),
});
const isSearchable = ({ expected }) => expected.length > 0;
const sets = {
  "paired steps": tasks
    .filter(({ paired }) => paired)
    .flatMap(({ id, steps, tools }) => steps.map((step, at) => toCase(`${id}/${at}`, step, [tools[at]]))),
  "whole tasks": tasks.map(({ id, query, tools }) => toCase(id, query, tools)),
};

console.log(`${documents.length} tools`);
for (const [set, all] of Object.entries(sets)) {
  const cases = all.filter(isSearchable);
  console.log(`\n${set}: ${cases.length} queries`);
  console.log(["ranker ", ...recallDepths.map((depth) => `recall@${depth}`.padStart(9)), " not found"].join(" "));
  const queries = evaluateSearch(documents, cases, rankerNames);
  for (const ranker of rankerNames) {
    const { recall, notFound } = summarizeRanker(ranker, queries);
    const figures = recallDepths.map((depth) => recall[depth].toFixed(2).padStart(9));
    console.log([ranker.padEnd(7), ...figures, String(notFound).padStart(10)].join(" "));
  }
}

const thousand = Array.from({ length: 1000 }, (_, at) => {
  const document = documents[at % documents.length];
  return at < documents.length ? document : { ...document, name: `${document.name}_2` };
});
const hundred = Array.from({ length: 100 }, (_, at) => sets["whole tasks"].filter(isSearchable)[at % 94]);
const runs = Array.from({ length: 5 }, () => {
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
  evaluateSearch(thousand, hundred, rankerNames);
  const { user, system } = process.cpuUsage(cpu);
  return { wall: performance.now() - startedAt, cpu: (user + system) / 1000 };
});
const median = (figure) =>
  runs
    .map((run) => run[figure])
    .sort((a, b) => a - b)[2]
    .toFixed(0);
const load = `1,000 tools, 100 queries, ${rankerNames.length} rankers`;
console.log(`\n${load}: ${median("wall")} ms, CPU ${median("cpu")} ms (target: under 1 s; median of 5)`);
