import { join } from "node:path";
import type { SkillPackage } from "../types/skill.ts";
import { readConfined } from "./confine.ts";

/** More than a model can be shown: a larger file is refused, not cut. */
const maxBytes = 256 * 1024;

/**
 * The text of a file inside of a package, by its path from the package's folder; nothing outside of the folder is read.
 * Does not throw: `problem` is what a model is told.
 */
export async function readPackageFile(
  { dir, name }: Pick<SkillPackage, "dir" | "name">,
  path: string,
): Promise<{ text: string } | { problem: string }> {
  const found = readConfined(join(dir, path), dir, maxBytes);
  if ("text" in found) return found;
  const unreadable = found.kind === "too large" || found.kind === "not text";
  return { problem: unreadable ? `${path} cannot be read: ${found.reason}` : `The skill ${name} has no file ${path}` };
}
