// What start.mjs and test.mjs share: running commands, and installing what a fresh clone lacks. It imports nothing from npm.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";

export const root = join(import.meta.dirname, "..");

/** Whether a missing part fails the tests instead of skipping some. */
export const isCi = Boolean(process.env.CI);

const isWindows = process.platform === "win32";

/** Runs a command that prints what it prints. Returns whether it succeeded. */
export function run(command, args, options = {}) {
  return spawnSync(command, args, { cwd: root, stdio: "inherit", shell: isWindows, ...options }).status === 0;
}

/** Runs a command and resolves with its exit code and all that it printed. */
export function capture(command, args, options = {}) {
  return new Promise((done) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      shell: isWindows && command === "npm",
      ...options,
    });
    let out = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (out += data));
    child.on("error", (error) => done({ code: null, out: error.message }));
    child.on("close", (code) => done({ code, out }));
  });
}

/** Runs a command again, twice at most, when it fails: a registry may be out of reach for a moment. */
export async function attempt(command, args) {
  for (const pauseS of [10, 60]) {
    if (run(command, args)) return true;
    console.error(`Failed: ${command} ${args.join(" ")}. Trying again in ${pauseS} s.`);
    await new Promise((done) => setTimeout(done, pauseS * 1000));
  }
  return run(command, args);
}

/** The first of these programs that is on the path; undefined if there is none. */
export const findProgram = (...names) =>
  names
    .flatMap((name) => (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name)))
    .find((file) => existsSync(file));

/** When the newest of these files and folders changed, in ms. */
const newest = (...paths) =>
  Math.max(
    ...paths.map((path) => {
      const at = statSync(path);
      const inside = at.isDirectory() ? readdirSync(path).map((name) => join(path, name)) : [];
      return Math.max(at.mtimeMs, newest(...inside));
    }),
  );
const changedMs = (path) => (existsSync(join(root, path)) ? statSync(join(root, path)).mtimeMs : 0);

/** Installs the npm packages, unless those of the lock file are installed. Ends the process when they cannot be. */
export async function installPackages() {
  if (changedMs("node_modules/.package-lock.json") >= changedMs("package-lock.json")) return;
  console.log("Installing the npm packages of package-lock.json.");
  if (!(await attempt("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]))) process.exit(1);
}

/** Builds dist, unless it is newer than what it is made of. Ends the process when that fails. */
export async function build() {
  const sources = ["src", "scripts", "package.json", "package-lock.json", "tsconfig.build.json"];
  if (changedMs("dist/schemas") > newest(...sources.map((path) => join(root, path)))) return;
  const { code, out } = await capture("npm", ["run", "-s", "build"]);
  if (code === 0) return;
  console.error(out);
  process.exit(1);
}
