// Time and memory to discover and parse many skill packages: `npm run build && node bench/skills.mjs [--packages 2000]`.
// Prints one line for the module alone and one for the whole command, start of Node included.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { cli, measure, scratch } from "./harness.mjs";

const { values } = parseArgs({ options: { packages: { type: "string", default: "2000" } } });
const packages = Number(values.packages);

const steps = Array.from(
  { length: 25 },
  (_, n) => `${n + 1}. Read file ${n} and write down what it says of the query.`,
);
const evals = Array.from({ length: 8 }, (_, n) => ({
  input: `query ${n}`,
  expected_behavior: ["answers", "asks first"],
}));

for (let n = 0; n < packages; n++) {
  const name = `skill-${n}`;
  const files = {
    "SKILL.md": `---\nname: ${name}\ndescription: Does task ${n} for a user who asks for it. Use it when they say "do task ${n}" or "task ${n}, please". Not for task ${n + 1}, which skill-${n + 1} does.\nlicense: MIT\nmetadata:\n  version: "1.0"\n---\n\n# Task ${n}\n\nThe user has a task.\n\n## Steps\n\n${steps.join("\n")}\n\n## Do not\n\n- Do not guess.\n\n## References\n\n- [The format](references/format.md)\n`,
    "references/format.md": "A line of the format.\n".repeat(150),
    "scripts/run.sh": "#!/bin/sh\necho done\n",
    "evals/evals.json": JSON.stringify({ evals }, null, 2),
  };
  for (const [path, content] of Object.entries(files)) {
    const file = join(scratch, ".claude/skills", name, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, content);
  }
}

const moduleUrl = pathToFileURL(join(import.meta.dirname, "../build/evals/input/skills/discover.js")).href;
const script = join(scratch, "discover.mjs");
writeFileSync(
  script,
  `import { discoverSkills } from ${JSON.stringify(moduleUrl)};
const roots = [{ dir: ".claude/skills", level: "project" }];
const { skills, warnings } = await discoverSkills(roots, { cwd: process.cwd() });
if (skills.length !== ${packages} || warnings.length > 0) throw new Error(\`\${skills.length} skills\`);
`,
);

const figures = ({ wallS, cpuS, peakMiB }) =>
  `${wallS.toFixed(2)} s, CPU ${cpuS.toFixed(2)} s, ${peakMiB.toFixed(0)} MiB`;
console.log(`${packages} packages discovered and parsed: ${figures(await measure([script]))}`);
const list = await measure([cli, "skills", "list", "--json"], { env: { HOME: join(scratch, "home") } });
console.log(`${packages} packages listed with their evals: ${figures(list)}`);
