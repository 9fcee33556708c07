import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as flags from "../../src/evals/commands/flags.ts";
import { commands } from "../../src/evals/commands/index.ts";
import { singleUse } from "../../src/evals/commands/projectSchema.ts";

const root = join(import.meta.dirname, "../..");

it("has the options of the library from the flags of the commands", async () => {
  const { renderOptionTypes } = (await import(join(root, "scripts/optionTypes.mjs"))) as {
    renderOptionTypes(...args: unknown[]): string;
  };
  const made = execFileSync(
    join(root, "node_modules/.bin/biome"),
    ["format", "--stdin-file-path=src/evals/options.ts"],
    {
      cwd: root,
      input: renderOptionTypes(commands, singleUse, flags),
      encoding: "utf8",
    },
  );
  const written = readFileSync(join(root, "src/evals/options.ts"), "utf8");
  const missing = made.split("\n").filter((line) => !written.includes(line));
  expect(missing, "write the file again: npm run options").toEqual([]);
  expect(written.length).toBe(made.length);
});
