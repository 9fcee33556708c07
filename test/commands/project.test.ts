import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EvalsError } from "../../src/evals/base/types/errors.ts";
import { runSummarySchema } from "../../src/evals/base/types/run.ts";
import { commands, runCommandLine } from "../../src/evals/commands/index.ts";
import { projectSchema, singleUse } from "../../src/evals/commands/projectSchema.ts";
import { filesSuite, project, read, toolList } from "../experiments/pipeline/project.ts";

/** What `evals run --json` says of a project with these files. */
async function runWith(files: Record<string, unknown>, args: string[] = [], env: Record<string, string> = {}) {
  const { io, records, manifest, dir, write } = project(files);
  const world = io();
  world.env = { ...world.env, ...env };
  await runCommandLine(["run", "--json", ...args], world, "0.1.0");
  return {
    ...{ summary: runSummarySchema.parse(JSON.parse(world.printed())), dir, records, manifest, io, write },
    warned: world.warned(),
  };
}

async function refusal(file: string, content: unknown): Promise<string> {
  const { io } = project({ [file]: content });
  const error = await runCommandLine(["run"], io(), "0.1.0").catch((thrown) => thrown);
  expect(error).toBeInstanceOf(EvalsError);
  return error.message.replaceAll(/\/\S*\/evals-project-\w+/g, "<dir>");
}

