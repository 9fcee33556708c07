import { existsSync } from "node:fs";
import { join, posix, resolve } from "node:path";
import { stringify } from "yaml";
import { readRegularFile } from "../../base/files/files.ts";
import type { Io } from "../../base/types/io.ts";
import { isJsonObject, type JsonObject, parseJsonText } from "../../base/types/json.ts";
import { folderInRepository } from "../../input/parsing/folders.ts";
import { listRepositoryFolders } from "../../input/skills/hosts.ts";

type Step = { name?: string; if?: string; uses?: string; run?: string; with?: object; env?: object };

/** The path of the workflow from the working directory. It stands at the root of the repository. */
export const locateWorkflow = (cwd: string) =>
  join(...listRepositoryFolders(cwd).slice(1).fill(".."), ".github/workflows/evals.yml");

/** `secrets`: what the repository needs. `add`: how to install this package, unless the project depends on it. */
type Workflow = { content: string; secrets: readonly string[]; add?: string };

/**
 * The workflow for pull requests: it installs with the package manager of the lock file, builds if there is a script
 * for it, lints and asks a model. `files`: the texts of suites and host configurations, whose variables become secrets.
 */
export async function renderWorkflow(files: readonly string[], { cwd }: Pick<Io, "cwd">): Promise<Workflow> {
  const folders = listRepositoryFolders(cwd);
  const folder = folderInRepository(cwd);
  const isFolder = folder !== "";
  const manager = await findManager(folders);
  const { scripts, dependencies, devDependencies } = await readPackage(cwd);
  const home = folders.find((dir) => existsSync(join(dir, "node_modules/tool-evals"))) ?? cwd;
  const found = [...files.join("\n").matchAll(/\$\{(?:env:)?([A-Za-z_]\w*)/g)].map(([, name = ""]) => name);
  const variables = [...new Set(["ANTHROPIC_API_KEY", ...found])];
  const steps: Step[] = [
    { uses: "actions/checkout@v7" },
    ...manager.setUp,
    ...(files.some((text) => /\bcommand"?: *"?uvx?\b/.test(text)) ? [{ uses: "astral-sh/setup-uv@v7" }] : []),
    { run: manager.install },
    ...(isJsonObject(scripts) && typeof scripts.build === "string" ? [{ run: `${manager.name} run build` }] : []),
    {
      name: "Lint, and ask the model (except for pull requests from forks, which get no secrets)",
      uses: `./${posix.join(folderInRepository(home), "node_modules/tool-evals")}`,
      with: {
        model: "anthropic:claude-haiku-5-5",
        args: "--budget 1 --blame",
        comment: true,
        ...(isFolder && { "working-directory": folder }),
      },
      env: Object.fromEntries(variables.map((name) => [name, `\${{ secrets.${nameSecret(name)} }}`])),
    },
    {
      if: "always()",
      uses: "actions/upload-artifact@v7",
      with: { name: "evals", path: posix.join(folder, "reports") },
    },
  ];
  const defaults = isFolder ? { run: { "working-directory": folder } } : undefined;
  const job = { "runs-on": "ubuntu-latest", defaults, env: manager.env, steps };
  const permissions = { contents: "read", "pull-requests": "write" };
  const content = stringify({ name: "evals", on: "pull_request", permissions, jobs: { evals: job } }, { lineWidth: 0 });
  const isDependency = [dependencies, devDependencies].some((all) => Object.hasOwn(Object(all), "tool-evals"));
  const secrets = variables.filter((name) => name !== jobToken).map(nameSecret);
  return { content, secrets, ...(!isDependency && { add: `${manager.add} tool-evals` }) };
}

/** What every job has. The names of other secrets cannot begin with GITHUB_. */
const jobToken = "GITHUB_TOKEN";
const nameSecret = (variable: string) => (variable === jobToken ? variable : variable.replace(/^GITHUB_/i, "GH_"));

/** How the packages of a project are added and installed. `env`: variables of all steps. */
type Manager = { name: string; add: string; setUp: readonly Step[]; install: string; env?: object };

const locks = {
  "package-lock.json": "npm",
  "npm-shrinkwrap.json": "npm",
  "pnpm-lock.yaml": "pnpm",
  "yarn.lock": "yarn",
  "bun.lock": "bun",
  "bun.lockb": "bun",
} as const;

/** The package manager of the nearest lock file, or else the one that `package.json` names. */
async function findManager(folders: readonly string[]): Promise<Manager> {
  const all = await Promise.all(folders.map(async (dir) => ({ dir, of: (await readPackage(dir)).packageManager })));
  const manifest = all.find(({ of }) => typeof of === "string");
  const [, named, version] = /^(\w+)@(\d+)/.exec(String(manifest?.of)) ?? [];
  const found = folders.flatMap((dir) => Object.entries(locks).map(([file, name]) => ({ dir, file, name })));
  const lock = found.find(({ dir, file }) => existsSync(join(dir, file)));
  const content = lock ? await readRegularFile(join(lock.dir, lock.file)).catch(() => "") : "";
  const name = lock?.name ?? Object.values(locks).find((one) => one === named) ?? "npm";
  const path = lock && posix.join(folderInRepository(lock.dir), lock.file);
  const cache = path && name !== "bun" && { cache: name, ...(path !== lock.file && { "cache-dependency-path": path }) };
  const setUpNode = { uses: "actions/setup-node@v7", with: { "node-version": 22, ...cache } };
  const no = lock ? "" : "no-";
  const install = `${name} install --${no}frozen-lockfile`;
  if (name === "npm") return { name, add: "npm i -D", setUp: [setUpNode], install: lock ? "npm ci" : "npm install" };
  if (name === "bun") return { name, add: "bun add -d", setUp: [{ uses: "oven-sh/setup-bun@v2" }, setUpNode], install };
  if (name === "pnpm") {
    // A release of pnpm reads the lock files of its time.
    const [, form = ""] = /^lockfileVersion: '?(\d+)/m.exec(content) ?? [];
    const namedIn = named === name && manifest && posix.join(folderInRepository(manifest.dir), "package.json");
    const given = namedIn ? { package_json_file: namedIn } : { version: { 5: 7, 6: 8 }[form] ?? 10 };
    const setUp = { uses: "pnpm/action-setup@v6", ...(namedIn !== "package.json" && { with: given }) };
    return { name, add: "pnpm add -D", setUp: [setUp, setUpNode], install };
  }
  const yarn = { name, add: "yarn add -D", setUp: [setUpNode], install };
  if (lock ? !/^__metadata:/m.test(content) : !(Number(version) >= 2)) return yarn;
  // Yarn 2 and newer comes with the project, and the flag has another name. The action is read from node_modules, which
  // Plug'n'Play does not have.
  const setUp = [{ run: "corepack enable" }, setUpNode];
  return { ...yarn, setUp, install: `yarn install --${no}immutable`, env: { YARN_NODE_LINKER: "node-modules" } };
}

/** The `package.json` of a project; empty if there is none. */
export async function readPackage(cwd: string): Promise<JsonObject> {
  const content = parseJsonText(await readRegularFile(resolve(cwd, "package.json")).catch(() => ""));
  return isJsonObject(content) ? content : {};
}
