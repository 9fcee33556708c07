// Time and memory to load and run one large suite whose cases have their own tool lists, on the offline model:
// `npm run build && node bench/largeSuite.mjs [--data FOLDER] [--cases 2393]`.
// FOLDER holds the files BFCL_v4_*.json and possible_answer/ of the Berkeley Function Calling Leaderboard
// (ShishirPatil/gorilla, berkeley-function-call-leaderboard/bfcl_eval/data). Without it, the excerpt in
// test/fixtures/bfcl is used several times over, each copy with other queries but the same lists.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { cli, measure, scratch } from "./harness.mjs";

const { values } = parseArgs({
  options: { data: { type: "string" }, cases: { type: "string", default: "2393" } },
});
const wanted = Number(values.cases);

const readLines = (file) =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const types = { dict: "object", float: "number", tuple: "array", any: "string" };
const toSchema = (value) => {
  if (Array.isArray(value)) return value.map(toSchema);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([key, one]) =>
    key === "type" && typeof one === "string" ? [key, types[one] ?? one] : [key, toSchema(one)],
  );
  return Object.fromEntries(entries);
};
const toCase = (id, messages, tools, answers) => ({
  id,
  messages,
  tools: tools.map(({ name, description, parameters }) => ({ name, description, inputSchema: toSchema(parameters) })),
  expect: {
    calls: answers.flatMap((answer) => Object.entries(answer).map(([tool, args]) => ({ tool, args }))),
    order: "any",
    argsMatch: "bfcl",
  },
});

function* readLeaderboard(folder) {
  for (const file of readdirSync(join(folder, "possible_answer"))) {
    const answers = new Map(
      readLines(join(folder, "possible_answer", file)).map(({ id, ground_truth }) => [id, ground_truth]),
    );
    for (const { id, question, function: tools } of readLines(join(folder, file)))
      if (question.length === 1) yield toCase(id, question[0], tools, answers.get(id) ?? []);
  }
}

function* readExcerpt() {
  const rows = readLines(join(import.meta.dirname, "../test/fixtures/bfcl/cases.jsonl")).filter(
    ({ possible_answer }) => possible_answer?.length,
  );
  for (let copy = 0; ; copy++)
    for (const { id, messages, tools, possible_answer } of rows) {
      const [last, ...before] = messages.toReversed();
      const asked = [...before.toReversed(), { ...last, content: `${last.content} (${copy})` }];
      yield toCase(`${id} ${copy}`, asked, tools, possible_answer);
    }
}

const cases = [];
for (const one of values.data ? readLeaderboard(values.data) : readExcerpt()) {
  if (cases.length === wanted) break;
  if (one.expect.calls.length > 0) cases.push(one);
}
const lists = new Set(cases.map(({ tools }) => JSON.stringify(tools)));
const suite = join(scratch, "large.json");
writeFileSync(suite, JSON.stringify({ name: "large", execute: "never", maxTurns: 1, trials: 1, cases }));
writeFileSync(join(scratch, "nothing.mjs"), "");

const figures = ({ cpuS, peakMiB }) => `CPU ${cpuS.toFixed(2)} s, peak ${peakMiB.toFixed(0)} MiB`;
const megabytes = (JSON.stringify(cases).length / 1e6).toFixed(1);
console.log(`${cases.length} cases, ${lists.size} different tool lists, ${megabytes} MB`);
console.log(`Node alone: ${figures(await measure(["nothing.mjs"]))}`);
const dry = await measure([cli, "run", suite, "-m", "lexical", "--dry-run"], { codes: [0, 2] });
console.log(`--dry-run: ${figures(dry)}`);
const run = await measure([cli, "run", suite, "-m", "lexical"], { codes: [0, 1] });
console.log(`run:       ${figures(run)}`);
