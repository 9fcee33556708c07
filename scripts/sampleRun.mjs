// Writes docs/sample: the reports of a run of the documentation's example on the built-in keyword search. They stand
// outside of any `reports` folder and without a record, so that no command takes them for a run.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "evals-sample-"));
try {
  cpSync(join(root, "docs/example"), work, { recursive: true });
  symlinkSync(join(root, "node_modules"), join(work, "node_modules"));
  const cli = join(root, "dist/evals/cli.js");
  execFileSync(process.execPath, [cli, "run", "--seed", "1", "--json", "--trust"], {
    cwd: work,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const reports = join(work, "reports/last-result");
  const sample = join(root, "docs/sample");
  mkdirSync(sample, { recursive: true });
  for (const name of readdirSync(reports).filter((one) => /\.(html|md|xml)$/.test(one)))
    writeFileSync(join(sample, name), readFileSync(join(reports, name), "utf8").replaceAll(work, "/home/ada/project"));
} finally {
  rmSync(work, { recursive: true, force: true });
}
