// Error rates of the verdicts: the decision code as shipped, on simulated models of known pass rates.
// `npm run build && node bench/verdicts.mjs [--repetitions 2000]` prints the table and writes reports/bench-verdicts.json.
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import Table from "cli-table3";
import { globalTest, seededRandom } from "./verdicts/product.mjs";
import { scenarios } from "./verdicts/scenarios.mjs";

const { values } = parseArgs({ options: { repetitions: { type: "string", default: "2000" } } });
const repetitions = Number(values.repetitions);
if (!Number.isInteger(repetitions) || repetitions < 1)
  throw new Error("--repetitions needs a whole number, at least 1");

/** Two standard errors of a rate at the target: the Monte Carlo error over n repetitions. */
const monteCarlo = (rate, n) => 2 * Math.sqrt((rate * (1 - rate)) / n);

function judge({ target, callsTarget, fixed }, { rate, calls, repetitions: n }) {
  const met = [];
  if (target?.atMost !== undefined) met.push(rate <= target.atMost + monteCarlo(target.atMost, n));
  if (target?.atLeast !== undefined) met.push(rate >= target.atLeast);
  if (callsTarget !== undefined) met.push(calls / fixed <= callsTarget);
  return met.length === 0 ? undefined : met.every(Boolean);
}

function play() {
  const results = [];
  let next = 0;
  const workers = Array.from(
    { length: Math.min(8, availableParallelism()) },
    () => new Worker(new URL("./verdicts/worker.mjs", import.meta.url)),
  );
  const drain = (worker) =>
    new Promise((resolve, reject) => {
      const give = () =>
        next < scenarios.length ? worker.postMessage({ index: next++, repetitions }) : worker.terminate().then(resolve);
      worker.on("error", reject);
      worker.on("message", (result) => {
        results[result.index] = result;
        give();
      });
      give();
    });
  return Promise.all(workers.map(drain)).then(() => results);
}

/** Seconds for the global test on 500 cases of 20 trials per arm; the median of five. */
function globalTestTime() {
  const random = seededRandom(1);
  const draw = (rate) => ({
    passed: Array.from({ length: 20 }, () => Number(random.next() < rate)).reduce((a, b) => a + b, 0),
    trials: 20,
  });
  const cases = Array.from({ length: 500 }, () => random.next()).map((rate) => ({
    base: draw(rate),
    head: draw(rate),
  }));
  const times = Array.from({ length: 5 }, () => {
    const start = performance.now();
    globalTest(cases);
    return (performance.now() - start) / 1000;
  });
  return times.sort((a, b) => a - b)[2];
}

const percent = (rate) => `${(100 * rate).toFixed(1)}%`;
const verdictOf = (met) => (met === undefined ? "" : met ? "yes" : "NO");
function targetOf({ target, callsTarget, fixed }) {
  const parts = [];
  if (target?.atMost !== undefined) parts.push(`<= ${100 * target.atMost}%`);
  if (target?.atLeast !== undefined) parts.push(`>= ${100 * target.atLeast}%`);
  if (callsTarget !== undefined) parts.push(`<= ${+(callsTarget * fixed).toFixed(0)} calls`);
  return parts.join(", ");
}

const start = performance.now();
const seconds = globalTestTime();
const results = await play();
const rows = scenarios.map((scenario, i) => {
  const { group, name, target, callsTarget, fixed } = scenario;
  const { index, ...measured } = results[i];
  return { group, name, ...measured, fixedCalls: fixed, target, callsTarget, met: judge(scenario, results[i]) };
});
rows.push({
  group: "time",
  name: "global test, 500 cases x 20 trials",
  seconds,
  target: { atMostSeconds: 0.3 },
  met: seconds <= 0.3,
});

const table = new Table({
  head: ["scenario", "rate", "calls", "of fixed", "target", "met"],
  style: { head: [], border: [] },
});
let group = "";
for (const [i, row] of rows.entries()) {
  // A heading before the first row of each group.
  if (row.group !== group) table.push([{ content: row.group.toUpperCase(), colSpan: 6 }]);
  group = row.group;
  if (row.seconds !== undefined)
    table.push([row.name, `${row.seconds.toFixed(3)} s`, "", "", "<= 0.3 s", verdictOf(row.met)]);
  else
    table.push([
      row.name,
      percent(row.rate),
      row.calls.toFixed(1),
      `${((100 * row.calls) / row.fixedCalls).toFixed(0)}%`,
      targetOf(scenarios[i]),
      verdictOf(row.met),
    ]);
}
const took = (performance.now() - start) / 1000;
console.log(table.toString());
console.log(
  `${repetitions} repetitions (a quarter of it for anytime), ${took.toFixed(0)} s; "at most" allows two standard errors of the simulation.`,
);
console.log("of fixed: calls against 20 trials per case and arm.");
const missed = rows.filter((row) => row.met === false);
console.log(
  missed.length === 0
    ? "All targets are met."
    : `Missed: ${missed.map((row) => `${row.group}: ${row.name}`).join("; ")}`,
);
const out = new URL("../reports/", import.meta.url);
mkdirSync(out, { recursive: true });
writeFileSync(
  new URL("bench-verdicts.json", out),
  `${JSON.stringify({ repetitions, seconds: took, node: process.version, rows }, null, 2)}\n`,
);
process.exitCode = missed.length === 0 ? 0 : 1;
