// npm run bench: CPU time, memory and wall time of the harness, as ratios to a bare loop over the same SDK in the same run.
// --full adds 100,000 trials.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Table from "cli-table3";
import { cli, endpoint, measure, scratch, wall, writeSuite } from "./harness.mjs";

const bare = join(import.meta.dirname, "bare.mjs");
const root = join(import.meta.dirname, "..");
const concurrency = 20;
const rows = [];
const row = (what, figure, target, met) => rows.push({ what, figure, target, met });
const ratio = (a, b) => (a / b).toFixed(2);

async function load(url, trials) {
  const suite = writeSuite(trials / 100);
  const args = [
    cli,
    "run",
    suite,
    "-m",
    "anthropic:bench",
    "--base-url",
    url,
    "-c",
    String(concurrency),
    "--json",
    "--out",
    join(scratch, "runs"),
  ];
  return measure(args);
}

async function cpuAndMemory() {
  const { url, stop } = await endpoint(0);
  const peaks = {};
  const sizes = process.argv.includes("--full") ? [1_000, 10_000, 100_000] : [1_000, 10_000];
  for (const trials of sizes) {
    const own = await load(url, trials);
    peaks[trials] = own.peakMiB;
    if (trials > 10_000) break;
    const loop = await measure([bare, url, String(trials), String(concurrency)]);
    const cpu = own.cpuS / loop.cpuS;
    row(
      `CPU, ${trials} trials, 0 ms`,
      `${own.cpuS.toFixed(2)} s : ${loop.cpuS.toFixed(2)} s = ${cpu.toFixed(2)}x`,
      "<= 1.25x, aim 1.0x",
      cpu <= 1.25,
    );
  }
  stop();
  const growth = peaks[10_000] / peaks[1_000];
  row(
    "peak memory, 10,000 : 1,000 trials",
    `${peaks[10_000].toFixed(0)} : ${peaks[1_000].toFixed(0)} MiB = ${growth.toFixed(2)}x`,
    "<= 1.3x, < 250 MiB",
    growth <= 1.3 && peaks[10_000] < 250,
  );
  if (peaks[100_000]) {
    const more = peaks[100_000] / peaks[10_000];
    row(
      "peak memory, 100,000 : 10,000 trials",
      `${peaks[100_000].toFixed(0)} : ${peaks[10_000].toFixed(0)} MiB = ${more.toFixed(2)}x`,
      "<= 1.2x",
      more <= 1.2,
    );
  }
}

async function wallAtLatency() {
  const { url, stop } = await endpoint(50);
  const own = await load(url, 1_000);
  const loop = await measure([bare, url, "1000", String(concurrency)]);
  stop();
  const times = own.wallS / loop.wallS;
  row(
    "wall, 1,000 trials, 50 ms",
    `${own.wallS.toFixed(2)} s : ${loop.wallS.toFixed(2)} s = ${times.toFixed(2)}x`,
    "<= 1.1x",
    times <= 1.1,
  );
}

async function startUp() {
  const node = await wall(["-e", "0"], 15);
  const version = await wall([cli, "--version"], 15);
  row(
    "evals --version : node -e 0",
    `${(version * 1000).toFixed(0)} ms : ${(node * 1000).toFixed(0)} ms = ${ratio(version, node)}x`,
    "<= 2.5x",
    version / node <= 2.5,
  );
  const run = await wall([cli, "run", "evals/evals.json", "--out", join(scratch, "runs")], 7, {
    cwd: root,
    codes: [0, 1],
  });
  row("10 cases, lexical, reference server", `${(run * 1000).toFixed(0)} ms`, "<= 700 ms", run <= 0.7);
}

await startUp();
await wallAtLatency();
await cpuAndMemory();
const table = new Table({ head: ["what", "measured", "target", "met"], style: { head: [], border: [] } });
for (const { what, figure, target, met } of rows) table.push([what, figure, target, met ? "yes" : "NO"]);
console.log(table.toString());
mkdirSync(join(root, "reports"), { recursive: true });
writeFileSync(join(root, "reports/bench.json"), `${JSON.stringify(rows, null, 2)}\n`);
