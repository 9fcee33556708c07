import { beforeAll, describe, expect, it } from "vitest";
import { evals, pageOf, spawnEvals, summaryOf, workspace } from "./evals.ts";
import {
  countRight,
  exactP,
  recordedModels,
  type Wording,
  wordings,
  writeRecording,
  writeSuite,
} from "./recordings.ts";
import { spoilable } from "./spoiled.ts";

const dir = workspace();
const run = (...args: string[]) => evals(args, { cwd: dir });

describe("evals compare on models that were recorded with two wordings", () => {
  const runs = new Map<Wording, ReturnType<typeof summaryOf>>();
  beforeAll(async () => {
    const suite = writeSuite(dir);
    for (const wording of wordings) {
      const folder = writeRecording(dir, wording);
      const models = recordedModels.flatMap((model) => ["-m", `replay:${folder}#${model}`]);
      const args = ["run", suite, ...models, "--out", `replayed-${wording}`, "--json"];
      // Spawned, because the folder of `replay:` is relative to the folder of the process.
      runs.set(wording, summaryOf(await spawnEvals(args, { cwd: dir })));
    }
  });
  const dirOf = (wording: Wording) => runs.get(wording)?.dir ?? "";

  it.each(wordings)("replays to the recorded counts with the %s wording", (wording) => {
    const totals = runs.get(wording)?.suites.map((suite) => suite.totals);
    expect(totals).toMatchObject(
      recordedModels.map((model) => ({ trials: 250, passed: countRight(model, wording), broken: 0, missing: 0 })),
    );
  });

  it.each([
    ["plain", "vague", "base", "regressed", 1],
    ["vague", "plain", "head", "no-regression", 0],
  ] as const)("names the better one of %s and %s with its exact p", async (a, b, better, kind, code) => {
    const ended = await run("compare", dirOf(a), dirOf(b), "--model", "model-a", "--json");
    expect(ended.code).toBe(code);
    const { comparisons, interleaved } = JSON.parse(ended.out);
    expect(interleaved).toBe(false);
    const p = exactP("model-a");
    expect(comparisons).toMatchObject([
      {
        cases: 250,
        better,
        check: { kind, changes: [], suite: { p: expect.closeTo(better === "base" ? p / 2 : 1, 3) } },
      },
    ]);
  });

  it("prints an answer for each model", async () => {
    const { code, out, err } = await run("compare", dirOf("plain"), dirOf("vague"));
    expect({ code, err }).toEqual({ code: 1, err: "" });
    expect(out.split("\n  A:")[0]).toMatchInlineSnapshot(`
      "A is better than B · A to B: REGRESSED (suite) · recorded · model-a
      A is better than B · A to B: REGRESSED (suite) · recorded · model-b
        How sure: less than a check. The two were recorded at different times, so a change of the model
          in between looks like a change of the wording.
        Next: confirm it with a check, which asks both tool lists in turn: \`evals run --check on\`."
    `);
  });
});