describe("a project file", () => {
  it.each([
    ["evals.config.json", { out: "records", ci: { out: "other" } }],
    ["evals.config.yaml", "out: records # with a comment"],
    ["evals.config.js", "export default { out: ['records'].join() };"],
    ["evals.config.ts", "const out: string = 'records';\nexport default { out } satisfies { out: string };"],
  ])("%s sets what flags set", async (file, content) => {
    const { dir } = await runWith({ [file]: content, "package.json": { type: "module" } });
    expect(existsSync(join(dir, "records"))).toBe(true);
  });

  it("has headers, whose variables must be set", async () => {
    const files = {
      "evals.config.yaml": "model: openai:m\nbaseUrl: http://127.0.0.1:1/v1\nheaders: { X-Team: $TEAM }",
    };
    await expect(runWith(files, ["--dry-run"])).rejects.toThrow("The header X-Team needs the variable TEAM");
    expect(await refusal("evals.config.json", { headers: ["X-Team=a"] })).toContain('"headers" must be an object');
  });

  it("gives way to flags, and has other values in CI", async () => {
    const files = { "evals.config.json": { out: "local", ci: { out: "ci", passRate: 0.5 } } };
    expect(existsSync(join((await runWith(files, ["--out", "mine"])).dir, "mine"))).toBe(true);
    expect(existsSync(join((await runWith(files, [], { CI: "true" })).dir, "ci"))).toBe(true);
    expect(existsSync(join((await runWith(files, [], { CI: "false" })).dir, "local"))).toBe(true);
  });

  it("sets options of single suites, which win over those of all", async () => {
    const settings = { files: { passRate: 0.25, maxTurns: 2 } };
    const { manifest, records } = await runWith({ "evals.config.json": { passRate: 0.5, suites: settings } });
    expect(manifest(records()[0] ?? "").suites[0]?.cases[0]).toMatchObject({ passRate: 0.25, maxTurns: 2 });
    const flagged = await runWith({ "evals.config.json": { suites: settings } }, ["--pass-rate", "1"]);
    expect(flagged.manifest(flagged.records()[0] ?? "").suites[0]?.cases[0]).toMatchObject({
      passRate: 1,
      maxTurns: 2,
    });
  });

  it("sets the gates and the margin of single suites, unless a flag is given", async () => {
    const failing = { id: "read", input: "Good morning", expect: { tool: "read" } };
    const suite = (name: string) => ({ name, server: { tools: "../tools.json" }, cases: [failing] });
    const files = {
      "evals/files.json": suite("files"),
      "evals/other.json": suite("other"),
      "evals.config.json": { failOn: "regressed", suites: { other: { failOn: "rate", margin: 0.25 } } },
    };
    const gates = ({ summary }: Awaited<ReturnType<typeof runWith>>) =>
      summary.suites.map(({ name, failOn, failed }) => [name, failOn, failed]);
    const first = await runWith(files);
    expect(gates(first)).toEqual([
      ["files", ["regressed"], []],
      ["other", ["rate"], ["rate"]],
    ]);
    expect(first.summary.exitCode).toBe(1);
    expect(gates(await runWith(files, ["--fail-on", "drifted"]))).toEqual([
      ["files", ["drifted"], []],
      ["other", ["drifted"], []],
    ]);
    const changed = toolList({ read: "Opens a file." });
    const checkAfter = async (flags: string[]) => {
      const accepted = await runWith(files, ["--accept"]);
      accepted.write("tools.json", changed);
      await runCommandLine(["run", "--json", ...flags], accepted.io(), "0.1.0");
      const { suites } = accepted.manifest(accepted.records()[1] ?? "");
      return suites.flatMap(({ checks = [] }) => checks.map((plan) => plan.kind === "compare" && plan.margin));
    };
    expect(await checkAfter([])).toEqual([0.1, 0.25]);
    expect(await checkAfter(["--margin", "0.3"])).toEqual([0.3, 0.3]);
  });

  it("does not name what other commands mean by the same word", async () => {
    const { io } = project({ "evals.config.json": { judge: "anthropic:claude-opus-5-5", timeout: 1 } });
    const world = io();
    await runCommandLine(["lint", "--json"], world, "0.1.0");
    expect(JSON.parse(world.printed()).judge).toBeUndefined();
  });

  it("is refused with its place and the nearest name", async () => {
    expect(await refusal("evals.config.yaml", "modle: lexical\n")).toMatchInlineSnapshot(`
      "evals.config.yaml:1:1: error: Unknown key "modle".
        Did you mean "model"?"
    `);
    expect(await refusal("evals.config.yaml", "passRate: 7\n")).toMatchInlineSnapshot(
      `"evals.config.yaml:1:11: error: "passRate": --pass-rate: "7" is not a number from 0 to 1."`,
    );
    expect(await refusal("evals.config.json", '{\n  "host": "claude"\n}')).toMatchInlineSnapshot(
      `
      "evals.config.json:2:11: error: "host" must be plain | agent-skills | claude-code | codex | copilot | gemini-cli | goose, got "claude".
        Did you mean "claude-code"?"
    `,
    );
    expect(await refusal("evals.config.json", '{ "suites": { "file": { "trials": 2 } } }')).toMatchInlineSnapshot(`
      "error: The project file has settings for a suite "file".
        Did you mean "files"?"
    `);
    expect(await refusal("evals.config.ts", "export default 3;")).toMatchInlineSnapshot(`
      "evals.config.ts: error: The file has no object as its default export.
        Write: export default { ... }."
    `);
    expect(await refusal("evals.config.mjs", "throw new Error('no key\\n  in the file');")).toContain(
      "The file cannot be loaded: no key in the file.",
    );
    for (const file of ["evals.config.mjs", "evals.config.ts"])
      expect(await refusal(file, "export default {")).toMatch(/The file cannot be loaded: .*\.\n {2}Fix the file/);
  });

  it.each(["evals.config.json", "evals.config.yaml", "evals.config.mjs"])(
    "is refused by its name if %s is no file that can be read",
    async (file) => {
      const spoils: readonly (readonly [reason: string, spoil: (path: string) => void])[] = [
        ["ELOOP: too many symbolic links encountered", (path) => symlinkSync(path, path)],
        ["it does not exist", (path) => symlinkSync("nowhere.json", path)],
        ["it is not a regular file", (path) => mkdirSync(path)],
        ["it is not a regular file", (path) => void execFileSync("mkfifo", [path])],
        ["it is not a regular file", (path) => symlinkSync("/dev/zero", path)],
      ];
      for (const [reason, spoil] of spoils) {
        const { io, dir } = project();
        spoil(join(dir, file));
        for (const command of ["run", "show"])
          await expect(runCommandLine([command], io(), "0.1.0")).rejects.toThrow(
            `${file}: error: The file cannot be read: ${reason}`,
          );
      }
    },
  );

  it.skipIf(process.getuid?.() === 0)("is refused if it is unreadable (skipped for root, who reads all)", async () => {
    const { io, dir } = project({ "evals.config.json": "{}" });
    chmodSync(join(dir, "evals.config.json"), 0);
    await expect(runCommandLine(["run"], io(), "0.1.0")).rejects.toThrow(
      "evals.config.json: error: The file cannot be read: EACCES",
    );
  });

  it("has every flag of evals run as a key, but those of a single call", () => {
    const { flags = {} } = commands.find(({ command }) => command.startsWith("run ")) ?? {};
    const toKey = (flag: string) => flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const keys = Object.keys(projectSchema.shape).filter((key) => !["$schema", "ci", "suites"].includes(key));
    expect(keys.sort()).toEqual(
      Object.keys(flags)
        .filter((flag) => !singleUse.includes(flag))
        .map((flag) => (flag === "header" ? "headers" : toKey(flag)))
        .sort(),
    );
    expect(singleUse.filter((flag) => !(flag in flags))).toEqual([]);
  });

  it("sets gates, limits and exposure", async () => {
    const config = { failOn: ["any"], maxRequests: 2, maxTime: 600, exposure: "names", ranker: "bm25", blame: true };
    const { manifest, records } = await runWith({ "evals.config.json": config });
    const { failOn, models } = manifest(records()[0] ?? "");
    expect([failOn, models[0]?.exposures]).toEqual([["any"], [{ kind: "names", ranker: expect.any(String) }]]);
  });
});

