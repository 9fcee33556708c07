import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { runSummarySchema } from "../../src/evals/base/types/run.ts";
import { makeFolder, writeIn } from "../fakes/folder.ts";
import { pageOf } from "./evals.ts";
import { installPackage, root } from "./packed.ts";

// The package as it is published: packed, installed into the example project, and used from there.

const dir = makeFolder();

beforeAll(() => {
  cpSync(join(root, "docs/example"), dir, { recursive: true });
  write("package.json", { private: true, type: "module" });
  installPackage(dir);
});

function run(program: string, args: readonly string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: dir,
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: dir, NO_COLOR: "1", ...env },
  });
  return { status, out: stdout, err: stderr };
}
const bin = (name: string) => join(root, "node_modules/.bin", name);
const write = (name: string, content: unknown) => writeIn(dir, name, content);

describe("the vitest helper", () => {
  it("runs the tests of the example project", () => {
    const { status, out, err } = run(bin("vitest"), ["run", "--root", dir, "--testTimeout", "200000"]);
    expect([status, out + err]).toEqual([0, expect.stringContaining("Tests  3 passed (3)")]);
    expect(readdirSync(dir)).not.toContain("reports");
  });

  it("fails with what the model did, and with the cause where nothing could be decided", () => {
    write(
      "failing/wrong.test.ts",
      `import { expect, test } from "vitest";
import "tool-evals/vitest";
test("wrong", async () => {
  await expect("node server.mjs").toSelect("save_note", { for: 'Read me the note "shopping.md"' });
});
test("broken", async () => {
  await expect("node nowhere.mjs").toSelect("save_note", { for: "Save it" });
});
test("negated", async () => {
  await expect("node server.mjs").not.toSelect("save_note", { for: "Save it" });
});
`,
    );
    const { status, out, err } = run(bin("vitest"), ["run", "failing", "--root", dir, "--testTimeout", "200000"]);
    expect(status).toBe(1);
    for (const text of [
      'expected lexical-2 to select save_note for "Read me the note "shopping.md""',
      ...["passed 0 of 1\n", "1x tool: expected save_note, got read_note", "passed 0 of 0 (1 broken)"],
      ".not.toSelect is not defined.",
    ])
      expect(out + err).toContain(text);
    rmSync(join(dir, "failing"), { recursive: true });
  });
});

describe("the types", () => {
  it.each(["node16", "bundler"])("of the example are right with moduleResolution %s", (resolution) => {
    const module = resolution === "node16" ? "node16" : "esnext";
    const { status, out } = run(bin("tsc"), ["-p", dir, "--module", module, "--moduleResolution", resolution]);
    expect([status, out]).toEqual([0, ""]);
  });

  it.each(["node16", "bundler"])("of the library are complete with moduleResolution %s", (resolution) => {
    write(
      "typed/library.ts",
      `import { compare, defineConfig, EvalsError, lint, run, type RunSummary, type Suite } from "tool-evals";
const suite: Suite = { server: { command: "node", args: ["server.mjs"] }, cases: [{ input: "hello", expect: { tool: "none" } }] };
const summary: RunSummary & { exitCode: number } = await run({ suites: [suite], model: "lexical", failOn: "rate" });
const rate: number | null | undefined = summary.suites[0]?.cases[0]?.rate;
const { comparisons } = await compare({ base: "a", head: "latest" });
const { findings } = await lint({ server: "node server.mjs", failureThreshold: "warning" });
export const config = defineConfig({ model: "lexical", maxRequests: 10, suites: { notes: { trials: 3 } }, ci: { passRate: 1 } });
// @ts-expect-error: compare needs two records
await compare({ base: "a" });
// @ts-expect-error: no such option
await run({ trails: 3 });
// @ts-expect-error: no such gate
defineConfig({ failOn: "never" });
export default [rate, comparisons.length, findings.length, EvalsError];
`,
    );
    const module = resolution === "node16" ? "node16" : "esnext";
    const options = { target: "es2023", strict: true, noEmit: true, module, moduleResolution: resolution, types: [] };
    write("typed/tsconfig.json", { compilerOptions: options });
    const { status, out } = run(bin("tsc"), ["-p", join(dir, "typed")]);
    expect([status, out]).toEqual([0, ""]);
  });

  it("are those of what is exported only", () => {
    const files = readdirSync(join(dir, "node_modules/tool-evals/dist"), { recursive: true, encoding: "utf8" });
    const declared = files.filter((file) => file.endsWith(".d.ts"));
    expect(declared).toContain("evals/index.d.ts");
    expect(
      declared.filter((file) =>
        /^evals\/(commands|records|asking\/(models|hosts|trials)|experiments\/(pipeline|workspace))\//.test(file),
      ),
    ).toEqual([]);
    for (const file of declared)
      expect(readFileSync(join(dir, "node_modules/tool-evals/dist", file), "utf8")).not.toMatch(/from "\.[^"]*\.ts"/);
  });
});

