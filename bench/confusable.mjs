// How well the similarity of descriptions predicts which tools a model confuses: `evals lint --confusable` against the
// recorded answers of two language models on the Berkeley leaderboard (test/fixtures/bfcl).
// Usage: node bench/confusable.mjs
import { readFileSync } from "node:fs";
import { listConfusablePairs } from "../build/evals/inspection/lint/rules/confusable.js";

const rows = (file) =>
  readFileSync(new URL(`../test/fixtures/bfcl/${file}`, import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

/** The names of the called tools, in the forms that the fixture's README lists; none if the text cannot be read. */
function picked(text) {
  try {
    return [JSON.parse(text)].flat().map((call) => call.function_name ?? call.name ?? Object.keys(call)[0]);
  } catch {
    return [];
  }
}

const dotless = (name) => String(name).replaceAll(".", "_");
const answers = new Map();
for (const { id, raw_output } of rows("outputs.jsonl")) answers.set(id, [...(answers.get(id) ?? []), raw_output]);

const pairs = [];
let read = 0;
for (const { id, tools, possible_answer } of rows("cases.jsonl")) {
  const texts = answers.get(id);
  if (!texts || !possible_answer || tools.length < 2) continue;
  const right = dotless(Object.keys(possible_answer[0])[0]);
  const listed = tools.map(({ name, description, parameters }) => ({
    name: dotless(name),
    description,
    inputSchema: { ...parameters, type: "object" },
  }));
  const alike = listConfusablePairs(listed, { least: Number.MIN_VALUE, most: 1e6 });
  const picks = texts.flatMap((text) => picked(text).slice(0, 1).map(dotless));
  read += picks.length;
  for (const { name } of listed) {
    if (name === right) continue;
    const pair = alike.find(({ a, b }) => [a, b].includes(name) && [a, b].includes(right));
    pairs.push({ similarity: pair?.similarity ?? 0, times: picks.filter((pick) => pick === name).length });
  }
}

const confused = pairs.filter(({ times }) => times > 0);
const others = pairs.filter(({ times }) => times === 0);
let above = 0;
for (const one of confused)
  for (const other of others)
    above += one.similarity > other.similarity ? 1 : one.similarity === other.similarity ? 0.5 : 0;
const ranked = pairs.toSorted((a, b) => b.similarity - a.similarity);
const hits = (n) => ranked.slice(0, n).filter(({ times }) => times > 0).length;

console.log(`${pairs.length} pairs of the right tool and another; ${confused.length} were confused in ${read} answers`);
console.log(
  `a confused pair is more similar than another pair in ${((100 * above) / (confused.length * others.length)).toFixed(0)}%`,
);
console.log(`of the 10, 25 and 50 most similar pairs ${[10, 25, 50].map(hits).join(", ")} were confused`);
