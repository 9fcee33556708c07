import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { parse } from "yaml";
import { renderWorkflow } from "../../../src/evals/inspection/init/workflow.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

type Step = { uses?: string; run?: string; with?: object; env?: object };
const before = ["pnpm/action-setup@v4", "oven-sh/setup-bun@v2", "corepack enable"];

it.each([
  ["package-lock.json", "{}", {}, ["npm", "npm ci"]],
  ["pnpm-lock.yaml", "", { packageManager: "pnpm@9.1.0" }, [before[0], "pnpm", "pnpm install --frozen-lockfile"]],
  ["yarn.lock", "# yarn lockfile v1\n", {}, ["yarn", "yarn install --frozen-lockfile"]],
  ["yarn.lock", "__metadata:\n  version: 8\n", {}, [before[2], "yarn", "yarn install --immutable"]],
  [
    "bun.lock",
    "{}",
    { scripts: { build: "tsc" } },
    [before[1], undefined, "bun install --frozen-lockfile", "bun run build"],
  ],
  ["README.md", "", {}, [undefined, "npm install"]],
])("installs with the package manager of %s", async (lock, content, manifest, expected) => {
  const cwd = mkdtempSync(join(tmpdir(), "evals-workflow-"));
  folders.push(cwd);
  writeFileSync(join(cwd, lock), content);
  writeFileSync(join(cwd, "package.json"), JSON.stringify(manifest));
  const text = await renderWorkflow(["TOKEN"], { cwd });
  type Job = { env?: object; steps: Step[] };
  const { permissions, jobs } = parse(text) as { permissions: object; jobs: { evals: Job } };
  const { steps, env } = jobs.evals;
  expect(env).toEqual(content.includes("__metadata") ? { YARN_NODE_LINKER: "node-modules" } : undefined);
  const at = steps.findIndex(({ uses }) => uses === "./node_modules/tool-evals");
  const shown = steps.slice(1, at).map((step) => {
    return step.uses?.startsWith("actions/setup-node")
      ? (step.with as { cache?: string }).cache
      : (step.run ?? step.uses);
  });
  expect(shown).toEqual(expected);
  expect(permissions).toEqual({ contents: "read", "pull-requests": "write" });
  expect(Object.keys(steps[at]?.env ?? {})).toEqual(["ANTHROPIC_API_KEY", "TOKEN"]);
});

it.each([
  ["lockfileVersion: 5.4\n", 7],
  ["lockfileVersion: '6.0'\n", 8],
  ["lockfileVersion: '9.0'\n", 10],
  ["", 10],
])("sets up a pnpm that reads the lock file %j", async (lock, version) => {
  const cwd = mkdtempSync(join(tmpdir(), "evals-workflow-"));
  folders.push(cwd);
  writeFileSync(join(cwd, "pnpm-lock.yaml"), lock);
  const { jobs } = parse(await renderWorkflow([], { cwd })) as { jobs: { evals: { steps: Step[] } } };
  expect(jobs.evals.steps[1]).toEqual({ uses: "pnpm/action-setup@v4", with: { version } });
});
