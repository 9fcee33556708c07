import { expect, it, onTestFinished, vi } from "vitest";
import { FileWatcher } from "../../src/evals/experiments/watchedFiles.ts";

const never = new AbortController().signal;

it("returns changes when no more follow, or after two seconds", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const watcher = new FileWatcher("/reports");
  watcher.note("/a");
  const few = watcher.next(never);
  watcher.note("/b");
  await vi.advanceTimersByTimeAsync(100);
  watcher.note("/c");
  await vi.advanceTimersByTimeAsync(200);
  expect(await few).toEqual(["/a", "/b", "/c"]);

  let made = 0;
  const note = () => watcher.note(`/${made++}`);
  note();
  let many: string[] | undefined;
  void watcher.next(never).then((changed) => {
    many = changed;
  });
  while (!many) {
    note();
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(made).toBe(21);
  expect(many).toHaveLength(21);
});
