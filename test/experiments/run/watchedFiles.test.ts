import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FileWatcher } from "../../../src/evals/experiments/run/watchedFiles.ts";
import { stampFile } from "../../../src/evals/input/parsing/read.ts";

let dir: string;
const never = new AbortController().signal;
const path = (name: string) => join(dir, name);
const write = (...names: string[]) => {
  for (const name of names) writeFileSync(path(name), name);
};
const stamp = (...names: string[]) => new Map(names.map((name) => [path(name), stampFile(path(name))]));

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "evals-watched-"));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(dir, { recursive: true });
});

it("returns changes when no more follow", async () => {
  const stamps = stamp("a", "b", "c", "d");
  write("a");
  const changed = new FileWatcher("/reports").next(stamps, never);
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
  write(String(made++));
  void new FileWatcher("/reports").next(new Map(names.map((name) => [path(name), ""])), never).then((found) => {
    changed = found;
  });
  while (!changed) {
    write(String(made++));
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(made).toBe(21);
  expect(changed).toHaveLength(21);
});

it("notices a change that causes no event, of a file that a folder or nothing took the place of too", async () => {
  write("kept", "removed", "replaced");
  mkdirSync(path("folder"));
  const stamps = stamp("kept", "removed", "replaced", "folder", "made");
  let changed: string[] | undefined;
  void new FileWatcher("/reports").next(stamps, never).then((found) => {
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
