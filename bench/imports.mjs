// How many cases of other tools load: node bench/imports.mjs <folder of clones> [--execute-source]. Each folder in it is one
// repository. Every case is kept or has its reason; `parts` are what single cases could not keep. Needs `npm run build`.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [folder, ...flags] = process.argv.slice(2);
if (folder === undefined) {
  console.error("Usage: node bench/imports.mjs <folder of clones> [flags of evals import]");
  process.exit(2);
}
const cli = join(import.meta.dirname, "../dist/evals/cli.js");

/** The JSON of `evals import` for one repository; undefined where no file is in a known format. */
function importAll(repository) {
  const out = mkdtempSync(join(tmpdir(), "imports-"));
  const args = [cli, "import", repository, "--out", out, "--json", ...flags];
  try {
    return JSON.parse(
      execFileSync(process.execPath, args, { maxBuffer: 256 << 20, stdio: ["ignore", "pipe", "pipe"] }),
    );
  } catch (error) {
    // A malformed file ends with 2, after what was read of the others.
    const printed = String(error.stdout ?? "");
    return printed === "" ? undefined : JSON.parse(printed);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

const count = (list) => {
  const counts = new Map();
  for (const one of list) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).map(([what, n]) => `${n}x ${what}`);
};

console.log("| repository | format | files | cases | kept | left out, each with its reason | parts not kept |");
console.log("|---|---|---|---|---|---|---|");
const reasons = [];
for (const name of readdirSync(folder).sort()) {
  const { imports = [] } = importAll(resolve(folder, name)) ?? {};
  for (const { format, files, kept, cases, unsaid } of imports) {
    const left = cases.filter((one) => one.leftOut !== undefined);
    const parts = [...cases.filter((one) => one.leftOut === undefined).flatMap((one) => one.unsaid), ...unsaid];
    console.log(`| ${[name, format, files, cases.length, kept, left.length, parts.length].join(" | ")} |`);
    reasons.push({
      name,
      format,
      left: count(left.map((one) => one.leftOut)),
      parts: count(parts.map((one) => one.what)),
    });
  }
}
for (const { name, format, left, parts } of reasons) {
  if (left.length + parts.length === 0) continue;
  console.log(`\n${name}, ${format}`);
  for (const one of left) console.log(`  left out: ${one}`);
  for (const one of parts) console.log(`  not kept: ${one}`);
}
