import { existsSync } from "node:fs";
import { join, posix, relative, resolve } from "node:path";
import { stringify } from "yaml";
import { readRegularFile } from "../../base/files/files.ts";
import type { Io } from "../../base/types/io.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import { folderInRepository } from "../../input/skills/packageFiles.ts";

type Step = { name?: string; if?: string; uses?: string; run?: string; with?: object; env?: object };

/** The path of the workflow from the working directory. It stands at the root of the repository. */
export const locateWorkflow = (cwd: string) => relative(cwd, join(locateRoot(cwd), ".github/workflows/evals.yml"));

const locateRoot = (cwd: string) => resolve(cwd, folderInRepository(cwd).replace(/[^/]+/g, ".."));

/** `secrets`: what the repository needs. `add`: how to install this package, unless the project depends on it. */
type Workflow = { content: string; secrets: readonly string[]; add?: string };

/**
 * The workflow for pull requests: it installs with the package manager of the lock file, builds if there is a script for it,
 * lints and asks a model. `files`: the texts of suites and host configurations, whose variables become secrets.
 */
export async function renderWorkflow(files: readonly string[], { cwd }: Pick<Io, "cwd">): Promise<Workflow> {
  const root = locateRoot(cwd);
  const folder = folderInRepository(cwd);
  const above = folder.split("/").map((_, at) => resolve(cwd, "../".repeat(at)));
  const folders = folder === "" ? [cwd] : [...above, root];
  const manager = await findManager(folders, root);
  const { scripts, dependencies, devDependencies } = await readPackage(cwd);
  const home = folders.find((dir) => existsSync(join(dir, "node_modules/tool-evals"))) ?? cwd;
  const action = posix.join(toPosix(relative(root, home)), "node_modules/tool-evals");
  const found = files.flatMap((text) =>
    [...text.matchAll(/\$\{(?:env:)?([A-Za-z_]\w*)/g)].map(([, name = ""]) => name),
  );
  const variables = [...new Set(["ANTHROPIC_API_KEY", ...found])];
  const steps: Step[] = [
    { uses: "actions/checkout@v7" },
    ...manager.setUp,
    ...(files.some((text) => /\bcommand"?: *"?uvx?\b/.test(text)) ? [{ uses: "astral-sh/setup-uv@v7" }] : []),
    { run: manager.install },
    ...(isJsonObject(scripts) && typeof scripts.build === "string" ? [{ run: `${manager.name} run build` }] : []),
    {
      name: "Lint, and ask the model (except for pull requests from forks, which get no secrets)",
      uses: `./${action}`,
      with: {
        model: "anthropic:claude-haiku-5-5",
        args: "--budget 1 --blame",
        comment: true,
        ...(folder !== "" && { "working-directory": folder }),
      },
      env: Object.fromEntries(variables.map((name) => [name, `\${{ secrets.${nameSecret(name)} }}`])),
    },
    {
      if: "always()",
      uses: "actions/upload-artifact@v7",
      with: { name: "evals", path: posix.join(folder, "reports") },
    },
  ];
  const job = {
    "runs-on": "ubuntu-latest",
    ...(folder !== "" && { defaults: { run: { "working-directory": folder } } }),
    ...(manager.env && { env: manager.env }),
    steps,
  };
  const permissions = { contents: "read", "pull-requests": "write" };
  const content = stringify({ name: "evals", on: "pull_request", permissions, jobs: { evals: job } }, { lineWidth: 0 });
  const isDependency = [dependencies, devDependencies].some((all) => Object.hasOwn(Object(all), "tool-evals"));
  const secrets = variables.filter((name) => name !== jobToken).map(nameSecret);
  return { content, secrets, ...(!isDependency && { add: `${manager.add} tool-evals` }) };
}

/** What every job has. The names of other secrets cannot begin with GITHUB_. */
const jobToken = "GITHUB_TOKEN";
const nameSecret = (variable: string) => (variable === jobToken ? variable : variable.replace(/^GITHUB_/i, "GH_"));

const toPosix = (path: string) => path.replaceAll("\\", "/");

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
async function findManager(folders: readonly string[], root: string): Promise<Manager> {
  const pathIn = (file: string) => toPosix(relative(root, file));
  const manifests = await Promise.all(
    folders.map(async (dir) => ({ dir, text: (await readPackage(dir)).packageManager })),
  );
  const manifest = manifests.find(({ text }) => typeof text === "string");
  const [, named, version] = /^(\w+)@(\d+)/.exec(String(manifest?.text)) ?? [];
  const found = folders.flatMap((dir) =>
    Object.entries(locks).map(([file, name]) => ({ file: join(dir, file), name })),
  );
  const lock = found.find(({ file }) => existsSync(file));
  const content = lock ? await readRegularFile(lock.file).catch(() => "") : "";
  const name = lock?.name ?? Object.values(locks).find((one) => one === named) ?? "npm";
  const inFolder = lock && pathIn(lock.file).includes("/");
  const cache = lock &&
    name !== "bun" && { cache: name, ...(inFolder && { "cache-dependency-path": pathIn(lock.file) }) };
  const setUpNode = { uses: "actions/setup-node@v7", with: { "node-version": 22, ...cache } };
  const no = lock ? "" : "no-";
  const install = `${name} install --${no}frozen-lockfile`;
  if (name === "npm") return { name, add: "npm i -D", setUp: [setUpNode], install: lock ? "npm ci" : "npm install" };
  if (name === "bun") return { name, add: "bun add -d", setUp: [{ uses: "oven-sh/setup-bun@v2" }, setUpNode], install };
  if (name === "pnpm") {
    // A release of pnpm reads the lock files of its time.
    const [, form = ""] = /^lockfileVersion: '?(\d+)/m.exec(content) ?? [];
    const file = pathIn(join(manifest?.dir ?? root, "package.json"));
    const given = named === name ? { package_json_file: file } : { version: { 5: 7, 6: 8 }[form] ?? 10 };
    const isDefault = given.package_json_file === "package.json";
    const setUp = { uses: "pnpm/action-setup@v4", ...(!isDefault && { with: given }) };
    return { name, add: "pnpm add -D", setUp: [setUp, setUpNode], install };
  }
  const isModern = lock ? /^__metadata:/m.test(content) : Number(version) >= 2;
  const yarn = { name, add: "yarn add -D", setUp: [setUpNode], install };
  if (!isModern) return yarn;
  // Yarn 2 and newer comes with the project, and the flag has another name. The action is read from node_modules, which
  // Plug'n'Play does not have.
  const setUp = [{ run: "corepack enable" }, setUpNode];
  return { ...yarn, setUp, install: `yarn install --${no}immutable`, env: { YARN_NODE_LINKER: "node-modules" } };
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
