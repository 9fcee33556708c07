import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

/** Installs the packed package in a folder. Its dependencies are those that are installed here: nothing is downloaded. */
export function installPackage(dir: string): void {
  const [packed] = JSON.parse(
    execFileSync("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", dir], { cwd: root }).toString(),
  );
  const modules = join(dir, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  for (const name of readdirSync(join(root, "node_modules")))
    if (name !== "tool-evals" && name !== ".bin") symlinkSync(join(root, "node_modules", name), join(modules, name));
  execFileSync("tar", ["-xzf", join(dir, packed.filename), "-C", modules]);
  cpSync(join(modules, "package"), join(modules, "tool-evals"), { recursive: true });
  rmSync(join(modules, "package"), { recursive: true });
  rmSync(join(dir, packed.filename));
  chmodSync(join(modules, "tool-evals/dist/evals/cli.js"), 0o755);
  symlinkSync("../tool-evals/dist/evals/cli.js", join(modules, ".bin/evals"));
}
