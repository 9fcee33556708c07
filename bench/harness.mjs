// Starts and measures processes.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { tools, writeQueries } from "./load.mjs";

export const cli = join(import.meta.dirname, "../dist/evals/cli.js");
const usage = pathToFileURL(join(import.meta.dirname, "usage.mjs")).href;

/** A folder for this process, removed at the end. */
export const scratch = mkdtempSync(join(tmpdir(), "evals-bench-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

let measured = 0;

/**
 * Runs a Node script to its end, or until `signal` stops it, and returns what it used; throws when it does not end with one
 * of `codes`.
 */
export async function measure(args, { codes = [0], cwd = scratch, env = {}, signal } = {}) {
  const file = join(scratch, `usage${++measured}.json`);
  const child = spawn(process.execPath, ["--import", usage, ...args], {
    cwd,
    env: { ...process.env, BENCH_USAGE: file, ANTHROPIC_API_KEY: "bench", ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  signal?.addEventListener("abort", () => child.kill());
  let stderr = "";
  child.stderr.on("data", (data) => (stderr += data));
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (!codes.includes(code)) throw new Error(`${args.join(" ")} ended with ${code}\n${stderr}`);
  return JSON.parse(readFileSync(file, "utf8"));
}

/** Wall time of a whole process in seconds, the median of `times` runs. */
export async function wall(args, times, { codes = [0], cwd = scratch } = {}) {
  const walls = [];
  for (let run = 0; run < times; run++) {
    const startedAt = performance.now();
    const child = spawn(process.execPath, args, { cwd, stdio: "ignore" });
    const code = await new Promise((resolve) => child.on("close", resolve));
    if (!codes.includes(code)) throw new Error(`${args.join(" ")} ended with ${code}`);
    walls.push((performance.now() - startedAt) / 1000);
  }
  return walls.sort((a, b) => a - b)[Math.floor(times / 2)];
}

/** Starts the endpoint, which listens at `url`. With `skill` it always loads that skill. */
export async function endpoint(latencyMs, skill = "") {
  const child = spawn(process.execPath, [join(import.meta.dirname, "endpoint.mjs"), String(latencyMs), skill], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise((resolve) => child.stdout.once("data", (data) => resolve(String(data).trim())));
  return { url, stop: () => child.kill() };
}

/** A file of a suite is at most 10 MiB. */
const casesPerFile = 10_000;

/**
 * Writes the load with this number of cases, and of trials of each, and returns the paths of its suites. The queries are
 * all different.
 */
export function writeSuites(count, trials) {
  writeFileSync(join(scratch, "tools.json"), JSON.stringify(tools));
  const cases = writeQueries(count).map((input, index) => ({
    id: `q${index}`,
    input,
    expect: { tool: "tool_3", args: { path: { $endsWith: "notes.txt" } } },
  }));
  return Array.from({ length: Math.ceil(count / casesPerFile) }, (_, part) => {
    const name = `load-${count}-${trials}-${part}`;
    const file = join(scratch, `${name}.json`);
    const own = cases.slice(part * casesPerFile, (part + 1) * casesPerFile);
    writeFileSync(file, JSON.stringify({ name, server: { tools: "tools.json" }, trials, cases: own }));
    return file;
  });
}
