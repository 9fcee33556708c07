import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { type Baseline, toComparedRun } from "../../src/evals/base/types/check.ts";
import { canonicalJson, jsonSchema } from "../../src/evals/base/types/json.ts";
import {
  baselineFile,
  createBaseline,
  expectSuite,
  nightsFile,
  readBaseline,
  readBaselines,
  readNights,
  writeBaseline,
  writeNight,
} from "../../src/evals/records/baseline.ts";
import { makeFolder } from "../fakes/folder.ts";
import { aManifest } from "../fakes/record.ts";
import { aTool } from "../fakes/suite.ts";

const acceptedAt = new Date("2026-11-22T08:00:00.000Z");
const counts = new Map([
  ["b", { passed: 18, trials: 20 }],
  ["a", { passed: 20, trials: 20 }],
]);
const aBaseline = () => createBaseline(aManifest("b", "a", "never"), "s", "scripted", counts, acceptedAt);

let dir: string;
let file: string;
beforeEach(() => {
  dir = makeFolder();
  file = join(dir, "s.scripted.json");
});

/** The message of what reading the file throws, with the folder left out. */
async function refusal(): Promise<string> {
  const error = await readBaseline(file).then(
    () => new Error("it was not refused"),
    (thrown: Error) => thrown,
  );
  return error.message.replaceAll(`${dir}/`, "");
}

/** Writes the baseline as somebody or something changed its text. */
async function change(by: (text: string) => string): Promise<void> {
  await writeBaseline(file, aBaseline());
  writeFileSync(file, by(readFileSync(file, "utf8")));
}

describe("createBaseline", () => {
  it("contains what a comparison depends on, sorted, with only the lists that the cases are shown", () => {
    const manifest = aManifest("b", "a", "never");
    manifest.toolsets.unused = [aTool("unused")];
    const { checksum, toolsets, ...rest } = createBaseline(manifest, "s", "scripted", counts, acceptedAt);
    expect(checksum).toMatch(/^[0-9a-f]{64}$/);
    expect(Object.entries(toolsets).map(([hash, tools]) => [hash, tools.map(({ name }) => name)])).toEqual([
      ["list", ["foreign", "read", "write"]],
    ]);
    expect(rest).toEqual({
      ...{ format: "tool-evals baseline 1", suite: "s" },
      ...{ model: { id: "scripted", kind: "language model", settings: {}, deterministic: false }, host: "plain" },
      ...{ exposure: { kind: "all" }, harness: "0.1.0", node: "v20.20.2", acceptedAt: "2026-11-22T08:00:00.000Z" },
      run: "run-1",
      cases: [
        { id: "a", hash: "hash of a", passed: 20, trials: 20, toolset: "list" },
        { id: "b", hash: "hash of b", passed: 18, trials: 20, toolset: "list" },
        { id: "never", hash: "hash of never", passed: 0, trials: 0, toolset: "list" },
      ],
    } satisfies Omit<Baseline, "checksum" | "toolsets">);
  });

  it("contains the exposure", () => {
    const manifest = aManifest("a");
    const [model] = manifest.models;
    if (model) model.exposures = [{ kind: "names", ranker: "keyword 1" }, { kind: "all" }];
    const made = createBaseline(manifest, "s", "scripted", counts, acceptedAt);
    expect(made.exposure).toEqual({ kind: "names", ranker: "keyword 1" });
    expect(toComparedRun(made).exposure).toBe("names (keyword 1)");
  });

  it("is the same text whatever the order of cases and tools in the run", () => {
    const manifest = aManifest("never", "a", "b");
    manifest.toolsets.list?.reverse();
    const text = (baseline: Baseline) => JSON.stringify(baseline, null, 2);
    expect(text(createBaseline(manifest, "s", "scripted", counts, acceptedAt))).toBe(text(aBaseline()));
  });
});

