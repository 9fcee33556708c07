import { afterAll, onTestFinished } from "vitest";

/**
 * Undoes something after the test that calls this, or after all tests of the file or `describe` that calls it outside of
 * a test; what was called last is undone first. Not for `beforeAll`, nor for concurrent tests.
 */
export function later(undo: () => unknown): void {
  const undoing = async () => void (await undo());
  try {
    onTestFinished(undoing);
  } catch {
    afterAll(undoing);
  }
}
