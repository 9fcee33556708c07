import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

test("the quick form of the benchmark of verdicts meets its targets on the built program", async () => {
  const script = join(root, "bench/decisions.mjs");
  const { stdout } = await promisify(execFile)(process.execPath, [script, "--quick"], { cwd: root });
  expect(stdout).toContain("nothing changed");
  expect(stdout).toContain("All targets are met.");
});
