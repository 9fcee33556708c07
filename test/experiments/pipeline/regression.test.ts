import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type AcceptOptions, accept } from "../../../src/evals/experiments/baseline/accept.ts";
import { type BlameOptions, blame } from "../../../src/evals/experiments/blame/ask.ts";
import { compare } from "../../../src/evals/experiments/compare/ask.ts";
import { run } from "../../../src/evals/experiments/run/run.ts";
import { endpoint, project, runDefaults, toolList } from "./project.ts";

const accepting: AcceptOptions = { baselines: "evals/baselines", out: "reports", force: false };
const blameDefaults: BlameOptions = { out: "reports", concurrency: 1, json: true };

/** A project whose accepted tools were changed: one description no longer fits, another is only reworded. */
async function regressed() {
  const made = project();
  await run(runDefaults, made.io());
  expect(await accept(accepting, made.io())).toBe(0);
  made.write("tools.json", toolList({ read: "Does something.", move: "Moves or renames one file." }));
  const world = made.io();
  const code = await run(runDefaults, world);
  return { ...made, code, checked: JSON.parse(world.printed()) };
}

describe("the check of a run", () => {
  it("finds changes on a deterministic model, and none with the accepted tools", async () => {
    const { io, write, code, checked, records, manifest } = await regressed();
    expect(code).toBe(0);
    expect(checked.suites[0]).toMatchObject({
      verdict: { kind: "changed", method: "exhausted", flips: [{ case: "read", down: 1, up: 0 }] },
      failOn: ["regressed"],
    });
    const gated = io();
    expect(await run({ ...runDefaults, failOn: ["changed"] }, gated)).toBe(1);
    expect(JSON.parse(gated.printed()).suites[0]).toMatchObject({ failed: ["changed"] });
    const head = manifest(records().at(-1) ?? "").suites[0]?.checks;
    expect(head).toMatchObject([
      { kind: "compare", cap: 40, families: 1, cases: [{ id: "read", requests: 1 }, { id: "list" }, { id: "none" }] },
    ]);

    write("tools.json", toolList());
    const same = io();
    expect(await run(runDefaults, same)).toBe(0);
    expect(JSON.parse(same.printed()).suites[0].verdict).toMatchObject({ kind: "unchanged" });
    const off = io();
    await run({ ...runDefaults, check: "off" }, off);
    expect(JSON.parse(off.printed()).suites[0]).not.toHaveProperty("verdict");
  });

  it("requires a baseline for a check", async () => {
    await expect(run({ ...runDefaults, check: "on" }, project().io())).rejects.toThrow(
      'There is no baseline of "files" on lexical-2 to check against.',
    );
  });

  it("is accepted by --accept, and the report does not propose to accept it again", async () => {
    const { io, dir } = await regressed();
    const world = io();
    expect(await run({ ...runDefaults, json: false, accept: true }, world)).toBe(0);
    expect(world.printed()).toContain("Next: find the wording at fault with `evals blame latest`.\n");
    const page = readFileSync(join(dir, "reports/last-result/report.html"), "utf8");
    for (const text of [world.printed(), page]) expect(text).not.toContain("evals baseline accept");
    const again = io();
    expect(await run({ ...runDefaults, json: false, check: "off" }, again)).toBe(0);
    expect(again.printed()).not.toContain("Next: keep");
  });

  it("explains the regression with --blame, in the same object", async () => {
    const { io } = await regressed();
    const world = io();
    expect(await run({ ...runDefaults, blame: true }, world)).toBe(0);
    expect(JSON.parse(world.printed()).blame).toMatchObject([{ suite: "files", cases: [{ case: "read" }] }]);
  });
});

