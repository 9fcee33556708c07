import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { run } from "../../src/evals/experiments/run/run.ts";
import { clean } from "../../src/evals/reading/clean.ts";
import { project, runDefaults } from "../experiments/pipeline/project.ts";

it("removes the oldest finished records and nothing else", async () => {
  const { dir, io, records } = project();
  for (let runs = 0; runs < 4; runs++) await run(runDefaults, io());
  const [first = "", second = "", third = "", fourth = ""] = records();
  const file = join(dir, "reports", second, "run.json");
  const { finishedAt: _, ...unfinished } = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify(unfinished));
  mkdirSync(join(dir, "reports/mine"));

  const world = io();
  expect(await clean({ keep: 1, dryRun: true, out: "reports" }, world)).toBe(0);
  expect(records()).toHaveLength(5);
  expect(await clean({ keep: 1, dryRun: false, out: "reports" }, world)).toBe(0);
  expect(records()).toEqual([second, fourth, "mine"]);
  expect(world.printed()).toBe(
    [
      ...["Would remove 2 records; kept 1 finished record.", `  reports/${first}`, `  reports/${third}`],
      ...["Removed 2 records; kept 1 finished record.", `  reports/${first}`, `  reports/${third}`, ""],
    ].join("\n"),
  );
});

it("has nothing to do without records", async () => {
  const world = project().io();
  expect(await clean({ keep: 0, dryRun: false, out: "reports" }, world)).toBe(0);
  expect(world.printed()).toBe("Removed 0 records; kept 0 finished records.\n");
});
