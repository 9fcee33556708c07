import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type RunSummary, runSummarySchema } from "../../../src/evals/base/types/run.ts";
import { accept } from "../../../src/evals/experiments/baseline/accept.ts";
import { report } from "../../../src/evals/experiments/reporting/report.ts";
import { run } from "../../../src/evals/experiments/run/run.ts";
import type { RunOptions } from "../../../src/evals/experiments/run/runOptions.ts";
import { passedOf } from "../../fakes/record.ts";
import type { MessagesBody } from "../../fixtures/endpoints/messages.ts";
import { type EndpointAnswer, endpoint, project, runDefaults, toolList } from "../pipeline/project.ts";

/** A model that picks the right tool, until it is changed. */
let model: { read: "right" | "wrong" | "down" };
let world: ReturnType<typeof project>;
let options: RunOptions;
let requests: unknown[];

const answer = ({ messages }: MessagesBody): EndpointAnswer => {
  const asked = JSON.stringify(messages);
  const right = asked.includes("notes.txt") ? "read" : asked.includes("folder") ? "list" : undefined;
  if (right === "read" && model.read === "down")
    return { fault: "status", status: 500, headers: { "x-should-retry": "false" } };
  const name = right === "read" && model.read === "wrong" ? "move" : right;
  return name === undefined ? { text: "Hello." } : { calls: [{ name, input: {} }] };
};

/** Runs once more, and returns what came of the suite. */
async function runAgain(given: Partial<RunOptions> = {}) {
  const io = world.io();
  const before = requests.length;
  const code = await run({ ...options, ...given }, io);
  const summary: RunSummary = runSummarySchema.parse(JSON.parse(io.printed()));
  const [suite] = summary.suites;
  return { code, summary, suite, drift: suite?.drift, asked: requests.length - before, io };
}
const nightly = (given: Partial<RunOptions> = {}) => runAgain({ nightly: true, failOn: ["drifted"], ...given });
/** The file of the nights, beside the baseline. */
function nightsFileOf(dir: string): string {
  const folder = join(dir, "evals/baselines");
  return join(folder, readdirSync(folder).find((name) => name.endsWith(".nights.jsonl")) ?? "no nights");
}
async function reportAgain(id: string) {
  const io = world.io();
  await report({ run: id, format: "json", out: "reports" }, io);
  return io;
}
const acceptLatest = (io = world.io()) => accept({ baselines: "evals/baselines", out: "reports", force: false }, io);

beforeEach(async () => {
  world = project();
  model = { read: "right" };
  const { started, asked } = await endpoint(answer);
  requests = started.requests;
  const { model: id, ...request } = asked;
  options = { ...runDefaults, ...request, model: [id] };
  await run({ ...options, trials: 20 }, world.io());
  await acceptLatest();
});

