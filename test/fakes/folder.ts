import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, onTestFinished } from "vitest";

/**
 * A new folder, by its real path. It is removed after the test that makes it, or after all tests of the file or `describe`
 * that makes it outside of a test. Not for `beforeAll`.
 */
export function makeFolder(prefix = "evals-"): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), prefix)));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  try {
    onTestFinished(remove);
  } catch {
    afterAll(remove);
  }
  return dir;
}

/** Writes a file in a folder, and the folders that it is in: a text as it is, other values as JSON. Returns its name. */
export function writeIn(dir: string, name: string, content: unknown): string {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), typeof content === "string" ? content : JSON.stringify(content));
  return name;
}
