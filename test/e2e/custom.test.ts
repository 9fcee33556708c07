import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { CodeCaller, CodeThread } from "../../src/evals/base/code/caller.ts";
import { makeFolder, writeIn } from "../fakes/folder.ts";
import { type Ended, evals as inProcess, spawnEvals, summaryOf } from "./evals.ts";

let cwd = "";
const evals = (args: readonly string[]) => inProcess(args, { cwd });
const write = (name: string, content: unknown) => writeIn(cwd, name, content);
const tools = [
  { name: "read", description: "Reads one file.", inputSchema: { type: "object", properties: { path: {} } } },
];
const suite = (expectation: object) => {
  const cases = [{ id: "read", input: "Read the file notes.txt", expect: expectation }];
  write("evals/files.json", { server: { tools: "../tools.json" }, trials: 2, cases });
};
/** A folder of its own: a module is loaded once. */
function begin() {
  cwd = makeFolder();
  write("tools.json", tools);
  write(
    "picker.mjs",
    `export default ({ tools }) => ({ calls: [{ tool: tools[0].name, arguments: { path: "notes.txt" } }] });
export const deterministic = true;`,
  );
}
beforeEach(begin);

/** Runs the suite and says what came of its case. */
async function outcomeWith(
  code: string,
  expectation: object = { tool: "read", assert: "check.mjs" },
  run: (args: readonly string[]) => Promise<Ended> = evals,
) {
  write("evals/check.mjs", code);
  suite(expectation);
  const ended = await run(["run", "--json", "-m", "custom:picker.mjs"]);
  const { cases } = summaryOf(ended).suites[0] ?? { cases: [] };
  const [{ passed, trials, broken, reasons } = { passed: 0, trials: 0, broken: 0, reasons: [] }] = cases;
  return { code: ended.code, passed, trials, broken, reasons: reasons.map(({ text }) => text) };
}

describe("a code assertion", () => {
  it("decides from what it gets", async () => {
    const passing = await outcomeWith(
      `export default ({ case: id, model, trial, input, calls, workspace }) => ({
        pass: id === "read" && model === "custom:picker.mjs" && trial === 1 && input.includes("notes.txt") &&
          calls[0].tool === "read" && calls[0].skipped !== undefined && workspace.endsWith("/evals"),
        reason: JSON.stringify({ calls, workspace }) });`,
    );
    expect(passing).toEqual({ code: 0, passed: 1, trials: 1, broken: 0, reasons: [] });
    const failed = { code: 1, passed: 0, trials: 1, broken: 0 };
    expect(await outcomeWith("export default async () => false;")).toEqual({
      ...failed,
      reasons: ["assert: check.mjs: check.mjs returned false"],
    });
    const explained = await outcomeWith("export default () => ({ pass: false, reason: 'too long' });");
    expect(explained).toEqual({ ...failed, reasons: ["assert: check.mjs: too long"] });
  });

  it("is TypeScript, too, alone in a case, and runs in the bundled program", async () => {
    write("evals/check.ts", "export default ({ text }: { text: string }): boolean => text === '';");
    const spawned = (args: readonly string[]) => spawnEvals(args, { cwd });
    expect(await outcomeWith("", { assert: ["check.ts"] }, spawned)).toMatchObject({ code: 0, passed: 1 });
  });

  it.each([
    ["throws", "export default () => { throw new Error('no disk'); };", "it threw: no disk"],
    ["ends its process", "export default () => process.exit(0);", "it ended its thread"],
    [
      "returns no JSON",
      "export default () => ({ n: 1n });",
      "it returned { n: 1n }, not true, false or { pass, reason }",
    ],
    ["returns something else", "export default () => 'yes';", 'it returned "yes", not true, false or { pass, reason }'],
    ["has no function", "export default 3;", "it cannot be loaded: its default export is not a function"],
    ["cannot be loaded", "export default (", "it cannot be loaded: "],
  ])("breaks the trial with its cause when it %s", async (_, code, why) => {
    const { reasons, ...outcome } = await outcomeWith(code);
    expect(outcome).toEqual({ code: 3, passed: 0, trials: 0, broken: 1 });
    expect(reasons[0]).toContain(`broken (setup): check.mjs: ${why}`);
  });

  it.each([
    ["never returns", "export default () => { for (;;); };"],
    ["never resolves", "export default () => new Promise(() => {});"],
  ])("is ended at the limit when it %s, and the next call starts anew", async (_, hanging) => {
    write("evals/check.mjs", hanging);
    const caller = new CodeCaller(() => {}, 200);
    const file = join(cwd, "evals/check.mjs");
    const late = { kind: "broken", why: "it did not return within 0.2 s", isLate: true };
    expect(await caller.call(file, {})).toEqual(late);
    write("evals/check.mjs", "export default () => 5;");
    expect(await caller.call(file, {})).toEqual({ kind: "returned", value: 5 });
    await caller.close();
  });

  it("keeps its thread, and the state in it, when a call is given up that does not loop", async () => {
    const code = `let calls = 0; const stopped = [];
export default ({ wait, signal }) => {
  signal.addEventListener("abort", () => stopped.push(wait));
  return wait ? new Promise(() => {}) : { calls: ++calls, stopped };
};`;
    write("evals/check.mjs", code);
    const thread = new CodeThread(join(cwd, "evals/check.mjs"), () => {});
    const { signal } = new AbortController();
    await thread.load();
    const [first, late] = await Promise.all([thread.call({}, 60_000, signal), thread.call({ wait: 1 }, 1, signal)]);
    expect([first, late]).toMatchObject([{ value: { calls: 1, stopped: [] } }, { isLate: true }]);
    expect(await thread.call({}, 60_000, signal)).toMatchObject({ value: { calls: 2, stopped: [1] } });
    await thread.end();
  });

  it("is part of the case, and has to exist", async () => {
    const hash = async (code: string) => {
      await outcomeWith(code);
      const { out } = await evals(["show", "--format", "json"]);
      return JSON.parse(readFileSync(join(JSON.parse(out).dir, "run.json"), "utf8")).suites[0].cases[0].hash;
    };
    expect(await hash("export default () => true;")).not.toBe(await hash("export default () => !false;"));
    suite({ tool: "read", assert: "nowhere.mjs" });
    const { code, err } = await evals(["run"]);
    const message = 'There is no file "nowhere.mjs".\n  Paths are relative to the suite file.\n';
    expect([code, err]).toEqual([2, `evals/files.json:1:113: error: ${message}`]);
  });
});

