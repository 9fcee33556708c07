import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { start } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import { writeActSuite } from "../fixtures/actSuite.ts";

let dir: string;
let watch: ReturnType<typeof start>;
let err = "";
let suite = "";

/** Replaces a file as editors do. */
function write(name: string, content: string): void {
  writeFileSync(join(dir, `${name}.new`), content);
  renameSync(join(dir, `${name}.new`), join(dir, name));
}
/** Waits until the watch has printed this after `from` characters. */
async function until(pattern: RegExp, from = 0): Promise<void> {
  const givenUp = AbortSignal.timeout(5 * 60_000);
  while (!pattern.test(err.slice(from))) {
    if (watch.child.exitCode !== null) throw new Error(`the watch has ended: ${err}`);
    if (givenUp.aborted) throw new Error(`the watch never printed ${pattern}: ${err}`);
    await pause(20);
  }
}
const watching = /Watching .*\n$/;

beforeEach(async () => {
  dir = makeFolder();
  writeActSuite(dir, 1, {}, "evals/s.json");
  suite = readFileSync(join(dir, "evals/s.json"), "utf8");
  err = "";
  watch = start(["run", "--watch"], { cwd: dir });
  watch.child.stderr?.on("data", (data) => (err += data));
  await until(watching);
});
afterEach(async () => {
  watch.child.kill("SIGKILL");
  await watch.ended;
});

/** The watch lives: it asks after the next change, and ends in order. */
async function expectAlive(): Promise<void> {
  const from = err.length;
  mkdirSync(join(dir, "evals"), { recursive: true });
  write("evals/s.json", suite.replace("Act 0.", `Act again, ${from}.`));
  await until(/1 case.*\n[\s\S]*Watching/, from);
  watch.child.kill("SIGINT");
  const ended = await watch.ended;
  expect(ended.code, ended.err).toBe(0);
  expect(ended.err).not.toMatch(/Internal error|\n\s+at /);
}

describe("a watch", () => {
  it.skipIf(process.platform === "win32").each([
    ["a folder", (path: string) => mkdirSync(path)],
    ["a pipe", (path: string) => void execFileSync("mkfifo", [path])],
    ["a link to a device without end", (path: string) => symlinkSync("/dev/zero", path)],
    ["a link to a file outside", (path: string) => symlinkSync("/etc/passwd", path)],
    ["a link to itself", (path: string) => symlinkSync(path, path)],
  ])("whose suite becomes %s reports it and goes on", async (_, make) => {
    const path = join(dir, "evals/s.json");
    const from = err.length;
    rmSync(path);
    make(path);
    await until(/error: [\s\S]*Watching/, from);
    expect(err.slice(from)).not.toContain("root:");
    rmSync(path, { recursive: true });
    await expectAlive();
  });

  it("whose folder is removed follows the folder that is made in its place", async () => {
    const from = err.length;
    rmSync(join(dir, "evals"), { recursive: true });
    await until(/error: [\s\S]*Watching/, from);
    await expectAlive();
  });

  it("goes on while more and more files are written", async () => {
    const from = err.length;
    let made = 0;
    while (!/Changed: /.test(err.slice(from))) {
      write(`evals/${made++}.json`, "{");
      await pause(5);
    }
    for (let at = 0; at < made; at++) rmSync(join(dir, `evals/${at}.json`));
    await expectAlive();
  });
});
