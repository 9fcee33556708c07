import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { locateWorkflow, renderWorkflow } from "../../../src/evals/inspection/init/workflow.ts";
import { makeFolder } from "../../fakes/folder.ts";

type Step = { uses?: string; run?: string; with?: Record<string, unknown>; env?: object };
type Job = { env?: object; defaults?: object; steps: Step[] };

/** The job that is written in a folder of a repository with these files. */
async function render(files: Record<string, string | object>, { folder = "", suites = [] as string[] } = {}) {
  const root = makeFolder(files);
  for (const name of [".git", folder]) mkdirSync(join(root, name), { recursive: true });
  const cwd = join(root, folder);
  const { content, ...rest } = await renderWorkflow(suites, { cwd });
  const { permissions, jobs } = parse(content) as { permissions: object; jobs: { evals: Job } };
  expect(permissions).toEqual({ contents: "read", "pull-requests": "write" });
  const at = jobs.evals.steps.findIndex(({ uses }) => uses?.startsWith("./"));
  const action = jobs.evals.steps[at];
  const setUp = jobs.evals.steps.slice(1, at).map((step) => {
    const isNode = step.uses?.startsWith("actions/setup-node");
    return isNode ? (step.with?.cache ?? "no cache") : (step.run ?? step.uses);
  });
  return { ...rest, job: jobs.evals, action, setUp, file: locateWorkflow(cwd) };
}

const [pnpm, bun, corepack] = ["pnpm/action-setup@v6", "oven-sh/setup-bun@v2", "corepack enable"];
const modern = "__metadata:\n  version: 8\n";
const named = (packageManager: string) => ({ "package.json": { packageManager } });

it.each<[string, Record<string, string | object>, string[], string]>([
  ["npm", { "package-lock.json": "{}" }, ["npm", "npm ci"], "npm i -D"],
  ["npm, to publish", { "npm-shrinkwrap.json": "{}" }, ["npm", "npm ci"], "npm i -D"],
  ["pnpm", { "pnpm-lock.yaml": "" }, [pnpm, "pnpm", "pnpm install --frozen-lockfile"], "pnpm add -D"],
  ["yarn", { "yarn.lock": "# yarn lockfile v1\n" }, ["yarn", "yarn install --frozen-lockfile"], "yarn add -D"],
  ["yarn 2", { "yarn.lock": modern }, [corepack, "yarn", "yarn install --immutable"], "yarn add -D"],
  ["bun", { "bun.lock": "{}" }, [bun, "no cache", "bun install --frozen-lockfile"], "bun add -d"],
  ["bun, older", { "bun.lockb": "" }, [bun, "no cache", "bun install --frozen-lockfile"], "bun add -d"],
  [
    "npm, built",
    { ...{ "package-lock.json": "{}", "package.json": { scripts: { build: "tsc" } } } },
    ["npm", "npm ci", "npm run build"],
    "npm i -D",
  ],
  ["none", { "README.md": "" }, ["no cache", "npm install"], "npm i -D"],
  ["pnpm, not locked", named("pnpm@9.1.0"), [pnpm, "no cache", "pnpm install --no-frozen-lockfile"], "pnpm add -D"],
  ["yarn 4, not locked", named("yarn@4.1.0"), [corepack, "no cache", "yarn install --no-immutable"], "yarn add -D"],
])("installs with the package manager of the project: %s", async (_, files, expected, add) => {
  const { setUp, job, action, ...rest } = await render(files);
  expect({ setUp, ...rest }).toEqual({
    setUp: expected,
    secrets: ["ANTHROPIC_API_KEY"],
    add: `${add} tool-evals`,
    file: ".github/workflows/evals.yml",
  });
  expect(action?.uses).toBe("./node_modules/tool-evals");
  expect(job.defaults).toBeUndefined();
  // The action is read from node_modules.
  expect(job.env).toEqual(expected.includes(corepack ?? "") ? { YARN_NODE_LINKER: "node-modules" } : undefined);
});

it.each([
  ["lockfileVersion: 5.4\n", {}, { version: 7 }],
  ["lockfileVersion: '6.0'\n", {}, { version: 8 }],
  ["lockfileVersion: '9.0'\n", {}, { version: 10 }],
  ["lockfileVersion: '9.0'\n", named("pnpm@9.1.0"), undefined],
  ["", {}, { version: 10 }],
])("sets up a pnpm that reads the lock file %j of %j", async (lock, files, version) => {
  const { job } = await render({ "pnpm-lock.yaml": lock, ...files });
  expect(job.steps[1]).toEqual({ uses: pnpm, ...(version && { with: version }) });
});

it("needs the variables of suites as secrets, under names that secrets can have", async () => {
  const names = ["TOKEN", "env:token_2", "GITHUB_TOKEN", "GITHUB_PAT:-none", "TOKEN"];
  const { secrets, action } = await render({}, { suites: names.map((name) => `env: { x: "\${${name}}" }`) });
  expect(secrets).toEqual(["ANTHROPIC_API_KEY", "TOKEN", "token_2", "GH_PAT"]);
  const secret = (name: string) => `\${{ secrets.${name} }}`;
  expect(action?.env).toEqual({
    ANTHROPIC_API_KEY: secret("ANTHROPIC_API_KEY"),
    TOKEN: secret("TOKEN"),
    token_2: secret("token_2"),
    GITHUB_TOKEN: secret("GITHUB_TOKEN"),
    GITHUB_PAT: secret("GH_PAT"),
  });
});

it.each([
  ["server: { command: uvx, args: [ mcp-server-git ] }", true],
  ['{ "command": "uv", "args": ["run", "server.py"] }', true],
  ["server:\n  command: uvx\n", true],
  ["server: { command: node, args: [ uvx.mjs ] }", false],
  ["server: { command: uvicorn }", false],
])("sets up uv for a server that it starts: %s", async (suite, expected) => {
  const { setUp } = await render({}, { suites: [suite] });
  expect(setUp.includes("astral-sh/setup-uv@v7")).toBe(expected);
});

const manifest = { devDependencies: { "tool-evals": "^0.1.0" } };

it.each([
  [
    "with packages of its own",
    { "server/package-lock.json": "{}", "server/node_modules/tool-evals/action.yml": "" },
    "./server/node_modules/tool-evals",
    { cache: "npm", "cache-dependency-path": "server/package-lock.json" },
  ],
  [
    "of a workspace",
    { "package-lock.json": "{}", "node_modules/tool-evals/action.yml": "" },
    "./node_modules/tool-evals",
    { cache: "npm" },
  ],
  [
    "of a workspace that links packages",
    { "pnpm-lock.yaml": "", ...named("pnpm@9.1.0"), "server/node_modules/tool-evals/action.yml": "" },
    "./server/node_modules/tool-evals",
    { cache: "pnpm" },
  ],
])("is written to the root of the repository for a folder %s", async (_, files, uses, cache) => {
  const { job, action, add, file } = await render({ "server/package.json": manifest, ...files }, { folder: "server" });
  expect({ add, file }).toEqual({ add: undefined, file: "../.github/workflows/evals.yml" });
  expect(job.defaults).toEqual({ run: { "working-directory": "server" } });
  expect(action?.uses).toBe(uses);
  expect(action?.with).toMatchObject({ "working-directory": "server" });
  const node = job.steps.find((step) => step.uses?.startsWith("actions/setup-node"));
  expect(node?.with).toEqual({ "node-version": 22, ...cache });
  expect(job.steps.at(-1)?.with).toEqual({ name: "evals", path: "server/reports" });
});
