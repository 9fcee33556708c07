import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { lintReportSchema } from "../../src/evals/base/types/finding.ts";
import { commands } from "../../src/evals/commands/index.ts";
import { lint } from "../../src/evals/inspection/lint/command.ts";
import { anIo } from "../fakes/io.ts";

// The skill in the package teaches agents to use the program, so it is held to the program's own rules.
const root = join(import.meta.dirname, "../..");
const skill = readFileSync(join(root, "skills/tool-evals/SKILL.md"), "utf8");

it("passes the program's own lint without a finding", async () => {
  const io = anIo({ cwd: root });
  const options = {
    all: false,
    confusable: false,
    rules: false,
    concurrency: 1,
    format: "terminal",
    failureThreshold: "info",
  } as const;
  const code = await lint({ ...options, json: true, skills: ["skills", "evals/skills"] }, io);
  expect([code, lintReportSchema.parse(JSON.parse(io.printed())).findings]).toEqual([0, []]);
});

it("names only commands and flags that exist", () => {
  const lines = [...skill.matchAll(/`npx evals ([^`]+)`/g)].map(([, line = ""]) => line.split(" "));
  expect(lines.length).toBeGreaterThan(8);
  for (const [word = "", ...words] of lines) {
    const command = commands.find((one) => one.command.split(" ")[0] === word);
    expect(command, `evals ${word}`).toBeDefined();
    const flags = words.filter((one) => one.startsWith("--")).map((one) => one.slice(2));
    expect(Object.keys(command?.flags ?? {})).toEqual(expect.arrayContaining(flags));
  }
});
