import { execFileSync, spawnSync } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { AskedModel } from "../../src/evals/base/types/model.ts";
import type { Turn } from "../../src/evals/base/types/trial.ts";
import { openAskedModel } from "../../src/evals/experiments/workspace/models.ts";
import { requestOf, tool } from "../asking/models/request.ts";
import { readPage } from "../docs/page.ts";
import { makeFolder } from "../fakes/folder.ts";
import { trialsOf } from "./evals.ts";
import { runWorkflow } from "./githubRunner.ts";
import { installPackage, network, packPackage, root } from "./packed.ts";

type Reply = { turn: Turn };

const never = new AbortController().signal;

// Real weights: the packed package in an empty folder, node-llama-cpp, and the list of an official server.

/** The paths of the library and of the smallest coder model; why there are none, outside of CI. */
const found = (() => {
  try {
    const run = (script: string, name: string) =>
      execFileSync(process.execPath, [join(root, "scripts", script), name], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe"],
      }).trim();
    return { library: run("installHost.mjs", "node-llama-cpp"), weights: run("testWeights.mjs", "qwen2.5-coder-0.5b") };
  } catch (error) {
    if (process.env.CI) throw error;
    console.log(`Tests with real weights are skipped: ${(error as Error).message}`);
    return undefined;
  }
})();

const queries = {
  read: ["Show me what is written in notes.txt", "read_text_file"],
  folder: ["Make a new folder called archive", "create_directory"],
  several: ["Read a.txt, b.txt and c.txt for me", "read_multiple_files"],
  allowed: ["Which directories may you touch?", "list_allowed_directories"],
  norway: ["What is the capital of Norway?", "none"],
};

