import { basename, dirname, resolve } from "node:path";
import { usageError } from "../../errors.ts";
import { discover } from "../../suites/discover.ts";
import { type Gathered, type Gathering, together } from "./gathered.ts";
import { skillTargets } from "./skills.ts";
import { suiteTargets } from "./suites.ts";

/** The suites and skill packages that paths mean. Throws EvalsError when they mean none. */
export async function pathTargets(paths: readonly string[], gathering: Gathering): Promise<Gathered> {
  const { files, packages } = await discover(paths, gathering.io.cwd);
  if (files.length + packages.length === 0)
    throw usageError(
      `nothing to lint under ${paths.join(", ") || "evals/"}`,
      "Give a suite or a skill package, or say what to lint with --server, --url, --tools, --skills or --config.",
    );
  const folders = new Map<string, string[]>();
  for (const path of packages) {
    const dir = resolve(gathering.io.cwd, path);
    folders.set(dirname(dir), [...(folders.get(dirname(dir)) ?? []), basename(dir)]);
  }
  return together([
    await suiteTargets(files, gathering),
    ...(await Promise.all([...folders].map(([dir, names]) => skillTargets(dir, gathering, names)))),
  ]);
}
