import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { parse } from "yaml";
import { makeFolder } from "../fakes/folder.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { runWorkflow } from "./githubRunner.ts";
import { network, packPackage, root } from "./packed.ts";

// The workflow of `evals init --ci github`, run step by step in a fresh clone of a project of each package manager: a server
// that has dependencies, is built, and reads a variable. The managers and the packages come from the registry.

const dir = makeFolder();

let packed = "";
beforeAll(() => {
  packed = basename(packPackage(dir));
});

/** `specs`: the package of the manager, as the author has it and as the workflow sets it up; none for that of Node. */
type Manager = { name: string; specs: [] | [string, string]; lock: string; settings?: Record<string, string> };
const managers: Manager[] = [
  { name: "npm", specs: [], lock: "package-lock.json" },
  { name: "pnpm", specs: ["pnpm@12", "pnpm@10"], lock: "pnpm-lock.yaml" },
  { name: "yarn", specs: ["yarn@1", "yarn@1"], lock: "yarn.lock" },
  {
    name: "yarn (modern)",
    specs: ["@yarnpkg/cli-dist@4", "@yarnpkg/cli-dist@4"],
    lock: "yarn.lock",
    settings: { ".yarnrc.yml": "nodeLinker: node-modules\n" },
  },
  { name: "bun", specs: ["bun@1", "bun@1"], lock: "bun.lock" },
];

/** Installs a manager from the registry. Returns the folder of its programs; skips the test if that fails. */
function installManager(spec: string, { skip }: TestContext): string {
  const own = join(dir, "managers", spec);
  const modules = join(own, "node_modules");
  const bin = join(modules, ".bin");
  if (existsSync(bin)) return bin;
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, "package.json"), "{}");
  const name = spec.replace(/(?<=.)@.*/, "");
  const installed = spawnSync("npm", ["install", "--no-audit", spec], { cwd: own, encoding: "utf8" });
  // Where npm runs no scripts of packages, that of the package fetches the program.
  const script = join(modules, name, "install.js");
  if (existsSync(script)) spawnSync(process.execPath, [script], { cwd: dirname(script) });
  const program = name.startsWith("@yarnpkg/") ? "yarn" : name;
  const works = spawnSync(join(bin, program), ["--version"], { encoding: "utf8" });
  if (installed.status !== 0 || works.status !== 0) {
    const why = `${spec} cannot be installed: ${installed.stderr || works.stderr || works.error}`;
    console.warn(why);
    skip(why);
  }
  // Provides Yarn in CI; here it is there already.
  if (program === "yarn") writeFileSync(join(bin, "corepack"), "#!/bin/sh\n", { mode: 0o755 });
  return bin;
}

/** The project as its author leaves it: the packed package is a dependency of it, all is installed, and nothing is committed. */
function makeProject({ name, settings = {} }: Manager): string {
  const cwd = join(dir, `project of ${name}`);
  mkdirSync(join(cwd, "src"), { recursive: true });
  cpSync(join(root, "docs/example/notes"), join(cwd, "src/notes"), { recursive: true });
  cpSync(join(dir, packed), join(cwd, packed));
  const server = readFileSync(join(root, "docs/example/server.mjs"), "utf8");
  const files = {
    ...settings,
    "src/server.mjs": `if (!process.env.NOTES_TOKEN) throw new Error("NOTES_TOKEN is not set");\n${server}`,
    "build.mjs": `import { cpSync } from "node:fs";\ncpSync("src", "dist", { recursive: true });\n`,
    ".gitignore": "node_modules\ndist\n.yarn\n",
    "package.json": JSON.stringify({
      name: "notes-server",
      version: "1.0.0",
      private: true,
      type: "module",
      scripts: { build: "node build.mjs" },
      dependencies: { "@modelcontextprotocol/sdk": "^1.32.2", zod: "^4.6.7" },
      devDependencies: { "tool-evals": `file:./${packed}` },
    }),
  };
  for (const [file, content] of Object.entries(files)) writeFileSync(join(cwd, file), content);
  return cwd;
}

type Case = { input: string; expect: { tool: string; args?: object } };
const readCases = (suite: string) => (parse(suite) as { cases: Case[] }).cases;

describe.each(managers)("the workflow of a project with $name", (manager) => {
  it("installs, builds, lints, asks the model, and fails if a case does", async (context) => {
    const [author, ci] = manager.specs.map((spec) => installManager(spec, context));
    const cwd = makeProject(manager);
    const [program = ""] = manager.name.split(" ");
    const sh = (command: string, where = cwd) => {
      const path = [author, process.env.PATH].filter(Boolean).join(":");
      const env = { ...network, PATH: path, HOME: dir, NOTES_TOKEN: "t0ken", CI: "true", NO_COLOR: "1" };
      const { status, stdout, stderr } = spawnSync("bash", ["-c", command], { cwd: where, encoding: "utf8", env });
      expect([command, status], stdout + stderr).toEqual([command, 0]);
      return stdout;
    };
    // In CI, pnpm and Yarn write no lock file unless they are told to.
    sh(`${program} install ${manager.settings ? "--no-immutable" : program === "npm" ? "" : "--no-frozen-lockfile"}`);
    sh(`${program} run build`);
    const told = sh('npx --no-install evals init "node dist/server.mjs" --env NOTES_TOKEN --ci github').replace(
      /\s+/g,
      " ",
    );
    expect(told).toContain("Add to the repository's secrets: ANTHROPIC_API_KEY, NOTES_TOKEN.");
    expect(told).not.toContain("as a dependency");
    sh(`git init -q && git add -A && git -c user.name=a -c user.email=a@b.example commit -qm "Add evals"`);
    expect(sh("git ls-files").split("\n")).toContain(manager.lock);

    const suite = readFileSync(join(cwd, "evals/notes.yaml"), "utf8");
    const endpoint = await startMessagesEndpoint(({ messages }) => {
      const asked = JSON.stringify(messages[0]);
      const found = readCases(suite).find(({ input }) => asked.includes(JSON.stringify(input).slice(1, -1)));
      const { tool = "none", args = {} } = found?.expect ?? {};
      return { text: "Done.", calls: messages.length > 1 || tool === "none" ? [] : [{ name: tool, input: args }] };
    });
    const job = {
      ...(ci !== undefined && { bin: ci }),
      env: { ...network, HOME: dir, ANTHROPIC_BASE_URL: endpoint.url },
      secrets: { ANTHROPIC_API_KEY: "test", NOTES_TOKEN: "t0ken" },
      event: "push",
    };
    const clone = (name: string) => {
      const copy = join(dir, `${name} of ${manager.name}`);
      sh(`git clone -q . "${copy}"`);
      return copy;
    };
    const run = (copy: string) => runWorkflow(".github/workflows/evals.yml", { ...job, cwd: copy });
    const copy = clone("clone");
    const passed = await run(copy);
    expect([passed.failed, passed.result], passed.printed).toEqual([false, "passed"]);
    expect(passed.summary).toMatch(/PASSED · (\d+) of \1 cases pass/);
    expect(existsSync(join(copy, "reports/last-result/report.html"))).toBe(true);

    writeFileSync(join(copy, "evals/notes.yaml"), suite.replace("tool: read_note", "tool: search_notes"));
    const failed = await run(copy);
    expect([failed.failed, failed.result], failed.printed).toEqual([true, "failed"]);
  });
});
