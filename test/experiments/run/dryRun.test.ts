import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { dryRunSchema } from "../../../src/evals/base/types/run.ts";
import { run } from "../../../src/evals/experiments/run/run.ts";
import { baselineFile, createBaseline, writeBaseline } from "../../../src/evals/records/baseline.ts";
import { endpoint, filesSuite, list, project, read, runDefaults, toolList } from "../pipeline/project.ts";

const suite = filesSuite([read, { ...list, expect: { tool: "read" }, expected_behavior: ["Names src."] }], {
  trials: 4,
});
const judge = "anthropic:claude-opus-5-5";

/** What a dry run prints, and how many requests were sent for it. */
async function planOf(changes: object, prepare: (files: ReturnType<typeof project>) => unknown) {
  const files = project({ "evals/files.json": suite });
  const { started, asked } = await endpoint();
  const options = { ...runDefaults, model: [asked.model], baseUrl: asked.baseUrl, seed: 7, retries: 0 };
  if (prepare !== nothing) await run({ ...options, trials: 4, accept: true }, files.io());
  await prepare(files);
  const before = started.requests.length;
  const world = files.io();
  expect(await run({ ...options, json: false, dryRun: true, ...changes }, world)).toBe(0);
  expect(started.requests.length).toBe(before);
  return world.printed();
}
const nothing = () => {};

describe("a dry run", () => {
  it("prints the ids, what each model and the judge cost, and the total", async () => {
    expect(await planOf({ judge }, nothing)).toMatchSnapshot();
  });

  it("needs no API key, and says so", async () => {
    const world = project().io({ env: {} });
    const models = ["anthropic:claude-haiku-5-5", "openai:gpt-5"];
    expect(await run({ ...runDefaults, model: models, dryRun: true, json: false }, world)).toBe(0);
    expect(world.warned()).toContain("ANTHROPIC_API_KEY is not set. A dry run needs none.");
  });

  it("prices the judge of a matcher and of a later turn", async () => {
    const matched = { ...read, expect: { tool: "read", args: { path: { $judge: "It names a file." } } } };
    const plan = await planOf({ judge }, ({ write }) =>
      write("evals/files.json", filesSuite([matched], { trials: 4 })),
    );
    expect(plan).toContain("calls          at most 4 additional");
  });

  it("states how often a drop is found, also where the list has not changed", async () => {
    expect(await planOf({}, () => {})).not.toContain("is found");
    const plan = await planOf({ check: "always" }, () => {});
    expect(plan).toContain("Check of files on anthropic:claude-haiku-5-5: typically");
    expect(plan).toMatch(/A drop of every case of files on .* is found: of 10 pp in \d+% of checks, of 20 pp in \d+%/);
  });

  it("counts the judged trials of a check in both arms", async () => {
    const plan = await planOf({ judge }, async ({ dir, write, manifest, records }) => {
      // No endpoint judges here: the baseline is as a judge would have left it.
      const record = manifest(records()[0] ?? "");
      const passes = new Map(["read", "list"].map((id) => [id, { passed: 4, trials: 4 }]));
      const model = "anthropic:claude-haiku-5-5";
      const file = baselineFile(join(dir, "evals/baselines"), "files", model);
      await writeBaseline(file, createBaseline(record, "files", model, passes, new Date(0)));
      write("tools.json", toolList({ read: "Opens one file." }));
    });
    expect(plan.slice(plan.indexOf("Check of"), plan.indexOf("\n\nanthropic"))).toMatchInlineSnapshot(`
      "Check of files on anthropic:claude-haiku-5-5: typically 160 trials, about $0.02; 9 times in 10 at most 160, about $0.02; never more than 280.
      A drop of every case of files on anthropic:claude-haiku-5-5 is found: of 10 pp in 50% of checks, of 20 pp in 97% of checks."
    `);
    expect(plan).toContain("trials         0 (besides those of the checks and nights above)\n");
    expect(plan).toContain("calls          at most 140 additional\n");
    expect(plan).toContain("total\n  cost           typically $0.70, at most $20.57\n");
  });

  it("prints the same facts as one object with --json", async () => {
    const printed = await planOf({ judge, json: true }, ({ write }) => write("tools.json", toolList({ read: "New." })));
    const plan = dryRunSchema.strict().parse(JSON.parse(printed));
    expect(plan).toMatchObject({
      suites: [{ suite: "files", cases: ["read", "list"], tools: 3, skills: 0, execute: "read-only" }],
      checks: [{ kind: "compare", suite: "files", model: "anthropic:claude-haiku-5-5", most: expect.any(Number) }],
      nights: [],
      models: [{ model: "anthropic:claude-haiku-5-5", trials: 4, calls: 4, costUsd: expect.any(Number) }],
      judge: { model: judge, calls: expect.any(Number) },
      seed: 7,
      exitCode: 0,
    });
    expect(plan.costUsd).toBeGreaterThan(plan.typicalUsd as number);
    const night = dryRunSchema.strict().parse(JSON.parse(await planOf({ nightly: true, json: true }, () => {})));
    expect(night).toMatchObject({
      checks: [{ kind: "unchanged" }],
      nights: [{ suite: "files", trials: 6, most: 20 }],
      judge: null,
    });
  });

  it("lists and prices a night on its own line", async () => {
    const plan = await planOf({ nightly: true }, () => {});
    expect(plan.slice(plan.indexOf("Check of"), plan.indexOf("\n\nanthropic"))).toMatchInlineSnapshot(`
      "Check of files on anthropic:claude-haiku-5-5: the tools are those of the baseline, nothing to compare.
      Night of files on anthropic:claude-haiku-5-5: 6 trials, about $0.0007, plus follow-ups for cases that look different; never more than 20."
    `);
    expect(plan).toContain("total\n  cost           typically less than $0.01, at most $0.04\n");
  });
});
