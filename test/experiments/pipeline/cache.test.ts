import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { acceptRun } from "../../../src/evals/experiments/baseline/accept.ts";
import { compareRecords } from "../../../src/evals/experiments/compare/ask.ts";
import { run } from "../../../src/evals/experiments/run/run.ts";
import { clean } from "../../../src/evals/reading/clean.ts";
import { endpoint, filesSuite, project, read, runDefaults } from "./project.ts";

/** A project whose model picks the right tool, and a run of it with the cache. */
async function prepare() {
  const { dir, io, write, records, manifest, trials } = project();
  const { started, model, asked } = await endpoint(({ messages }) => {
    const text = JSON.stringify(messages);
    const name = text.includes("notes.txt") ? "read" : text.includes("folder") ? "list" : undefined;
    return name === undefined ? { text: "Good morning" } : { calls: [{ name, input: {} }] };
  });
  const options = { ...runDefaults, ...asked, model: [model], cache: true };
  return { dir, io, write, records, manifest, trials, started, options };
}

describe("evals run --cache", () => {
  it("asks only what is new, marks the run, and gives no verdict", async () => {
    const { io, write, records, manifest, trials, started, options } = await prepare();
    expect(await run(options, io())).toBe(0);
    expect(started.requests).toHaveLength(9);
    const world = io();
    expect(await run({ ...options, json: false, maxRequests: 1 }, world)).toBe(0);
    expect(started.requests).toHaveLength(9);
    expect(world.printed().split("\n").slice(0, 4)).toEqual([
      "DRAFT · 3 of 3 cases pass · anthropic:claude-haiku-5-5",
      "  Pass rate: 100%, 9 of 9 trials, 95% CI 70-100%",
      "  No verdict: 9 of 9 replies came from the cache, and an old reply is not new evidence (--cache).",
      "  Next: when the cases are written, run again without --cache.",
    ]);
    expect(world.printed()).toContain(
      "0 model replies · 9 more from the cache · 0 calls executed · 0 tokens in · 0 out",
    );
    const [, second = ""] = records();
    expect(manifest(second)).toMatchObject({ cache: true, flags: { cache: true }, totals: { calls: 0, cached: 9 } });
    expect(trials(second).flatMap(({ turns, costUsd }) => [costUsd, ...turns.map(({ cached }) => cached)])).toEqual(
      Array.from({ length: 9 }, () => [0, true]).flat(),
    );

    const fresh = { id: "new", input: "What is in the folder src?", expect: { tool: "read" } };
    write("evals/files.json", filesSuite([read, fresh]));
    const third = io();
    expect(await run(options, third)).toBe(0);
    expect(started.requests).toHaveLength(12);
    expect(JSON.parse(third.printed())).toMatchObject({ cache: true, ok: true, totals: { calls: 3, cached: 3 } });
  });

  it("is asked with --changed: only the cases that changed, and those once", async () => {
    const { dir, io, write, records, options, started } = await prepare();
    await run({ ...options, cache: false, check: "off" }, io());
    const [first = ""] = records();
    await acceptRun(first, { baselines: join(dir, "evals/baselines"), out: join(dir, "reports") }, io());
    const fresh = { id: "new", input: "What is in the folder src?", expect: { tool: "list" } };
    write("evals/files.json", filesSuite([read, fresh]));
    const changed = { ...options, changed: true, baselines: join(dir, "evals/baselines") };
    const worlds = [io(), io()];
    for (const world of worlds) expect(await run(changed, world)).toBe(0);
    expect(started.requests).toHaveLength(10);
    // A whole run has its first trial of the case from there.
    expect(await run({ ...options, trials: 1 }, io())).toBe(0);
    expect(started.requests.slice(10).map(({ body }) => JSON.stringify(body.messages))).not.toContainEqual(
      expect.stringContaining("src"),
    );
    expect(existsSync(join(dir, "reports/partial/.evals-cache"))).toBe(false);
    expect(worlds.map((world) => JSON.parse(world.printed()).totals)).toMatchObject([
      { calls: 1, trials: 1 },
      { calls: 0, cached: 1, trials: 1 },
    ]);
  });

  it("compares nothing with a baseline, and is neither accepted nor compared", async () => {
    const { dir, io, records, options, started } = await prepare();
    await run({ ...options, cache: false, check: "off" }, io());
    const [first = ""] = records();
    await acceptRun(first, { baselines: join(dir, "evals/baselines"), out: join(dir, "reports") }, io());
    expect(readdirSync(join(dir, "evals/baselines"))).toHaveLength(1);
    const world = io();
    expect(await run(options, world)).toBe(0);
    expect(started.requests).toHaveLength(18);
    expect(JSON.parse(world.printed()).suites[0]).not.toHaveProperty("verdict");
    const [, second = ""] = records();
    await expect(acceptRun(second, { baselines: "evals/baselines", out: "reports" }, io())).rejects.toThrow(
      `The run ${second} was made with --cache: it repeats replies of earlier runs, so it shows no pass rate.`,
    );
    const sides = { base: first, head: second, margin: 0.1, out: "reports" };
    await expect(compareRecords(sides, io())).rejects.toThrow("so it cannot be compared");
  });

  it.each([
    [{ check: "on" as const }, "--check"],
    [{ nightly: true }, "--nightly"],
    [{ accept: true, blame: true }, "--accept, --blame"],
    [{ failOn: ["rate" as const] }, "--fail-on"],
    [{ shard: "1/2", seed: 1 }, "--shard"],
  ])("refuses what decides something: %j", async (more, named) => {
    const { io, started, options } = await prepare();
    await expect(run({ ...options, ...more }, io())).rejects.toThrow(
      `${named} cannot be used with --cache, which repeats replies of earlier runs and decides nothing.`,
    );
    expect(started.requests).toEqual([]);
  });

  it("fails with exit code 3 if its folder is a file", async () => {
    const { dir, io, write, options } = await prepare();
    write("reports/.evals-cache", "");
    await expect(run(options, io())).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringContaining(`${join(dir, "reports/.evals-cache")} cannot be written`),
    });
  });

  it("has no effect on free models, and is removed by clean", async () => {
    const { dir, io, options } = await prepare();
    const world = io();
    await run({ ...options, model: ["lexical"] }, world);
    await run(options, io());
    expect(readdirSync(join(dir, "reports/.evals-cache"))).toHaveLength(9);
    const cleaning = io();
    await clean({ keep: 9, dryRun: true, out: "reports" }, cleaning);
    await clean({ keep: 9, dryRun: false, out: "reports" }, cleaning);
    expect(cleaning.printed()).toBe(
      "Would remove 0 records and the cache of replies; kept 2 finished records.\n  reports/.evals-cache\n" +
        "Removed 0 records and the cache of replies; kept 2 finished records.\n  reports/.evals-cache\n",
    );
    expect(existsSync(join(dir, "reports/.evals-cache"))).toBe(false);
  });
});
