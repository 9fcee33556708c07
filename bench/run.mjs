// npm run bench: CPU time, memory and wall time of the harness, as ratios to a bare loop over the same SDK in the same run.
// --pairs N takes medians of N pairs (7). --full adds 100,000 cases, and a run of 100,000 trials that is resumed.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { cli, endpoint, measure, scratch, wall, writeSuites } from "./harness.mjs";

const bare = join(import.meta.dirname, "bare.mjs");
const root = join(import.meta.dirname, "..");
const concurrency = 20;
const pairs = Number(
  parseArgs({ options: { pairs: { type: "string" }, full: { type: "boolean" } } }).values.pairs ?? 7,
);
const rows = [];
const row = (what, figure, target, met) => rows.push({ what, figure, target, met });
const ratio = (a, b) => (a / b).toFixed(2);
/** The seconds that `node -e 0` takes on the machine whose seconds the targets are. */
const targetNodeS = 0.05;
let nodeS = targetNodeS;
/** Compares a time with a target in seconds, which is longer on a slower machine. */
const timeRow = (what, figure, seconds, target) => {
  const scaled = target * (nodeS / targetNodeS);
  row(what, figure, `<= ${target} s x ${ratio(nodeS, targetNodeS)} = ${scaled.toFixed(2)} s`, seconds <= scaled);
};

/**
 * Runs a suite of cases that are all different, one trial of each, or of 100 cases with the rest as further trials; with
 * `resumes`, resumes the finished run: `resumed` is what that used to read its journal and report it.
 */
async function load(url, trials, cases = trials, { resumes = false } = {}) {
  const suites = writeSuites(cases, trials / cases);
  const out = join(scratch, "runs");
  const flags = ["-m", "anthropic:bench", "--base-url", url, "-c", String(concurrency), "--json", "--out", out];
  const used = await measure([cli, "run", ...suites, ...flags]);
  const resumed = resumes && (await measure([cli, "run", "--resume", "latest", "--json", "--out", out]));
  rmSync(out, { recursive: true, force: true });
  return { ...used, resumed };
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Medians over pairs of runs, each pair one after the other, so that both sides meet the same machine. */
async function compare(url, trials, times) {
  const runs = [];
  for (let pair = 0; pair < times; pair++)
    runs.push({ own: await load(url, trials), bare: await measure([bare, url, String(trials), String(concurrency)]) });
  return {
    own: (name) => median(runs.map(({ own }) => own[name])),
    bare: (name) => median(runs.map(({ bare }) => bare[name])),
    ratio: (name) => median(runs.map(({ own, bare }) => own[name] / bare[name])),
  };
}

async function cpuAndMemory() {
  const { url, stop } = await endpoint(0);
  for (const trials of [1_000, 10_000]) {
    const both = await compare(url, trials, pairs);
    const cpu = both.ratio("cpuS");
    row(
      `CPU, ${trials} cases, 0 ms`,
      `${both.own("cpuS").toFixed(2)} s : ${both.bare("cpuS").toFixed(2)} s = ${cpu.toFixed(2)}x`,
      "<= 1.1x",
      cpu <= 1.1,
    );
    const [own, loop] = [both.own("peakMiB"), both.bare("peakMiB")];
    row(`peak memory, ${trials} cases`, `${own.toFixed(0)} MiB (bare: ${loop.toFixed(0)})`, "<= 220 MiB", own <= 220);
  }
  const { peakMiB: few } = await load(url, 10_000, 100);
  row("peak memory, 100 cases, 100 trials each", `${few.toFixed(0)} MiB`, "<= 220 MiB", few <= 220);
  if (process.argv.includes("--full")) {
    const { peakMiB: many } = await load(url, 100_000);
    row("peak memory, 100000 cases", `${many.toFixed(0)} MiB`, "<= 500 MiB", many <= 500);
    const { resumed } = await load(url, 100_000, 100, { resumes: true });
    const figure = `${resumed.wallS.toFixed(2)} s (${resumed.cpuS.toFixed(2)} s of CPU)`;
    timeRow("resume of 100000 trials", figure, resumed.wallS, 3);
  }
  stop();
}

async function wallAtLatency() {
  const { url, stop } = await endpoint(50);
  const both = await compare(url, 1_000, pairs);
  stop();
  const times = both.ratio("wallS");
  row(
    "wall, 1000 cases, 50 ms",
    `${both.own("wallS").toFixed(2)} s : ${both.bare("wallS").toFixed(2)} s = ${times.toFixed(2)}x`,
    "<= 1.1x",
    times <= 1.1,
  );
}

async function startUp() {
  nodeS = await wall(["-e", "0"], 15);
  const version = await wall([cli, "--version"], 15);
  row(
    "evals --version : node -e 0",
    `${(version * 1000).toFixed(0)} ms : ${(nodeS * 1000).toFixed(0)} ms = ${ratio(version, nodeS)}x`,
    "<= 2.5x",
    version / nodeS <= 2.5,
  );
  const run = await wall([cli, "run", "evals/evals.json", "--out", join(scratch, "runs")], 7, {
    cwd: root,
    codes: [0, 1],
  });
  timeRow("10 cases, lexical, reference server", `${run.toFixed(2)} s`, run, 0.7);
}

await startUp();
await wallAtLatency();
await cpuAndMemory();
const table = new Table({ head: ["what", "measured", "target", "met"], style: { head: [], border: [] } });
for (const { what, figure, target, met } of rows) table.push([what, figure, target, met ? "yes" : "NO"]);
console.log(table.toString());
mkdirSync(join(root, "reports"), { recursive: true });
writeFileSync(join(root, "reports/bench.json"), `${JSON.stringify(rows, null, 2)}\n`);
