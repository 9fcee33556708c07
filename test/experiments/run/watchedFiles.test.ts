import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FileWatcher } from "../../../src/evals/experiments/run/watchedFiles.ts";

let dir: string;
const never = new AbortController().signal;
const path = (name: string) => join(dir, name);
const write = (...names: string[]) => {
  for (const name of names) writeFileSync(path(name), name);
};
/** What changes after these files are watched. */
function watch(...names: string[]): Promise<string[] | undefined> {
  const watcher = new FileWatcher("/reports");
  const [skills, suites, code] = [new Set<string>(), new Set<string>(), new Set<string>()];
  watcher.watch({ files: new Set(names.map(path)), skills, suites, code });
  return watcher.next(new Map(), never);
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "evals-watched-"));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(dir, { recursive: true });
});

it("returns changes when no more follow", async () => {
  const changed = watch("a", "b", "c", "d");
  write("a");
  await vi.advanceTimersByTimeAsync(100);
  write("b");
  await vi.advanceTimersByTimeAsync(100);
  write("c");
  await vi.advanceTimersByTimeAsync(200);
  write("d");
  expect(await changed).toEqual(["a", "b", "c"].map(path));
});

it("returns changes after two seconds when more and more follow", async () => {
  const names = Array.from({ length: 100 }, (_, at) => `${at}`);
  let changed: string[] | undefined;
  let made = 0;
  void watch(...names).then((found) => {
    changed = found;
  });
  while (!changed) {
    write(String(made++));
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(made).toBe(21);
  expect(changed).toHaveLength(21);
});

it("notices a file that is new, removed, or replaced by a folder, and a folder replaced by a file", async () => {
  write("kept", "removed", "replaced");
  mkdirSync(path("folder"));
  let changed: string[] | undefined;
  void watch("kept", "removed", "replaced", "folder", "made").then((found) => {
    changed = found;
  });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(changed).toBeUndefined();

  for (const name of ["removed", "replaced", "folder"]) rmSync(path(name), { recursive: true });
  mkdirSync(path("replaced"));
  write("folder", "made");
  await vi.advanceTimersByTimeAsync(1_200);
  expect(changed).toEqual(["folder", "made", "removed", "replaced"].map(path));
});