describe("the library", () => {
  it("does nothing when it is imported", () => {
    write("import.mjs", 'import "tool-evals"; console.log(process._getActiveHandles().length, process.exitCode);');
    const { out, err } = run(process.execPath, ["import.mjs"]);
    expect([out.trim().endsWith("undefined"), err]).toEqual([true, ""]);
    expect(readdirSync(dir)).not.toContain("reports");
  });

  it("returns what the commands print, and rejects wrong input with its problems", () => {
    write(
      "library.mjs",
      `import { lint, listTools, run } from "tool-evals";
const server = { command: "node", args: ["server.mjs"] };
const cases = [{ id: "weather", input: "What is the weather in Oslo?", expect: { tool: "none" } }];
const messages = [];
const summary = await run({ suites: [{ name: "weather", server, cases }], onMessage: (text) => messages.push(text) });
const { tools } = await listTools({ server: "node server.mjs" });
const report = await lint({ server: "node server.mjs" });
const problems = [];
for (const wrong of [{ trails: 3 }, { trials: 0 }, { trials: "3" }, { case: ["a", 1] }, { accept: "yes" }, { suites: [{ cases: [{ prompt: "hello" }] }] }, { model: "opus" }])
  await run(wrong).catch((error) => problems.push([error.name, error.message.split(" Use one of")[0]]));
await listTools({ server: "node nowhere.mjs" }).catch((error) => problems.push([error.exitCode]));
console.log(JSON.stringify({ summary, tools: tools.map(({ name }) => name), lint: report.exitCode, problems, messages }));
`,
    );
    const { status, out, err } = run(process.execPath, ["library.mjs"]);
    expect([status, err]).toEqual([0, ""]);
    const { summary, ...others } = JSON.parse(out);
    expect(runSummarySchema.parse(summary)).toMatchObject({ ok: true, exitCode: 0, totals: { passed: 1 } });
    expect(others).toEqual({
      ...{ lint: 0, messages: [], tools: ["search_notes", "read_note", "save_note"] },
      problems: [
        ["EvalsError", 'error: Unknown option "trails" of run.\n  Did you mean "trials"?'],
        ["EvalsError", 'error: The option "trials" of run: "0" is not an integer of at least 1.'],
        ["EvalsError", 'error: The option "case" of run must be a string, but is the number 1.'],
        ["EvalsError", 'error: The option "accept" of run must be a boolean, but is the string "yes".'],
        ["EvalsError", 'suite-1: error: Unknown key "prompt".\n  Did you mean "input"?'],
        ["EvalsError", 'error: Unknown model "opus".\n  Did you mean "anthropic:claude-opus"?'],
        [3],
      ],
    });
  });
});

describe("the bundle", () => {
  const dist = join(dir, "node_modules/tool-evals/dist");
  const read = (file: string) => readFileSync(join(dist, file), "utf8");

  it.each(["ts", "mjs"])("shares its modules with files of the user (.%s) and with the program", (ending) => {
    write(
      `reporter.${ending}`,
      `import { EvalsError } from "tool-evals";
globalThis["seen"] = EvalsError;
export default async () => undefined;
`,
    );
    write(
      "shared.mjs",
      `import { EvalsError, run } from "tool-evals";
const { totals } = await run({ paths: ["evals/notes.yaml"], reporter: ["custom:reporter.${ending}"] });
console.log(globalThis.seen === EvalsError, totals.broken);
`,
    );
    const { out, err } = run(process.execPath, ["shared.mjs"]);
    expect([out, err]).toEqual(["true 0\n", ""]);
    for (const entry of ["cli", "index", "vitest"])
      expect(read(`evals/${entry}.js`), entry).not.toContain("class EvalsError");
  });

  it("loads nothing for --version and --help that they do not need", () => {
    const reached = new Set(["evals/cli.js"]);
    let size = 0;
    for (const file of reached) {
      const text = read(file);
      size += text.length;
      for (const [, path = ""] of text.matchAll(/\b(?:import|from)\s*"(\.[^"]+)"/g))
        reached.add(join(dirname(file), path));
    }
    expect(reached.size).toBeGreaterThan(1);
    expect(size).toBeLessThan(150_000);
  });

  it("has a license for each package in it", () => {
    const licenses = read("THIRD-PARTY.md");
    for (const name of ["@anthropic-ai/sdk", "@modelcontextprotocol/client", "openai", "yaml", "preact"])
      expect(licenses).toMatch(new RegExp(`^## .*${name} \\d`, "m"));
  });
});

describe("the page of a run", () => {
  it("is in the package, and is written by the installed program", () => {
    const cli = join(dir, "node_modules/tool-evals/dist/evals/cli.js");
    const args = "run evals/notes.yaml -m lexical --out records --trust".split(" ");
    const { status, err } = run(process.execPath, [cli, ...args]);
    expect([err, status === 0 || status === 1]).toEqual(["", true]);
    const page = pageOf(join(dir, "records/last-result"));
    expect(page.trials?.trials.length).toBeGreaterThan(0);
    expect(readFileSync(join(dir, "records/last-result/report.html"), "utf8")).toContain('<script type="module">');
  });
});
