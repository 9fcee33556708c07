import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runManifestSchema } from "../../src/evals/base/types/run.ts";
import { type Ended, evals, summaryOf, trialsOf, workspace } from "./evals.ts";
import { startNoisyEndpoint } from "./noisy.ts";
import { spoilable, spoiled } from "./spoiled.ts";

const dir = workspace();
const run = (...args: string[]) => evals(args, { cwd: dir });
const blamesOf = ({ out }: Ended) => JSON.parse(out).blames;

let files: Awaited<ReturnType<typeof spoilable>>;
beforeAll(async () => {
  files = await spoilable(dir);
});

/** Accepts the old list, spoils it, and checks. Returns the run of the check. */
async function regress(...asked: string[]) {
  await run("run", files.suite, "-n", "20", ...asked);
  expect((await run("baseline", "accept", "--force")).code).toBe(0);
  files.spoil();
  const checked = await run("run", files.suite, ...asked, "--json");
  expect(checked.code).toBe(1);
  const summary = summaryOf(checked);
  expect(summary.suites[0]?.verdict).toMatchObject({ kind: "regressed", flagged: [{ case: spoiled.case }] });
  return summary;
}

// On a deterministic model: test/experiments/pipeline/regression.test.ts.
describe("one spoiled description of eight, on a simulated noisy endpoint", () => {
  let endpoint: Awaited<ReturnType<typeof startNoisyEndpoint>>;
  let checked: Awaited<ReturnType<typeof regress>>;
  beforeAll(async () => {
    endpoint = await startNoisyEndpoint(files.cases, "1");
    const line = `-m anthropic:claude-sonnet-5-5 --base-url ${endpoint.url} --seed 1`;
    checked = await regress(...line.split(" "));
  });
  afterAll(() => endpoint.close());

  it("is found by the check and by blame, and confirmed on fresh trials", async () => {
    const asked = endpoint.requests.length;
    const ended = await run("blame", checked.run, "--seed", "2", "--json");
    expect(ended.code).toBe(0);
    const [{ cases, tests, calls, dir: record }] = blamesOf(ended);
    expect(cases).toHaveLength(1);
    expect(cases[0].verdict).toMatchObject({ kind: "blamed", descriptions: [spoiled.tool], relation: "single" });
    expect(tests.filter(({ isConfirmed }: { isConfirmed: boolean }) => isConfirmed)).toMatchObject([
      { description: spoiled.tool, cases: [{ case: spoiled.case }] },
    ]);
    expect(endpoint.requests.length - asked).toBe(calls.search + calls.confirmation);
    // Reverting one after the other, ten times each, takes 80. The benchmark has the figure over many seeds.
    expect(calls.search + calls.confirmation).toBeLessThan(80);

    const { experiment, toolsets } = runManifestSchema.parse(
      JSON.parse(readFileSync(join(record, "run.json"), "utf8")),
    );
    const lists = new Map(experiment?.arms.map(({ name, toolsets: of }) => [name, of[spoiled.case]]));
    for (const { cell, toolset } of trialsOf(record)) {
      expect(lists.get(cell.arm)).toBe(toolset);
      const listed = toolsets[toolset]?.find(({ name }) => name === spoiled.tool)?.description;
      const location = cases[0].changes.findIndex(({ id }: { id: string }) => id === spoiled.tool);
      expect(listed === spoiled.wording).toBe(cell.arm.split(":")[1]?.[location] === "1");
    }
  });

  it("stops when the budget is spent, and does not name anybody", async () => {
    const ended = await run("blame", checked.run, "--budget", "0.001", "--json");
    expect(ended.code).toBe(3);
    expect(blamesOf(ended)).toMatchObject([{ stopped: "the budget is spent", cases: [{ verdict: null }] }]);
  });
});