describe("evals blame", () => {
  it("finds the change that broke a case, on a record that can be resumed without its flags", async () => {
    const { io, checked, records, manifest, trials } = await regressed();
    const world = io();
    expect(await blame({ ...blameDefaults, run: "latest" }, world)).toBe(0);
    const { blames } = JSON.parse(world.printed());
    expect(blames).toMatchObject([
      { suite: "files", model: "lexical-2", cases: [{ case: "read", verdict: { kind: "blamed" } }] },
    ]);
    const id = blames[0].run;
    expect(manifest(id)).toMatchObject({
      experiment: { command: "blame", suite: "files", model: "lexical-2", cases: ["read"] },
      flags: { run: checked.run, suite: "files", model: "lexical-2", paths: ["evals/files.json"] },
    });
    expect(manifest(id).totals).toMatchObject({ trials: trials(id).length, missing: 0 });

    const [made, again] = [trials(id).length, io()];
    expect(await blame({ ...blameDefaults, run: "nowhere", resume: "latest" }, again)).toBe(0);
    expect(JSON.parse(again.printed()).blames).toEqual(blames);
    expect([trials(id).length, records().length]).toEqual([made, 3]);
  });

  it("names nobody when it is stopped", async () => {
    const { io } = await regressed();
    const world = io();
    world.stop();
    expect(await blame({ ...blameDefaults, run: "latest" }, world)).toBe(130);
    expect(JSON.parse(world.printed()).blames).toMatchObject([{ stopped: "interrupted", cases: [{ verdict: null }] }]);
  });

  it("takes the latest run that regressed, and says which", async () => {
    const { io, checked } = await regressed();
    await run({ ...runDefaults, check: "off" }, io());
    const world = io();
    expect(await blame({ ...blameDefaults, run: "latest" }, world)).toBe(0);
    expect(JSON.parse(world.printed()).blames).toMatchObject([{ suite: "files", cases: [{ case: "read" }] }]);
    expect(world.warned()).toContain(`Explaining the run ${checked.run}, the latest one with a check to explain.`);
  });

  it("refuses a run whose tools are no longer the live ones", async () => {
    const { io, write } = await regressed();
    write("tools.json", toolList({ read: "Does something else." }));
    await expect(blame({ ...blameDefaults, run: "latest" }, io())).rejects.toThrow(
      /The run \S+ cannot be explained: the live tools are no longer those of the run: /,
    );
  });

  it("refuses a record of blame, and a suite that was not checked", async () => {
    const { io, checked } = await regressed();
    const world = io();
    await blame({ ...blameDefaults, run: "latest" }, world);
    const [{ run: own }] = JSON.parse(world.printed()).blames;
    await expect(blame({ ...blameDefaults, run: own }, io())).rejects.toThrow(
      "was made by `evals blame`, not by `evals run`.",
    );
    await expect(blame({ ...blameDefaults, run: checked.run, suite: "others" }, io())).rejects.toThrow(
      "has no regression check of others to explain.",
    );
  });
});

describe("the model of a baseline", () => {
  const dated = "claude-haiku-5-5-20260901";

  it("is the one that replied: an alias is checked against it", async () => {
    const { io, write, records, manifest } = project();
    const { model, asked } = await endpoint(() => ({ calls: [{ name: "read", input: {} }], model: dated }));
    await run({ ...runDefaults, ...asked, model: [model] }, io());
    expect(await accept({ ...accepting, force: true }, io())).toBe(0);
    write("tools.json", toolList({ move: "Moves or renames one file." }));
    await run({ ...runDefaults, ...asked, model: [`anthropic:${dated}`], trials: 5 }, io());
    const plan = manifest(records().at(-1) ?? "").suites[0]?.checks?.[0];
    expect(plan).toMatchObject({ kind: "compare" });
  });

  it("is not compared under other settings, which is said before the first call", async () => {
    const { io } = project();
    const { model, asked, started } = await endpoint();
    await run({ ...runDefaults, ...asked, model: [model], accept: true, failOn: ["rate"] }, io());
    const world = io();
    const calls = started.requests.length;
    let warned = "";
    world.err = (text) => {
      if (started.requests.length === calls) warned += text;
    };
    await run({ ...runDefaults, ...asked, model: [model], maxTokens: 99 }, world);
    expect(warned).toContain(
      `warning: The suite "files" cannot be compared with its baseline on ${model}, so nothing is checked.\n  The settings`,
    );
    warned = "";
    const free = { retries: 7, timeout: 99, concurrency: 3 };
    await run({ ...runDefaults, ...asked, model: [model], ...free }, world);
    expect(warned).not.toContain("compared");
  });

  it("is named before the first call when another one is asked for, because nothing is checked then", async () => {
    const { io } = await regressed();
    const { model, asked, started } = await endpoint();
    const world = io();
    let warned = "";
    world.err = (text) => {
      if (started.requests.length === 0) warned += text;
    };
    await run({ ...runDefaults, ...asked, model: [model] }, world);
    expect(warned).toContain(
      `warning: The suite "files" has no baseline on ${model}, so nothing is checked; it has one on lexical-2.`,
    );
  });
});

describe("evals compare", () => {
  it("compares two records", async () => {
    const { io, records } = await regressed();
    const [before = "", after = ""] = records();
    const options = { base: before, head: after, margin: 0.1, out: "reports", json: true };
    const world = io();
    expect(await compare(options, world)).toBe(0);
    expect(JSON.parse(world.printed()).comparisons).toMatchObject([{ better: "base", check: { kind: "changed" } }]);
    await expect(compare({ ...options, head: before }, io())).rejects.toThrow(`Both name the run ${before}.`);
    const file = "evals/baselines/files.lexical-2.json";
    await expect(compare({ ...options, head: file }, io())).rejects.toThrow("is a file, but B must be a run.");
    await expect(compare({ ...options, base: "none.json" }, io())).rejects.toThrow('There is no baseline "none.json".');
  });
});