describe("a custom matcher", () => {
  const expected = { tool: "read", args: { path: { $custom: { file: "check.mjs", with: ".txt" } } } };

  it("decides about one argument", async () => {
    const code = `export default ({ value, at, with: ending }) => ({ pass: value.endsWith(ending) && at === "args.path" });`;
    expect(await outcomeWith(code, expected)).toMatchObject({ code: 0, passed: 1 });
    const failing = await outcomeWith("export default ({ value }) => ({ pass: false, reason: value });", expected);
    expect(failing).toMatchObject({ code: 1, reasons: ["args.path: notes.txt"] });
    const negated = { tool: "read", args: { path: { $not: { $custom: "check.mjs" } } } };
    expect(await outcomeWith("export default () => false;", negated)).toMatchObject({ code: 0 });
  });

  it("breaks the trial when it throws", async () => {
    expect(await outcomeWith("export default () => { null.length; };", expected)).toMatchObject({ code: 3, broken: 1 });
  });
});

describe("a custom model", () => {
  const asked = async (code: string, args: string[] = []) => {
    begin();
    write("model.mjs", code);
    suite({ tool: "read", args: { path: "a.txt" } });
    const ended = await evals(["run", "--json", "-m", "custom:model.mjs", ...args]);
    return { ...ended, one: ended.out === "" ? undefined : summaryOf(ended).suites[0] };
  };
  const right = `export default async ({ tools }) => ({
    calls: [{ tool: tools[0].name, arguments: { path: "a.txt" } }], usage: { inputTokens: 5, outputTokens: 1 } });`;

  it("answers, with what it used", async () => {
    const { one, code } = await asked(`${right} export const costUsd = ({ inputTokens }) => inputTokens / 10;`);
    const totals = expect.objectContaining({ passed: 2, inputTokens: 10, costUsd: 1 });
    expect([code, one?.model, one?.totals]).toEqual([0, "custom:model.mjs", totals]);
    const deterministic = await asked(`${right} export const deterministic = true;`);
    expect(deterministic.one?.totals).toMatchObject({ trials: 1, costUsd: "unknown" });
  });

  it.each([
    ["throws", "export default () => { throw new Error('out of memory'); };", "model.mjs: it threw: out of memory"],
    ["hangs", "export default () => new Promise(() => {});", "no reply within 0.5 s"],
    ["returns no reply", "export default () => ({ tool: 'read' });", "the model returned no reply"],
  ])("breaks the trial when it %s", async (_, code, why) => {
    // Only what hangs is waited for briefly.
    const { one, code: exit } = await asked(code, why.includes("0.5 s") ? ["--timeout", "0.5"] : []);
    expect([exit, one?.totals.broken, one?.cases[0]?.reasons[0]?.text]).toEqual([3, 2, expect.stringContaining(why)]);
  });

  it("is refused where it cannot be one", async () => {
    expect((await asked("export const ask = 1;")).err).toContain(
      "model.mjs: error: The model custom:model.mjs cannot be used: it cannot be loaded: its default export is not a function.",
    );
    const { code, err } = await evals(["run", "-m", "custom:nowhere.mjs"]);
    expect([code, err]).toEqual([2, expect.stringContaining('There is no file "nowhere.mjs"')]);
  });
});

describe("a custom reporter", () => {
  const reported = async (code: string, args: string[] = []) => {
    begin();
    write("reporter.mjs", code);
    suite({ tool: "read" });
    return await evals(["run", "--reporter", "custom:reporter.mjs", ...args]);
  };

  it("prints what it returns, and may print nothing", async () => {
    const code =
      "export default async ({ summary, manifest, dir }) => [summary.ok, manifest.id === dir.split('/').at(-1)].join();";
    expect((await reported(code)).out).toMatch(/\ntrue,true\n$/);
    expect((await reported("export default () => {};")).code).toBe(0);
    const { out, err } = await reported(code, ["--json"]);
    expect([JSON.parse(out).ok, err]).toEqual([true, expect.stringContaining("true,true")]);
  });

  it("exits with 3 when it fails, with the run on the record", async () => {
    const { code, err } = await reported("export default () => { throw new Error('no network'); };");
    expect([code, err]).toEqual([3, expect.stringContaining("reporter.mjs: error: The reporter failed: no network.")]);
    expect((await evals(["show", "--format", "json"])).code).toBe(0);
  });

  it("has to be there before anything is asked", async () => {
    suite({ tool: "read" });
    const { code, out, err } = await evals(["run", "--reporter", "custom:nowhere.mjs"]);
    const message = 'There is no file "nowhere.mjs" for a reporter.\n  Name it relative to the working directory.\n';
    expect([code, out, err]).toEqual([2, "", `error: ${message}`]);
  });
});
