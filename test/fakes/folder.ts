import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { later } from "./later.ts";

/** A new folder, by its real path, with these files (see `writeIn`). It is removed as `later` says. */
export function makeFolder(files: Readonly<Record<string, unknown>> = {}): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "evals-")));
  later(() => rmSync(dir, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) writeIn(dir, name, content);
  return dir;
}

/** Writes a file in a folder, and the folders that it is in: texts and bytes as they are, other values as JSON. Returns its name. */
export function writeIn(dir: string, name: string, content: unknown): string {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  const isWhole = typeof content === "string" || content instanceof Uint8Array;
  writeFileSync(join(dir, name), isWhole ? content : JSON.stringify(content));
  return name;
}
