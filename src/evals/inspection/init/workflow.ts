import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { readRegularFile } from "../../base/files/files.ts";
import type { Io } from "../../base/types/io.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";

export const workflowFile = ".github/workflows/evals.yml";
export const workflowSecret = "ANTHROPIC_API_KEY";

/** How a package manager installs from its lock file. `before`: steps that set it up. `env`: variables of all steps. */
type Manager = {
  name: string;
  locks: readonly string[];
  before?: readonly string[];
  cache?: string;
  install: string;
  env?: string;
};

const managers: readonly Manager[] = [
  { name: "npm", locks: ["package-lock.json", "npm-shrinkwrap.json"], cache: "npm", install: "npm ci" },
  { name: "pnpm", locks: ["pnpm-lock.yaml"], cache: "pnpm", install: "pnpm install --frozen-lockfile" },
  { name: "yarn", locks: ["yarn.lock"], cache: "yarn", install: "yarn install --frozen-lockfile" },
  {
    name: "bun",
    locks: ["bun.lock", "bun.lockb"],
    before: ["- uses: oven-sh/setup-bun@v2"],
    install: "bun install --frozen-lockfile",
  },
];

/**
 * The workflow for pull requests: it installs with the package manager of the lock file, builds if there is a script for it,
 * lints and asks a model. `variables`: what the server reads from the environment, which become secrets.
 */
export async function renderWorkflow(variables: readonly string[], { cwd }: Pick<Io, "cwd">): Promise<string> {
  const { before = [], cache, install, name, env } = await readManager(cwd);
  const { scripts } = await readPackage(cwd);
  const hasBuild = isJsonObject(scripts) && typeof scripts.build === "string";
  const secrets = [workflowSecret, ...variables].map((key) => `${key}: "\${{ secrets.${key} }}"`);
  return `name: evals
on: pull_request
permissions: { contents: read, pull-requests: write }
jobs:
  evals:
    runs-on: ubuntu-latest${env === undefined ? "" : `\n    env: ${env}`}
    steps:
      ${[
        "- uses: actions/checkout@v7",
        ...before,
        "- uses: actions/setup-node@v7",
        `  with: { node-version: 22${cache === undefined ? "" : `, cache: ${cache}`} }`,
        `- run: ${install}`,
        ...(hasBuild ? [`- run: ${name} run build`] : []),
        "# Lints, then asks the model, except for pull requests from forks, which get no secrets.",
        "- uses: ./node_modules/tool-evals",
        '  with: { model: "anthropic:claude-haiku-5-5", args: --budget 1 --blame, comment: "true" }',
        `  env: { ${secrets.join(", ")} }`,
        "- if: always()",
        "  uses: actions/upload-artifact@v7",
        "  with: { name: evals, path: reports }",
      ].join("\n      ")}
`;
}

async function readManager(cwd: string): Promise<Manager> {
  const { packageManager } = await readPackage(cwd);
  const named = typeof packageManager === "string" ? packageManager.split("@", 1)[0] : undefined;
  const found = managers.find(({ locks }) => locks.some((file) => existsSync(resolve(cwd, file))));
  const manager = found ?? managers.find(({ name }) => name === named);
  if (!manager) return { name: "npm", locks: [], install: "npm install" };
  if (manager.name === "pnpm") {
    const lock = await readRegularFile(resolve(cwd, "pnpm-lock.yaml")).catch(() => "");
    // A release of pnpm reads the lock files of its time.
    const [, form = ""] = /^lockfileVersion: '?(\d+)/m.exec(lock) ?? [];
    const version = named === "pnpm" ? [] : [`  with: { version: ${{ 5: 7, 6: 8 }[form] ?? 10} }`];
    return { ...manager, before: ["- uses: pnpm/action-setup@v4", ...version] };
  }
  const lock = manager.name === "yarn" ? await readRegularFile(resolve(cwd, "yarn.lock")).catch(() => "") : "";
  // Yarn 2 and newer comes with the project, and the flag has another name.
  if (/^__metadata:/m.test(lock))
    return {
      ...manager,
      before: ["- run: corepack enable"],
      install: "yarn install --immutable",
      // The action is read from node_modules, which Plug'n'Play does not have.
      env: "{ YARN_NODE_LINKER: node-modules }",
    };
  return manager;
}

/** The `package.json` of a project; empty if there is none. */
export async function readPackage(cwd: string): Promise<JsonObject> {
  try {
    const content = JSON.parse(await readRegularFile(resolve(cwd, "package.json"))) as Json;
    return isJsonObject(content) ? content : {};
  } catch {
    return {};
  }
}
