import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
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

test.each(["hosts", "confusable", "skills", "triggers", "lint", "run", "page", "pageRecord"])(
  "the modules that bench/%s.mjs imports from the build exist and export what it names",
  async (name) => {
    const source = await readFile(join(root, `bench/${name}.mjs`), "utf8");
    for (const [, names = "", path = ""] of source.matchAll(/import \{([^}]*)\} from "\.\.\/(build\/[^"]+)"/g)) {
      const module = (await import(join(root, path))) as Record<string, unknown>;
      for (const one of names.split(",")) expect(module, path).toHaveProperty(one.trim());
    }
  },
);