describe("models of a suite", () => {
  const answers = (world: { summary: { suites: { name: string; model: string }[] } }) =>
    world.summary.suites.map(({ name, model }) => `${name} on ${model}`);
  const other = {
    "evals/other.json": {
      model: "replay:nowhere",
      server: { tools: "../tools.json" },
      cases: [{ id: "read", input: "Read it", expect: { tool: "read" } }],
    },
  };

  it("replace those of the command, unless -m is given", async () => {
    expect(answers(await runWith(other, ["-m", "lexical"])).sort()).toEqual(
      ["files on lexical-2", "other on lexical-2"].sort(),
    );
    await expect(runWith(other)).rejects.toThrow('There is no run "nowhere".');
  });

  it("can be set in the project file", async () => {
    const own = { ...other, "evals.config.json": { suites: { other: { model: "lexical" } } } };
    expect(answers(await runWith(own))).toHaveLength(2);
  });

  it("are asked for their own suites only", async () => {
    const first = await runWith({});
    const id = first.records()[0] ?? "";
    const replayed = { ...other["evals/other.json"], model: `replay:${join(first.dir, "reports", id)}` };
    const { summary } = await runWith({ "evals/other.json": replayed });
    expect(summary.suites.map(({ name, totals }) => [name, totals.trials]).sort()).toEqual([
      ["files", 3],
      ["other", 5],
    ]);
  });
});

describe("evals run --accept", () => {
  it("leaves no proposal to accept the run in its later reports", async () => {
    const { io } = project({ "evals/files.json": filesSuite([read]) });
    const proposed = async () => {
      const world = io();
      await runCommandLine(["show"], world, "0.1.0");
      return world.printed().includes("evals baseline accept");
    };
    await runCommandLine(["run", "--fail-on", "rate"], io(), "0.1.0");
    expect(await proposed()).toBe(true);
    await runCommandLine(["baseline", "accept"], io(), "0.1.0");
    expect(await proposed()).toBe(false);
  });

  it("accepts a run that failed, which evals baseline accept refuses", async () => {
    const { io, dir } = project({
      "evals/files.json": {
        server: { tools: "../tools.json" },
        cases: [{ id: "wrong", input: "Good morning", expect: { tool: "read" } }],
      },
    });
    const gated = ["run", "--fail-on", "rate"];
    expect(await runCommandLine(gated, io(), "0.1.0")).toBe(1);
    await expect(runCommandLine(["baseline", "accept"], io(), "0.1.0")).rejects.toThrow(/The run \S+ failed: files on/);
    const world = io();
    expect(await runCommandLine([...gated, "--accept", "--json"], world, "0.1.0")).toBe(1);
    expect(existsSync(join(dir, "evals/baselines"))).toBe(true);
    expect(JSON.parse(world.printed())).toMatchObject({ ok: false });
    expect(world.warned()).toContain("Written to evals/baselines/");
  });

  it("has to be meant for a run with --case: accepting it needs --force", async () => {
    const { io } = project();
    await runCommandLine(["run", "--case", "read"], io(), "0.1.0");
    await expect(runCommandLine(["baseline", "accept"], io(), "0.1.0")).rejects.toThrow(
      "was made with --case: its baseline would cover no other cases.",
    );
    expect(await runCommandLine(["baseline", "accept", "--force"], io(), "0.1.0")).toBe(0);
  });
});
