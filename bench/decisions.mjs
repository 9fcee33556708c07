// What the product's verdicts are worth: its own decision code against simulated models of known pass rates.
// `npm run build && node bench/decisions.mjs` plays every row 2,000 times, prints the tables and writes
// reports/bench-verdicts.json. `--quick`: a selection in two minutes. `--row TEXT`: rows whose group or name contains it,
// or one of several.
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import Table from "cli-table3";
import { rows } from "./decisions/rows.mjs";
import { formatFigure, formatTarget, summarize } from "./decisions/summary.mjs";

const { values } = parseArgs({
  options: {
    repetitions: { type: "string" },
    quick: { type: "boolean", default: false },
    row: { type: "string", multiple: true, default: [] },
    threads: { type: "string", default: String(Math.min(8, availableParallelism())) },
    list: { type: "boolean", default: false },
  },
});
const repetitions = Number(values.repetitions ?? (values.quick ? 200 : 2000));
if (!Number.isInteger(repetitions) || repetitions < 1)
  throw new Error("--repetitions needs a whole number, at least 1");

const isChosen = ({ group, name, quick }) =>
  (!values.quick || quick) &&
  (values.row.length === 0 ||
    values.row.some((text) => `${group}: ${name}`.toLowerCase().includes(text.toLowerCase())));
const chosen = rows.flatMap((row, index) => (isChosen(row) ? [{ row, index }] : []));
if (values.list) {
  for (const { row } of chosen) console.log(`${row.group}: ${row.name}`);
  process.exit(0);
}

/** Repetitions of a row: those that cost much get fewer. */
const repetitionsOf = ({ fewer = 1 }) => Math.max(1, Math.round(repetitions / fewer));

/** Pieces of work of a similar size, the dearest first, so that no thread is left with a long one. */
function pieces() {
  return chosen
    .flatMap(({ row, index }) => {
      const all = repetitionsOf(row);
      const size = Math.max(1, Math.round(100 / (row.cost ?? 1)));
      return Array.from({ length: Math.ceil(all / size) }, (_, k) => ({
        index,
        from: k * size,
        to: Math.min(all, (k + 1) * size),
        cost: row.cost ?? 1,
      }));
    })
    .sort((a, b) => b.cost - a.cost);
}

async function play() {
  const work = pieces();
  const played = new Map(chosen.map(({ index }) => [index, { parts: [], seconds: 0 }]));
  let next = 0;
  const drain = (worker) =>
    new Promise((resolve, reject) => {
      const give = () => (next < work.length ? worker.postMessage(work[next++]) : worker.terminate().then(resolve));
      worker.on("error", reject);
      worker.on("message", ({ index, from, played: part, seconds }) => {
        const row = played.get(index);
        row.parts.push({ from, part });
        row.seconds += seconds;
        give();
      });
      give();
    });
  const workers = Array.from(
    { length: Number(values.threads) },
    () => new Worker(new URL("./decisions/worker.mjs", import.meta.url)),
  );
  await Promise.all(workers.map(drain));
  return new Map(
    [...played].map(([index, { parts, seconds }]) => [
      index,
      { played: parts.sort((a, b) => a.from - b.from).flatMap(({ part }) => part), seconds },
    ]),
  );
}

const start = performance.now();
const played = await play();
const results = chosen.map(({ row, index }) => {
  const { played: all, seconds } = played.get(index);
  return { row, seconds, repetitions: all.length, ...summarize(row, all) };
});
const took = (performance.now() - start) / 1000;

for (const group of new Set(chosen.map(({ row }) => row.group))) {
  const inGroup = results.filter(({ row }) => row.group === group);
  const names = [...new Set(inGroup.flatMap(({ row }) => Object.keys(row.measures)))];
  const table = new Table({ head: [group, ...names, "must reach", "met"], style: { head: [], border: [] } });
  for (const { row, figures, met } of inGroup) {
    const targets = Object.entries(row.targets).map(
      ([name, target]) => `${name} ${formatTarget(target, row.measures[name])}`,
    );
    table.push([
      row.name,
      ...names.map((name) => (figures[name] ? formatFigure(figures[name]) : "")),
      targets.join(", "),
      met === undefined ? "" : met ? "yes" : "NO",
    ]);
  }
  console.log(table.toString());
}
console.log(
  `${repetitions} repetitions a row (large suites fewer), ${took.toFixed(0)} s. Shares in %, with 95 % intervals; calls per case, both arms; medians with 10th and 90th percentiles.`,
);
const missed = results.filter(({ met }) => met === false);
console.log(
  missed.length === 0
    ? "All targets are met."
    : `Missed: ${missed.map(({ row }) => `${row.group}: ${row.name}`).join("; ")}`,
);
const out = new URL("../reports/", import.meta.url);
mkdirSync(out, { recursive: true });
const report = results.map(({ row: { group, name, targets }, ...rest }) => ({ group, name, targets, ...rest }));
writeFileSync(
  new URL(values.quick ? "bench-verdicts-quick.json" : "bench-verdicts.json", out),
  `${JSON.stringify({ repetitions, seconds: took, node: process.version, rows: report }, null, 2)}\n`,
);
process.exitCode = missed.length === 0 ? 0 : 1;
