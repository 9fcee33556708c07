// Throughput of a run over a queue, with nothing killed: `npm run build && node bench/fleet.mjs [--cells 10000] [--workers 4]`.
// Starts a Redis server with an append-only file, an endpoint without latency, the workers and the run on this machine, and
// compares their CPU time with that of the same run in one process. Needs redis-server.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { cli, endpoint, measure, scratch, writeSuites } from "./harness.mjs";

const { values } = parseArgs({
  options: {
    cells: { type: "string", default: "10000" },
    workers: { type: "string", default: "4" },
    concurrency: { type: "string", default: "50" },
  },
});
const cells = Number(values.cells);
const workers = Number(values.workers);

const port = await new Promise((resolve) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});
const dir = join(scratch, "redis");
mkdirSync(dir);
const settings = ["--dir", dir, "--save", "", "--appendonly", "yes", "--maxmemory-policy", "noeviction"];
const redis = spawn("redis-server", ["--port", `${port}`, "--bind", "127.0.0.1", ...settings], { stdio: "ignore" });
const queue = `redis://127.0.0.1:${port}`;

/** CPU seconds of a process that runs; Linux counts them in hundredths. */
const cpuOf = ({ pid }) => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
};

const { url, stop } = await endpoint(0);
const suites = writeSuites(cells, 1);
const model = ["-m", "anthropic:bench", "--base-url", url, "--json"];
const alone = await measure([cli, "run", ...suites, ...model, "-c", "100", "--out", join(scratch, "alone")]);

const over = new AbortController();
const flags = ["--base-url", url, "-c", values.concurrency];
const fleet = Array.from({ length: workers }, () =>
  measure([cli, "worker", queue, ...suites, ...flags], { codes: [143], signal: over.signal }),
);
const before = cpuOf(redis);
const run = await measure([cli, "run", ...suites, ...model, "--queue", queue, "--out", join(scratch, "fleet")]);
const redisS = cpuOf(redis) - before;
over.abort();
const used = await Promise.all(fleet);
stop();
redis.kill();

const sum = (values) => values.reduce((total, value) => total + value, 0);
const perCell = (seconds) => `${((seconds / cells) * 1000).toFixed(2)} ms of CPU a cell`;
const line = (who, { cpuS, peakMiB }) => `${who}: ${perCell(cpuS)}, peak ${peakMiB.toFixed(0)} MiB`;
console.log(`${cells} cells over ${workers} workers: ${Math.round(cells / run.wallS)} a second`);
console.log(line("run", run));
console.log(
  line("all workers", {
    cpuS: sum(used.map(({ cpuS }) => cpuS)),
    peakMiB: Math.max(...used.map((one) => one.peakMiB)),
  }),
);
console.log(`redis-server: ${perCell(redisS)}`);
console.log(line("the same run in one process", alone), `${Math.round(cells / alone.wallS)} a second`);