describe("evals run --nightly", () => {
  it("asks three trials per case, follows up a break in the same night, and withdraws a blip", async () => {
    const first = await nightly();
    expect(first).toMatchObject({ code: 0, asked: 9 });
    expect(first.suite?.verdict).toMatchObject({ kind: "unchanged" });
    expect(first.drift).toMatchObject({ nightly: true, uncounted: null, verdict: { nights: 1 } });
    expect(first.suite?.cases.map((one) => [one.passed, one.trials, one.planned])).toEqual(Array(3).fill([3, 3, 3]));

    model.read = "wrong";
    const second = await nightly();
    expect(second).toMatchObject({ code: 1, asked: 16, suite: { failed: ["drifted"] } });
    expect(second.drift?.headline).toMatch(/^DRIFTED since about \d{4}-\d\d-\d\d \d\d:\d\d: read fell$/);
    expect(second.drift).toMatchObject({
      tonight: { night: second.summary.run, cases: { read: "0/3+0/7", list: "3/3", none: "3/3" } },
      verdict: { kind: "drifted", alarm: { direction: "down", cases: [{ case: "read", before: passedOf(23, 23) }] } },
    });

    model.read = "right";
    const third = await nightly();
    expect(third).toMatchObject({ code: 0, drift: { verdict: { kind: "back", nights: 2 } } });
    const lines = readFileSync(nightsFileOf(world.dir), "utf8").trim().split("\n");
    expect(lines).toHaveLength(4);
    expect(lines.slice(1).map((line) => JSON.parse(line).night)).toEqual(
      [first, second, third].map(({ summary }) => summary.run),
    );
    // The verdict follows from the record: it is the same when it is read again.
    expect(third.io.printed()).toBe((await reportAgain(third.summary.run)).printed());
  });

  it("reports what differs from the previous night, even after missed nights, and from the baseline", async () => {
    const first = await nightly();
    expect(first.drift?.changes).toEqual({
      ...{ night: null, cases: [], same: 0 },
      mean: { before: 1, after: 1 },
    });
    model.read = "wrong";
    const second = await nightly();
    expect(second.drift?.changes).toMatchObject({
      night: first.summary.run,
      cases: [{ case: "read", before: passedOf(3, 3), after: passedOf(0, 10) }],
      same: 2,
    });
    const io = world.io();
    await report({ run: second.summary.run, format: "terminal", out: "reports" }, io);
    expect(io.printed()).toContain("read 3/3 -> 0/10; 2 cases as before. Since the baseline:");
    // A night that does not count is none to compare with.
    model.read = "down";
    expect((await nightly()).drift?.changes).toBeUndefined();
    expect((await nightly()).drift?.uncounted).toBe("missing");
    model.read = "right";
    expect((await nightly()).drift?.changes).toMatchObject({ night: second.summary.run });
  });

  it("continues under another suite name, but not for a suite with other cases", async () => {
    const first = await nightly();
    const suite = JSON.parse(readFileSync(join(world.dir, "evals/files.json"), "utf8"));
    world.write("evals/files.json", { ...suite, name: "documents" });
    const second = await nightly();
    expect(second).toMatchObject({ code: 0, suite: { name: "documents" }, drift: { verdict: { nights: 2 } } });
    expect(second.suite?.verdict).toMatchObject({
      notes: ['The suite is called "files" in the baseline, and is taken for the same: most cases are the same'],
    });
    const lines = readFileSync(nightsFileOf(world.dir), "utf8").trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).suite ?? JSON.parse(line).night)).toEqual([
      "files",
      ...[first, second].map(({ summary }) => summary.run),
    ]);
    // So is a check of changed tools.
    world.write("tools.json", toolList({ move: "Moves." }));
    expect((await runAgain()).suite?.verdict?.kind).toBe("no-regression");
    world.write("evals/files.json", { ...suite, name: "documents", cases: suite.cases.slice(0, 1) });
    await expect(nightly()).rejects.toThrow('There is no baseline of "documents" on');
  });

  it("keeps both nights of two jobs that run at once", async () => {
    const both = await Promise.all([nightly(), nightly()]);
    const lines = readFileSync(nightsFileOf(world.dir), "utf8").trim().split("\n");
    const nights = lines.slice(1).map((line) => JSON.parse(line).night);
    expect(nights.sort()).toEqual(both.map(({ summary }) => summary.run).sort());
  });

  it("treats a reworded or added case as a new one, and needs a baseline", async () => {
    await nightly();
    world.write("evals/files.json", {
      name: "files",
      server: { tools: "../tools.json" },
      maxTurns: 1,
      cases: [
        { id: "read", input: "Read out notes.txt", expect: { tool: "read" } },
        { id: "list", input: "Which entries does the folder src have?", expect: { tool: "list" } },
      ],
    });
    const { drift } = await nightly();
    expect(Object.keys(drift?.tonight?.cases ?? {})).toEqual([expect.stringMatching(/^read#[0-9a-f]{8}$/), "list"]);
    expect(drift?.verdict).toMatchObject({ nights: 2 });
    await expect(nightly({ baselines: "elsewhere" })).rejects.toThrow('There is no baseline of "files" on');
    await expect(nightly({ check: "off" })).rejects.toThrow("--nightly has no effect with --check off.");
  });

  it("adds no night while the tools differ from the baseline, and starts over after a new one", async () => {
    await nightly();
    world.write("tools.json", toolList({ move: "Moves." }));
    const changed = await nightly();
    expect(changed.io.warned()).toContain("the tools are no longer those of the baseline");
    expect(changed.suite?.verdict?.kind).toBe("no-regression");
    expect(changed.drift).toBeUndefined();
    await run({ ...options, trials: 20, check: "off" }, world.io());
    await acceptLatest();
    expect((await nightly()).drift?.verdict).toMatchObject({ nights: 1 });
  });
});

describe("evals run on an unchanged list", () => {
  it("adds its trials as a night, and reports no check", async () => {
    const { code, asked, drift, suite } = await runAgain();
    expect({ code, asked }).toEqual({ code: 0, asked: 9 });
    expect(drift).toMatchObject({ nightly: false, tonight: { cases: { read: "3/3" } }, verdict: { nights: 1 } });
    expect(suite?.failOn).toEqual(["regressed"]);
    expect(existsSync(nightsFileOf(world.dir))).toBe(true);
  });

  it("keeps no nights of a deterministic model", async () => {
    await run({ ...runDefaults }, world.io());
    await acceptLatest();
    const { drift, suite } = await runAgain({ model: ["lexical"] });
    expect([suite?.verdict?.kind, drift]).toEqual(["unchanged", undefined]);
  });
});
