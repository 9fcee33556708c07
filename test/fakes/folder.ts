import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
