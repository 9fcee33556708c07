// CPU time of `evals verify` on 1,000 distinct cases and 355 real tools with an accepted baseline, beside one case and one
// tool: `npm run build && node bench/verify.mjs`.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cli, measure, scratch } from "./harness.mjs";

const lines = readFileSync(join(import.meta.dirname, "data/livemcp/tools.jsonl"), "utf8")
  .trim()
  .split("\n");
const byName = new Map(lines.map((line) => JSON.parse(line)).map((tool) => [tool.name, tool]));
const all = [...byName.values()].map(({ server, ...tool }) => tool);

/** A folder with a suite of so many cases and tools, and its accepted baseline. */
function prepare(name, caseCount, toolCount) {
  const cwd = join(scratch, name);
  const tools = all.slice(0, toolCount);
  const cases = Array.from({ length: caseCount }, (_, at) => {
    const tool = tools[at % tools.length];
    return { id: `q${at}`, input: `${tool.description.slice(0, 100)} (number ${at})`, expect: { tool: tool.name } };
  });
  mkdirSync(join(cwd, "evals"), { recursive: true });
  writeFileSync(join(cwd, "evals/tools.json"), JSON.stringify({ tools }));
  writeFileSync(
    join(cwd, "evals/suite.json"),
    JSON.stringify({ name, server: { tools: "tools.json" }, passRate: 0, cases }),
  );
  execFileSync(process.execPath, [cli, "run", "--accept"], { cwd, stdio: "pipe" });
  return cwd;
}

const [large, small] = [prepare("large", 1000, 355), prepare("small", 1, 1)];
const verify = [cli, "verify", "--tools", "evals/tools.json", "--fail-on", "stale"];
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const pairs = [];
for (let pair = 0; pair < 7; pair++)
  pairs.push([await measure(verify, { cwd: small }), await measure(verify, { cwd: large })]);
const beyond = median(pairs.map(([one, many]) => many.cpuS - one.cpuS));
const ratio = median(pairs.map(([one, many]) => many.cpuS / one.cpuS));
const peak = median(pairs.map(([, many]) => many.peakMiB));
console.log(
  `verify, 1,000 cases and 355 tools: ${ratio.toFixed(2)}x the CPU time of one case and one tool, ` +
    `${Math.round(beyond * 1000)} ms more; peak ${Math.round(peak)} MiB (medians of ${pairs.length} pairs)`,
);
