import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

// Runs before each test file: the skills of whoever runs the tests are none of theirs.
const home = mkdtempSync(join(tmpdir(), "evals-home-"));
process.env.EVALS_TEST_HOME = home;
afterAll(() => rmSync(home, { recursive: true, force: true }));