describe("evals compare on the filesystem example", () => {
  it("compares a baseline with a run, and says what the lists word otherwise", async () => {
    const { suite, spoil } = await spoilable(dir);
    await run("run", suite);
    await run("baseline", "accept", "--force");
    spoil();
    await run("run", suite, "--check", "off");
    const { code, out, err } = await run("compare", "evals/baselines/files.lexical-2.json", "latest");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const page = await run("compare", "evals/baselines/files.lexical-2.json", "latest", "--format", "html");
    expect(pageOf(page.out).before[0]).toMatchObject({ kind: "heading", text: expect.stringContaining("A is better") });
    expect(out.replaceAll(/2\d{3}-\d\d-\d\d[\dT-]*( \d\d:\d\d)?/g, "DATE")).toMatchInlineSnapshot(`
      "A is better than B · A to B: CHANGED · files · lexical-2
        How sure: less than a check. The two were recorded at different times, so a change of the model
          in between looks like a change of the wording.
        Next: confirm it with a check, which asks both tool lists in turn: \`evals run --check on\`.
        A: evals/baselines/files.lexical-2.json (the baseline of DATE, from the run
          DATE)
        B: DATE (the run of DATE UTC)

      Passed: A 9/10 (90%), B 8/10 (80%), in 10 cases
      1 case flipped: when-changed passed before and fails now. A deterministic model shows that
        something changed, not whether it matters.
      Net change from A to B: -11.1 pp, mean over the 9 of 10 cases that can fall; the model is
        deterministic.

      Answers that differ (better in only one of the two)
      case          only A  only B  pairs
      ───────────────────────────────────
      when-changed  1       0       1

      Changes in the tool list
        get_file_info: description
          [-Retrieve detailed metadata about a file or directory. Returns comprehensive information
          including size, creation time, last modified time, permissions, and type. This tool is perfect
          for understanding file characteristics without reading the actual content. Only works within
          allowed directories.-]{+Gives a report on something.+}
        create_directory: description
          … directory structures for projects or ensuring required paths exist. [-Only works
          within-]{+Limited to+} allowed directories.
        edit_file: description
          … with new content. Returns a git-style diff showing the changes made. [-Only works
          within-]{+Limited to+} allowed directories.
        list_directory: description
          … directory structure and finding specific files within a directory. [-Only works
          within-]{+Limited to+} allowed directories.
        read_media_file: description
          … content; any other file type is returned as an embedded resource. [-Only works
          within-]{+Limited to+} allowed directories.
        read_multiple_files: description
          … Failed reads for individual files won't stop the entire operation. [-Only works
          within-]{+Limited to+} allowed directories.
        … and 2 more changes

      Trials of the check: 10 baseline, 10 now
      "
    `);
  });

  it("refuses what is not comparable, with every reason", async () => {
    const asked = ["run", "evals/quickstart.yaml", "--json"];
    const plain = summaryOf(await run(...asked));
    const other = summaryOf(await run(...asked, "--host", "codex", "-m", `replay:${plain.run}`));
    const filtered = run("compare", plain.run, other.run, "--suite", "nothing");
    const ended = await run("compare", plain.run, other.run);
    expect(ended.code).toBe(3);
    expect(ended.out.replaceAll(/2\d{3}-\d\d-\d\d[\dT-]*( \d\d:\d\d)?/g, "DATE")).toMatchInlineSnapshot(`
      "NOT COMPARABLE · quickstart · lexical-2
        How sure: less than a check. The two were recorded at different times, so a change of the model
          in between looks like a change of the wording.
        Next: name two records of the same suite, model and settings.
        A: DATE (the run of DATE UTC)
        B: DATE (the run of DATE UTC)

        The host profile differs: "plain" before, "codex" now. Use the same --host, or accept a new
          baseline for it.
      "
    `);
    expect((await filtered).code).toBe(2);
  });

  it("explains what it cannot compare", async () => {
    const errors = await Promise.all([
      run("compare", "latest", "latest"),
      run("compare", "latest", "evals/baselines/files.lexical-2.json"),
      run("compare", "nowhere.json", "latest"),
      run("compare", "nowhere", "latest"),
    ]);
    expect(errors.map(({ code }) => code)).toEqual([2, 2, 2, 2]);
    const text = errors.map(({ err }) => err).join("");
    expect(text.replaceAll(dir, "DIR").replaceAll(/2\d{3}-[\dT-]+/g, "RUN")).toMatchInlineSnapshot(`
      "error: Both name the run RUN.
        Name two different runs, or a baseline file and a run.
      error: "evals/baselines/files.lexical-2.json" is a file, but B must be a run.
        Put the baseline first: evals compare <baseline> <run>.
      error: There is no baseline "nowhere.json".
        Write one with \`evals baseline accept\`.
      error: There is no run "nowhere".
        Runs are read from DIR/reports; change the folder with --out.
      "
    `);
  });
});