describe.skipIf(!found)("a local model", () => {
  const dir = makeFolder();
  const { library = "", weights = "" } = found ?? {};
  const env = { PATH: process.env.PATH, HOME: dir, NO_COLOR: "1", EVALS_MODELS: join(dir, "models") };
  const evals = (...args: string[]) =>
    spawnSync("npx", ["evals", ...args, "--trust"], { cwd: dir, env, encoding: "utf8" });
  /** Where the system can, on one core alone, so with other numbers of threads. */
  const evalsOnOneCore = (...args: string[]) =>
    process.platform === "linux"
      ? spawnSync("taskset", ["-c", "0", "npx", "evals", ...args, "--trust"], { cwd: dir, env, encoding: "utf8" })
      : evals(...args);

  const runIn = (out: string) => join(out, readdirSync(out).find((name) => /^\d/.test(name)) ?? "");

  beforeAll(() => {
    installPackage(dir);
    rmSync(join(dir, "node_modules/node-llama-cpp"), { force: true });
    symlinkSync(dirname(dirname(library)), join(dir, "node_modules/node-llama-cpp"));
    mkdirSync(join(dir, "evals/data"), { recursive: true });
    const server = join(root, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    const cases = Object.entries(queries).map(([id, [input, tool]]) => ({ id, input, expect: { tool } }));
    writeFileSync(
      join(dir, "evals/files.json"),
      JSON.stringify({ server: { command: process.execPath, args: [server, "data"] }, execute: "never", cases }),
    );
  });

  it("answers every query, with listed tools and arguments of their schemas, and the same again with the same seed", () => {
    const flags = ["run", "-n", "1", "--seed", "7", "-m", `local:${weights}`];
    const run = evals(...flags, "--out", "one");
    evalsOnOneCore(...flags, "--out", "two");
    expect(run.stderr).toMatch(/^Loading Qwen2\.5 Coder 0\.5B .*: about [\d,]+ MB of memory/);
    expect(run.stdout).toContain("of 5 cases pass");
    const [first, second] = ["one", "two"].map((out) => trialsOf(runIn(join(dir, out))));
    const say = ({ text, calls }: Turn) => ({
      text,
      calls: calls.map(({ tool, arguments: args }) => ({ tool, args })),
    });
    const said = (trials = first) =>
      Object.fromEntries((trials ?? []).map(({ cell, turns }) => [cell.case, turns.map(say)]));
    expect(first?.map(({ outcome }) => outcome.kind)).toEqual(Object.keys(queries).map(() => "answered"));
    expect(said(second)).toEqual(said());
    expect(second?.every(({ turns }) => turns.every(({ usage }) => usage.cacheReadTokens > 1_000))).toBe(true);
    expect(first?.flatMap(({ verdict }) => (verdict?.grade === "pass" ? [1] : [])).length).toBeGreaterThan(0);
  });

  it("answers alike to a list that it read whole, and to one whose beginning it knew", async () => {
    const list = (description: string) => [...others, tool("read_text_file", description, { path: "the path" })];
    const others = Array.from({ length: 12 }, (_, at) => tool(`other_${at}`, "Does other work.", { path: "the path" }));
    const ask = async (model: AskedModel, description: string) => {
      const { turn } = (await model.ask(
        requestOf(queries.read[0] ?? "", list(description), { seed: 7 }),
        never,
      )) as Reply;
      return { said: [turn.text, turn.calls], usage: turn.usage };
    };
    const open = (folder: string) => {
      const models = join(dir, folder);
      return openAskedModel(`local:${weights}`, {
        cwd: dir,
        env: { ...env, EVALS_MODELS: models, NODE_OPTIONS: "--import jiti/register" },
      });
    };
    const alone = await ask(await open("alone"), "Opens any file.");
    const both = await open("both");
    await ask(both, "Reads a file.");
    const after = await ask(both, "Opens any file.");
    expect(after.said).toEqual(alone.said);
    expect(alone.usage.cacheReadTokens).toBe(0);
    expect(after.usage.cacheReadTokens).toBeGreaterThan(500);
  });

  it("refuses a file that is cut off, and an empty one", () => {
    const refuse = (name: string) => evals("run", "-m", `local:${name}.gguf`).stderr.replaceAll(dir, "<dir>");
    copyFileSync(weights, join(dir, "cut.gguf"));
    truncateSync(join(dir, "cut.gguf"), 100_000_000);
    expect(refuse("cut")).toContain("data is not within the file bounds");
    truncateSync(join(dir, "cut.gguf"), 1_000);
    expect(refuse("cut")).toContain("error: <dir>/cut.gguf has no chat template.");
    closeSync(openSync(join(dir, "empty.gguf"), "w"));
    expect(refuse("empty")).toContain("error: <dir>/empty.gguf is not a GGUF file");
  });

  it("is asked by the workflow for forks, without a secret, and fails it if a case does", async () => {
    const repository = join(dir, "repository");
    mkdirSync(join(repository, ".models"), { recursive: true });
    mkdirSync(join(repository, "evals"));
    // What the cache of the repository restores.
    symlinkSync(weights, join(repository, ".models/qwen2.5-coder-0.5b.gguf"));
    const packages = {
      "tool-evals": `file:${packPackage(dir)}`,
      "@modelcontextprotocol/server-filesystem": "2026.8.31",
    };
    writeFileSync(join(repository, "package.json"), JSON.stringify({ private: true, devDependencies: packages }));
    execFileSync("npm", ["install", "--package-lock-only", "--no-audit"], { cwd: repository, stdio: "pipe" });
    const recipe = readPage("docs/ci.md").blocks.find(({ text }) => text.startsWith("name: evals on a small model"));
    writeFileSync(join(repository, "evals.yml"), (recipe?.text ?? "").replaceAll("coder-1.5b", "coder-0.5b"));
    const run = (tool: string) => {
      const server = { command: "npx", args: ["mcp-server-filesystem", "."] };
      const cases = [{ id: "folder", input: queries.folder[0], expect: { tool } }];
      writeFileSync(join(repository, "evals/files.json"), JSON.stringify({ server, execute: "never", cases }));
      return runWorkflow("evals.yml", { cwd: repository, fork: true, env: { ...network, HOME: dir } });
    };
    const passed = await run("any");
    expect(passed.failed, passed.printed).toBe(false);
    expect(passed.summary).toContain("PASSED");
    expect(readdirSync(join(repository, ".models"))).toContain("states");
    const failed = await run("none");
    expect(failed.failed, failed.printed).toBe(true);
    expect(failed.summary).toContain("FAILED");
  });
});
