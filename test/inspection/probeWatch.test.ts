import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { watchFolders } from "../../src/evals/inspection/probe/watch.ts";

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "evals-watch-test-")));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it("lists what is new or changed in the folders of a command line and beside its script", () => {
  for (const folder of ["data/old", "bin", "package/dist", "elsewhere", "node_modules"])
    mkdirSync(join(dir, folder), { recursive: true });
  writeFileSync(join(dir, "package/dist/main.js"), "");
  writeFileSync(join(dir, "data/old/a.txt"), "");
  symlinkSync(join(dir, "package/dist/main.js"), join(dir, "bin/server"));
  const listChanged = watchFolders({ command: join(dir, "bin/server"), args: [join(dir, "data"), "--safe"] }, dir);
  expect(listChanged()).toEqual([]);
  mkdirSync(join(dir, "data/new/deep"), { recursive: true });
  writeFileSync(join(dir, "data/new/b.txt"), "");
  writeFileSync(join(dir, "data/old/a.txt"), "changed");
  writeFileSync(join(dir, "package/dist/memory.jsonl"), "");
  writeFileSync(join(dir, "node_modules/cache"), "");
  writeFileSync(join(dir, "c.txt"), "");
  expect(listChanged()).toEqual(
    ["data/new", "data/old/a.txt", "package/dist/memory.jsonl"].map((name) => join(dir, name)),
  );
  expect(watchFolders({ url: "http://127.0.0.1:1" }, dir)()).toEqual([]);
});
