import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run } from "../../../src/evals/experiments/run/run.ts";
import { endpoint, filesSuite, project, runDefaults } from "../pipeline/project.ts";

describe("evals run", () => {
  it("records what decided the answers, every trial, and the reports", async () => {
    const { dir, io, records, manifest, trials } = project();
    const world = io();
    expect(await run({ ...runDefaults, seed: 5, trials: 2 }, world)).toBe(0);
    const [id = ""] = records();
    expect(JSON.parse(world.printed())).toMatchObject({
      run: id,
      ok: true,
      totals: { trials: 3, passed: 3, missing: 0 },
    });
    expect(manifest(id)).toMatchObject({
      seed: 5,
      host: "plain",
      flags: { model: ["lexical"], trials: 2, margin: 0.1, baselines: "evals/baselines", host: "plain" },
      totals: { trials: 3, passed: 3, broken: 0, missing: 0 },
      finishedAt: expect.any(String),
    });
    // Options that decide nothing about the answers are not recorded.
    expect(Object.keys(manifest(id).flags)).not.toEqual(expect.arrayContaining(["out", "json", "concurrency", "seed"]));
    expect(trials(id)).toHaveLength(3);
    for (const folder of [id, "last-result"])
      for (const file of ["report.html", "junit.xml"])
        expect(existsSync(join(dir, "reports", folder, file))).toBe(true);
  });

  it("asks a model once that is named twice", async () => {
    const { io, records, manifest, trials } = project();
    expect(await run({ ...runDefaults, model: ["lexical", "lexical-2"] }, io())).toBe(0);
    const [id = ""] = records();
    expect(manifest(id).models).toHaveLength(1);
    expect(trials(id)).toHaveLength(3);
  });

  it("leaves the reports of one run in the common folder when several end at once", async () => {
    const { dir, io, records } = project();
    const exits = await Promise.all(Array.from({ length: 8 }, () => run({ ...runDefaults, json: true }, io())));
    expect(exits).toEqual(Array(8).fill(0));
    const read = (folder: string) =>
      readdirSync(join(dir, "reports", folder))
        .filter((name) => /^(report|junit|summary)\./.test(name))
        .map((name) => readFileSync(join(dir, "reports", folder, name), "utf8"));
    expect(records()).toHaveLength(8);
    expect(records().map(read)).toContainEqual(read("last-result"));
    for (const id of records()) expect(existsSync(join(dir, "reports", id, ".replaced"))).toBe(false);
  });

  it("judges a replay of the keyword search by its tools alone, too", async () => {
    const { io, write, records, manifest } = project();
    const expected = { tool: "read", args: { path: "other.txt" } };
    write("evals/files.json", filesSuite([{ id: "read", input: "Text of the file notes.txt", expect: expected }]));
    await run({ ...runDefaults, trials: 1 }, io());
    const [recorded = ""] = records();
    const world = io();
    await run({ ...runDefaults, model: [`replay:${recorded}`], trials: 1 }, world);
    const [suite] = JSON.parse(world.printed()).suites;
    expect([suite.cases[0].outcomes, suite.unchecked[0].text]).toEqual([
      { "right-tool": 1 },
      expect.stringContaining("makes the arguments up"),
    ]);
    expect(manifest(records()[1] ?? "").models[0]?.settings).toMatchObject({ judged: "tools alone" });
  });

  it("asks the paraphrases of a case in turn, the same in the same trial, and reports each", async () => {
    const { dir, io, write, records, manifest } = project();
    const input = ["Read notes.txt", "Show me notes.txt", "What is in notes.txt?"];
    write("evals/files.json", filesSuite([{ id: "read", input, trials: 7, expect: { tool: "read" } }]));
    const { started, model, asked } = await endpoint(({ messages }) =>
      JSON.stringify(messages).includes("Show me") ? { text: "No." } : undefined,
    );
    const world = io();
    expect(await run({ ...runDefaults, ...asked, model: [model] }, world)).toBe(1);
    const queries = started.requests.map(({ body }) => JSON.stringify(body.messages));
    expect(queries.map((query) => input.findIndex((one) => query.includes(one)))).toEqual([0, 1, 2, 0, 1, 2, 0]);
    const { suites } = JSON.parse(world.printed());
    expect(suites[0].cases[0]).toMatchObject({
      trials: 7,
      passed: 5,
      paraphrases: [
        { input: input[0], passed: 3, trials: 3 },
        { input: input[1], passed: 0, trials: 2 },
        { input: input[2], passed: 2, trials: 2 },
      ],
    });
    expect(manifest(records()[0] ?? "").suites[0]?.cases[0]).toMatchObject({ input: input[0], paraphrases: input });
    const report = readFileSync(join(dir, "reports/last-result/summary.md"), "utf8");
    expect(report).toContain(`0/2 "${input[1]}"`);
  });

  it("records in-flight trials as cancelled when it is stopped, and is resumed with its recorded options", async () => {
    const { io, records, manifest, trials } = project();
    const stopped = io();
    const { started, model, asked } = await endpoint((_body, index) => {
      if (index === 4) stopped.stop();
      return undefined;
    });
    const options = { ...runDefaults, ...asked, model: [model], trials: 4 };
    expect(await run(options, stopped)).toBe(130);
    const [id = ""] = records();
    expect(stopped.warned()).toMatch(
      new RegExp(`^The run was stopped: \\d+ trials are missing. Resume with: \`evals run --resume ${id}\`$`, "m"),
    );
    expect(manifest(id).finishedAt).toBeUndefined();
    const before = trials(id).filter(({ outcome }) => outcome.kind === "answered").length;

    const resumed = io();
    const code = await run({ ...runDefaults, out: "reports", resume: id, baseUrl: started.url, trials: 99 }, resumed);
    expect(code).toBe(1);
    expect(JSON.parse(resumed.printed()).totals).toMatchObject({ trials: 12, passed: 4, broken: 0, missing: 0 });
    expect(trials(id).map(({ outcome }) => outcome.kind)).toEqual(Array(12).fill("answered"));
    expect(new Set(trials(id).map(({ cell }) => `${cell.case} ${cell.trial}`)).size).toBe(12);
    expect(started.requests.length).toBe(before + 1 + (12 - before));
    expect(manifest(id)).toMatchObject({ seed: 7, flags: { trials: 4 }, finishedAt: expect.any(String) });
  });

  it("starts no further trials when the budget is spent", async () => {
    const { io, records, manifest } = project();
    const { model, asked } = await endpoint();
    const world = io();
    expect(await run({ ...runDefaults, ...asked, model: [model], budget: 2.5 }, world)).toBe(1);
    expect(world.warned()).toContain("The budget of $2.5 is spent: 4 trials are missing.");
    expect(manifest(records()[0] ?? "")).toMatchObject({ totals: { trials: 9, missing: 4 } });
  });

  it("is not resumed when the suite or the tools changed, or by another command", async () => {
    const { io, write, records } = project();
    await run(runDefaults, io());
    const [id = ""] = records();
    write("tools.json", [{ name: "read", inputSchema: { type: "object" } }]);
    write("evals/files.json", filesSuite([{ id: "read", input: "x", expect: { tool: "read" } }]));
    await expect(run({ ...runDefaults, resume: id }, io())).rejects.toThrow(
      `The run ${id} cannot be resumed: the suite "files" was edited.`,
    );
    await expect(run({ ...runDefaults, resume: "nowhere" }, io())).rejects.toThrow('There is no run "nowhere".');
  });

  it("refuses options that contradict the record it resumes, and takes those that repeat it", async () => {
    const { io } = project();
    const world = io();
    await run({ ...runDefaults, trials: 2 }, world);
    const resume = { ...runDefaults, resume: "latest", trials: 3, case: ["read"], paths: ["evals/other.yaml"] };
    const given = new Set(["resume", "trials", "case", "paths", "concurrency"]);
    await expect(run({ ...resume, given }, io())).rejects.toThrow(
      /^error: The record \S+ was started with other options: --trials was 2, --case was not given, paths was not given\.\n {2}Leave out --trials, --case, evals\/other.yaml, or start a new run without --resume\.$/,
    );
    expect(await run({ ...runDefaults, resume: "latest", trials: 2, given: new Set(["trials"]) }, world)).toBe(0);
  });

  it("resumes records of earlier versions, whose flags hold more", async () => {
    const { dir, io, records, manifest } = project();
    await run({ ...runDefaults, trials: 2 }, io());
    const [id = ""] = records();
    const { finishedAt: _, totals: __, ...old } = manifest(id);
    writeFileSync(
      join(dir, "reports", id, "run.json"),
      JSON.stringify({ ...old, flags: { ...old.flags, write: "x.json", n: 2, seed: 4 } }),
    );
    const world = io();
    expect(await run({ ...runDefaults, resume: "latest" }, world)).toBe(0);
    expect(JSON.parse(world.printed()).totals).toMatchObject({ trials: 3, missing: 0 });
  });
});
