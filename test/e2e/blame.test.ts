import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runManifestSchema } from "../../src/evals/base/types/run.ts";
import { type Ended, evals, pageOf, summaryOf, trialsOf, workspace } from "./evals.ts";
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
async function regress(kind: "changed" | "regressed", ...asked: string[]) {
  files.restore();
  await run("run", files.suite, "-n", "20", ...asked);
  expect((await run("baseline", "accept", "--force")).code).toBe(0);
  files.spoil();
  const checked = await run("run", files.suite, ...asked, "--json");
  // A deterministic model shows a change, and fails nothing unless it is named.
  expect(checked.code).toBe(kind === "regressed" ? 1 : 0);
  const summary = summaryOf(checked);
  const named = kind === "regressed" ? { flagged: [{ case: spoiled.case }] } : { flips: [{ case: spoiled.case }] };
  expect(summary.suites[0]?.verdict).toMatchObject({ kind, ...named });
  return summary;
}

describe("one spoiled description of eight, on the lexical model", () => {
  let checked: string;
  beforeAll(async () => {
    checked = (await regress("changed")).run;
  });

  it("is found by the check and by blame, and is certain", async () => {
    const { code, out, err } = await run("blame");
    expect(err).toBe("");
    expect(code).toBe(0);
    expect(pageOf(/Record: (.*)/.exec(out)?.[1] ?? "")).toMatchObject({
      title: "BLAMED: get_file_info",
      trials: { recorded: 7 },
    });
    expect(out.replaceAll(/2\d{3}-[\dT-]+/g, "RUN").replace(/^Record: .*/ms, "")).toMatchInlineSnapshot(`
      "BLAMED: get_file_info
        Reverting get_file_info repairs when-changed, and get_file_info alone breaks it. The model is
          deterministic, so this is certain.
        Next: revert or reword get_file_info.

      Case when-changed: 1/1 with the old list, 0/1 with the new one. "When was todo.md last modified?"

      The change
        get_file_info: description
          [-Retrieve detailed metadata about a file or directory. Returns comprehensive information
          including size, creation time, last modified time, permissions, and type. This tool is perfect
          for understanding file characteristics without reading the actual content. Only works within
          allowed directories.-]{+Gives a report on something.+}

      Suite: files · lexical-2 (keyword search, not a language model; all definitions shown), against
        the run RUN
      Trials: 7, at most 53 · cost $0
      "
    `);
  });

  it("is found in one go with the check", async () => {
    const ended = await run("run", files.suite, "--blame", "--json");
    const summary = summaryOf(ended);
    expect(ended.code).toBe(0);
    expect(summary.suites[0]?.verdict).toMatchObject({ kind: "changed" });
    expect(summary.blame).toMatchObject([
      { cases: [{ case: spoiled.case, verdict: { descriptions: [spoiled.tool] } }] },
    ]);
    const text = await run("run", files.suite, "--blame");
    expect(text.out).toMatch(/^CHANGED · .*\n\nBLAMED: get_file_info\n/s);
  });

  it("is found without a run, against the baseline alone", async () => {
    const asked = ["blame", "--baseline", "evals/baselines/files.lexical-2.json", "--paths", files.suite, "--json"];
    const ended = await run(...asked, "--case", spoiled.case);
    expect(ended.code).toBe(0);
    expect(blamesOf(ended)[0].cases).toMatchObject([{ case: spoiled.case, verdict: { descriptions: [spoiled.tool] } }]);
    const unharmed = await run(...asked, "--case", "rename");
    expect(unharmed.code).toBe(3);
    expect(blamesOf(unharmed)[0].cases[0]).toMatchObject({
      headline: "NOTHING TO EXPLAIN: rename",
      reason: "rename passes with everything new.",
    });
  });

  it("says why a run cannot be explained", async () => {
    const [{ run: another }] = blamesOf(await run("blame", "--json"));
    const [mine, none] = await Promise.all([run("blame", another), run("blame", checked, "--suite", "others")]);
    files.restore();
    const changed = await run("blame", checked);
    files.spoil();
    expect([mine, none, changed].map(({ code }) => code)).toEqual([2, 2, 3]);
    const messages = [mine, none, changed].map(({ err }) => err.replaceAll(/2\d{3}-[\dT-]+/g, "RUN")).join("\n");
    expect(messages).toMatchInlineSnapshot(`
      "error: The record RUN was made by \`evals blame\`, not by \`evals run\`.
        Give a record of \`evals run\`.

      error: The run RUN has no regression check of others to explain.
        Run a check first with \`evals run --check on\`.

      error: The run RUN cannot be explained: the live tools are no longer those of the run: create_directory: description, edit_file: description, get_file_info: description, list_directory: description, read_media_file: description and 3 more.
        Run \`evals run --check on\` again, then \`evals blame\`.
      "
    `);
  });
});

describe("one spoiled description of eight, on a simulated noisy endpoint", () => {
  let endpoint: Awaited<ReturnType<typeof startNoisyEndpoint>>;
  let checked: Awaited<ReturnType<typeof regress>>;
  beforeAll(async () => {
    endpoint = await startNoisyEndpoint(files.cases, "1");
    checked = await regress(
      "regressed",
      "-m",
      "anthropic:claude-sonnet-5-5",
      "--base-url",
      endpoint.url,
      "--seed",
      "1",
    );
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
