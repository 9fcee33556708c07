import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";

export const root = join(import.meta.dirname, "../..");

/** The setting of a proxy before the registry: where its certificate is. */
const { NODE_EXTRA_CA_CERTS } = process.env;
export const network = NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS };

/** Packs the package as it is built into a folder. Returns the path of the file. */
export function packPackage(dir: string): string {
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", dir];
  const [{ filename }] = JSON.parse(execFileSync("npm", args, { cwd: root }).toString());
  return join(dir, filename);
}

/**
 * Installs the packed package in a folder, beside the packages that it depends on and no others. They are those that are
 * installed here: nothing is downloaded.
 */
export function installPackage(dir: string): void {
  const packed = packPackage(dir);
  const modules = join(dir, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  }
  execFileSync("tar", ["-xzf", packed, "-C", modules]);
  cpSync(join(modules, "package"), join(modules, "tool-evals"), { recursive: true });
  rmSync(join(modules, "package"), { recursive: true });
  rmSync(packed);
  chmodSync(join(modules, "tool-evals/dist/evals/cli.js"), 0o755);
  symlinkSync("../tool-evals/dist/evals/cli.js", join(modules, ".bin/evals"));
}