describe("baselineFile", () => {
  it.each([
    ["files", "lexical", "files.lexical.json"],
    ["my-suite_2", "qwen2.5", "my-suite_2.qwen2.5.json"],
    ["files", "anthropic:claude-sonnet-5-5", "files.anthropic-claude-sonnet-5-5-316aa240.json"],
    ["../../etc/passwd", "lexical", "etc-passwd-3754d6cb.lexical.json"],
    ["Größe", "con", "gr-e-aedc3f80.con-1143da2b.json"],
    ["文", "..", "3677ef77.5ec1f7e7.json"],
  ])("of %s on %s is %s", (suite, model, name) => {
    expect(baselineFile("dir", suite, model)).toBe(join("dir", name));
  });

  it("has a unique file per suite and model, even if case is ignored, and never leaves its folder", () => {
    const name = fc.oneof(
      fc.string({
        unit: fc.constantFrom("a", "A", "b", ".", "-", ":", "/", "\\", "ä", " "),
        minLength: 1,
        maxLength: 4,
      }),
      fc.string({ minLength: 1, maxLength: 300 }),
    );
    fc.assert(
      fc.property(name, name, name, name, (suite, model, suite2, model2) => {
        const one = baselineFile("dir", suite, model);
        const other = baselineFile("dir", suite2, model2);
        expect(one).toBe(join("dir", basename(one)));
        expect(basename(one)).toMatch(/^[a-z0-9_][a-z0-9._-]{0,200}\.json$/);
        expect(one === other).toBe(suite === suite2 && model === model2);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("a baseline on disk", () => {
  it("is written indented into a new folder, and read back unchanged", async () => {
    const deep = join(dir, "evals/baselines/s.scripted.json");
    await writeBaseline(deep, aBaseline());
    expect(await readBaseline(deep)).toEqual(aBaseline());
    expect(readFileSync(deep, "utf8")).toBe(`${JSON.stringify(aBaseline(), null, 2)}\n`);
  });

  it("is undefined if there is none", async () => {
    expect(await readBaseline(file)).toBeUndefined();
    expect(await readBaselines(join(dir, "none"))).toEqual([]);
  });

  it("may be reformatted, with other line endings and a byte order mark", async () => {
    await change((text) => `\uFEFF${text.replaceAll("\n", "\r\n")}`);
    expect(await readBaseline(file)).toEqual(aBaseline());
  });

  it.each<[string, (text: string) => string]>([
    ["truncated between lines", (text) => text.split("\n").slice(0, 7).join("\n")],
    ["truncated inside a text", (text) => text.slice(0, text.indexOf("scripted") + 3)],
    ["empty", () => ""],
  ])("is refused when it is %s", async (_, by) => {
    await change(by);
    expect((await refusal()).replace(/^(\S+?):\d+:\d+:/, "$1:LINE:COLUMN:")).toBe(
      "s.scripted.json:LINE:COLUMN: error: The baseline is not JSON: it is truncated.\n" +
        "  Accept it again: `evals run -n 20 --check off`, then `evals baseline accept`.",
    );
  });

  it("says where the text stops being JSON", async () => {
    await change((text) => text.replace('"host": "plain",', '"host": "plain"'));
    expect(await refusal()).toMatchInlineSnapshot(`
      "s.scripted.json:12:3: error: The baseline is not JSON: it has a syntax error.
        Accept it again: \`evals run -n 20 --check off\`, then \`evals baseline accept\`."
    `);
    await change((text) => `${text.slice(0, 60)}\n<<<<<<< HEAD\n${text.slice(60)}`);
    expect(await refusal()).toMatchInlineSnapshot(`
      "s.scripted.json:4:1: error: The baseline is not JSON: it has a merge conflict.
        Accept it again: \`evals run -n 20 --check off\`, then \`evals baseline accept\`."
    `);
  });

  it("is refused when it is nested too deep", async () => {
    await change((text) => text.replace("{", `{ "a": ${"[".repeat(3_000)}${"]".repeat(3_000)},`));
    expect(await refusal()).toContain("error: The baseline was edited by hand: it is nested too deep.");
  });

  it("is refused when it was edited by hand, in any value", async () => {
    await change((text) => text.replace('"passed": 18', '"passed": 20'));
    expect(await refusal()).toMatchInlineSnapshot(`
      "s.scripted.json: error: The baseline was edited by hand: checksum mismatch.
        Accept it again: \`evals run -n 20 --check off\`, then \`evals baseline accept\`."
    `);
    const edited = await refusal();
    for (const by of [
      (text: string) => text.replace("Does read.", "Reads."),
      (text: string) => text.replace('"suite": "s"', '"suite": "s", "note": "mine"'),
      (text: string) => text.replace(/"checksum": ".*",/, ""),
    ]) {
      await change(by);
      expect(await refusal()).toBe(edited);
    }
  });

  it("defaults to the exposure of all definitions", async () => {
    const { checksum: _, exposure: __, ...before } = aBaseline();
    const checksum = createHash("sha256")
      .update(canonicalJson(jsonSchema.parse(before)))
      .digest("hex");
    writeFileSync(file, JSON.stringify({ ...before, checksum }));
    const read = await readBaseline(file);
    expect(read && toComparedRun(read)).toEqual(toComparedRun(aBaseline()));
  });

  it("is refused if it is of another version, or not a baseline", async () => {
    await change((text) => text.replace("baseline 1", "baseline 0"));
    expect(await refusal()).toMatchInlineSnapshot(`
      "s.scripted.json: error: The baseline was written by another version of tool-evals: its format is "tool-evals baseline 0", this version reads "tool-evals baseline 1".
        Accept it again: \`evals run -n 20 --check off\`, then \`evals baseline accept\`."
    `);
    const { checksum: _, ...content } = { ...aBaseline(), cases: 5 };
    const checksum = createHash("sha256")
      .update(canonicalJson(jsonSchema.parse(content)))
      .digest("hex");
    writeFileSync(file, JSON.stringify({ ...content, checksum }));
    expect(await refusal()).toContain("Not a baseline of this version: cases must be a list");
    writeFileSync(file, "[]");
    expect(await refusal()).toMatchInlineSnapshot(`
      "s.scripted.json: error: This is not a baseline of tool-evals.
        Write baselines with \`evals baseline accept\`."
    `);
  });

  it("is refused when it cannot be read or written", async () => {
    mkdirSync(file);
    expect(await refusal()).toMatchInlineSnapshot(
      `"s.scripted.json: error: The baseline cannot be read: it is not a regular file."`,
    );
    await expect(writeBaseline(file, aBaseline())).rejects.toThrow(
      /s\.scripted\.json: error: The baseline cannot be written: /,
    );
  });

  it("is refused as the baseline of another suite or model", () => {
    expect(() => expectSuite(aBaseline(), "s", "scripted", "f.json")).not.toThrow();
    const refused = (suite: string, model: string) => {
      try {
        expectSuite(aBaseline(), suite, model, "f.json");
      } catch (error) {
        return String(error);
      }
      return "it was not refused";
    };
    expect(refused("other", "scripted")).toMatchInlineSnapshot(`
      "EvalsError: f.json: error: The baseline is of "s" on scripted, not of "other" on scripted.
        Move the file away, because it was copied or renamed, then accept a baseline for this suite."
    `);
    expect(refused("s", "lexical")).toContain('The baseline is of "s" on scripted, not of "s" on lexical.');
  });

  it("is listed with others, sorted by name; all invalid ones are reported together", async () => {
    await writeBaseline(join(dir, "b.json"), aBaseline());
    await writeBaseline(join(dir, "a.json"), aBaseline());
    writeFileSync(join(dir, "notes.txt"), "not read");
    expect((await readBaselines(dir)).map((one) => basename(one.file))).toEqual(["a.json", "b.json"]);
    writeFileSync(join(dir, "c.json"), "{}");
    writeFileSync(join(dir, "d.json"), "{");
    const error = await readBaselines(dir).catch((thrown: Error) => thrown.message.replaceAll(`${dir}/`, ""));
    expect(error).toMatchInlineSnapshot(`
      "c.json: error: This is not a baseline of tool-evals.
        Write baselines with \`evals baseline accept\`.
      d.json:1:2: error: The baseline is not JSON: it is truncated.
        Accept it again: \`evals run -n 20 --check off\`, then \`evals baseline accept\`."
    `);
  });
});

const nightsDir = makeFolder();

const of = { suite: "files", model: "anthropic:x", baseline: "run-0" };
const first = { night: "run-1", cases: { read: "3/3", move: "0/3+0/7" } };
const second = { night: "run-2", cases: { read: "2/3" } };

describe("the nights since a baseline", () => {
  it("are stored next to it, one line per night, each run once", async () => {
    const file = nightsFile(join(nightsDir, "files.anthropic-x.json"));
    expect(file).toBe(join(nightsDir, "files.anthropic-x.nights.jsonl"));
    expect(await readNights(file, of)).toEqual([]);
    await writeNight(file, of, first);
    await writeNight(file, of, { ...first, cases: {} });
    await writeNight(file, of, first);
    await writeNight(file, of, second);
    expect(await readNights(file, of)).toEqual([first, second]);
    expect(readFileSync(file, "utf8").split("\n")).toEqual([
      '{"format":"tool-evals nights 1","suite":"files","model":"anthropic:x","baseline":"run-0"}',
      '{"night":"run-1","cases":{"read":"3/3","move":"0/3+0/7"}}',
      '{"night":"run-2","cases":{"read":"2/3"}}',
      "",
    ]);
  });

  it("are all kept when jobs end at the same time, and leave no lock", async () => {
    const file = nightsFile(join(nightsDir, "busy.json"));
    const nights = Array.from({ length: 12 }, (_, i) => ({ night: `run-${i}`, cases: { read: "3/3" } }));
    await Promise.all(nights.map((night) => writeNight(file, of, night)));
    const kept = await readNights(file, of);
    expect(kept.map(({ night }) => night).sort()).toEqual(nights.map(({ night }) => night).sort());
    expect(readdirSync(nightsDir).filter((name) => name.startsWith("busy"))).toEqual(["busy.nights.jsonl"]);
  });

  it("are found under any id of the model", async () => {
    const file = join(nightsDir, "alias.nights.jsonl");
    await writeNight(file, of, first);
    const now = { ...of, model: "anthropic:x-1", alias: "anthropic:x" };
    await writeNight(file, now, second);
    expect(await readNights(file, { ...of, model: "anthropic:x-1" })).toEqual([first, second]);
    await expect(readNights(file, of)).rejects.toThrow("on anthropic:x-1, not");
  });

  it("start over after a new baseline", async () => {
    const file = join(nightsDir, "new.nights.jsonl");
    await writeNight(file, of, first);
    const now = { ...of, baseline: "run-9" };
    expect(await readNights(file, now)).toEqual([]);
    await writeNight(file, now, second);
    expect(await readNights(file, now)).toEqual([second]);
    expect(await readNights(file, of)).toEqual([]);
  });

  it("are refused with the line that cannot be read", async () => {
    const file = join(nightsDir, "edited.nights.jsonl");
    await writeNight(file, of, first);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, `${text}{"night":"run-2","cases":{"read":"many"}}\n`);
    await expect(readNights(file, of)).rejects.toThrow(`${file}:3: error: This line of the nights cannot be read:`);
    writeFileSync(file, `${text}{"night":\n`);
    await expect(readNights(file, of)).rejects.toThrow("delete it to start the drift monitor anew");
    writeFileSync(file, "nights\n");
    await expect(readNights(file, of)).rejects.toThrow(`${file}:1: error`);
    writeFileSync(file, text);
    await expect(readNights(file, { ...of, suite: "others" })).rejects.toThrow(
      'The nights are of "files" on anthropic:x, not of "others" on anthropic:x.',
    );
  });
});
