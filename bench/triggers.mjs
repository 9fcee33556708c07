// Wall and CPU time of a trigger run of 1,000 trials, compared with a bare loop that sends the same 1,000 requests (the
// same catalogue and Skill tool): `npm run build && node bench/triggers.mjs [--times 5]`. Medians of alternating runs.
import { mkdirSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { offerSkills } from "../build/evals/asking/trials/skills.js";
import { cli, endpoint, measure, scratch } from "./harness.mjs";

const { values } = parseArgs({ options: { times: { type: "string", default: "5" } } });
const times = Number(values.times);
const [trials, concurrency, target, skill] = [1_000, "20", 1.3, "skill-3"];

const names = Array.from({ length: 10 }, (_, n) => `skill-${n}`);
const describe = (n) =>
  `Does task ${n} for a user who asks for it. Use it when they say "do task ${n}" or "task ${n}, please". Not for task ${n + 1}, which ${names[(n + 1) % names.length]} does.`;
const queries = Array.from({ length: 100 }, (_, n) => `Do task 3 for me, please, with the numbers of week ${n}`);
for (const [n, name] of names.entries()) {
  const dir = join(scratch, ".claude/skills", name);
  mkdirSync(join(dir, "evals"), { recursive: true });
  writeFileSync(
    join(dir, "SKILL.md"),
    `---\nname: ${name}\ndescription: ${JSON.stringify(describe(n))}\n---\n\n# Task ${n}\n`,
  );
  if (name !== skill) continue;
  const evals = queries.map((query) => ({ query, should_trigger: true }));
  writeFileSync(join(dir, "evals/trigger-eval.json"), JSON.stringify(evals));
}

const entries = names.map((name, n) => ({ name: `skill:${name}`, description: describe(n) }));
const { prompt, tools } = offerSkills(entries, "skill-tool", { files: [], readable: false });
const load = join(scratch, "load.json");
writeFileSync(load, JSON.stringify({ system: prompt, tools, queries, picks: "Skill" }));

const run = (url) => [
  ...[cli, "run", "-m", "anthropic:bench", "--base-url", url, "-c", concurrency, "-n", String(trials / queries.length)],
  ...["--no-user-skills", "--json", "--out", join(scratch, "runs")],
];
const bare = (url) => [join(import.meta.dirname, "bare.mjs"), url, String(trials), concurrency, load];
const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];

for (const [latencyMs, figures] of [
  [50, ["wall"]],
  [0, ["wall", "cpu"]],
]) {
  const { url, stop } = await endpoint(latencyMs, skill);
  const turns = [];
  for (let time = 0; time < times; time++) turns.push({ own: await measure(run(url)), loop: await measure(bare(url)) });
  stop();
  for (const figure of figures) {
    const [own, loop] = ["own", "loop"].map((side) => median(turns.map((turn) => turn[side][`${figure}S`])));
    const what = `${figure}, ${trials} trials, ${latencyMs} ms`;
    const met = own / loop <= target ? "met" : "MISSED";
    console.log(
      `${what}: ${own.toFixed(2)} s : ${loop.toFixed(2)} s = ${(own / loop).toFixed(2)}x (<= ${target}x: ${met})`,
    );
  }
}
console.log(`load average: ${loadavg()[0]?.toFixed(1)}`);
