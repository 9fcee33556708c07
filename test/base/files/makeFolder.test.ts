import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { makeFolder } from "../../../src/evals/base/files/files.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "evals-folder-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

it("creates every folder of a path, also for several callers at once, and leaves existing ones", async () => {
  await Promise.all([1, 2, 3].map((last) => makeFolder(join(dir, "a/b/c", String(last)), { mode: 0o700 })));
  await makeFolder(join(dir, "a/b"));
  await makeFolder("/");
  for (const path of ["a", "a/b", "a/b/c", "a/b/c/3"]) expect(statSync(join(dir, path)).mode & 0o777).toBe(0o700);
});

it("follows a link to a folder", async () => {
  mkdirSync(join(dir, "real"));
  symlinkSync("real", join(dir, "link"));
  await makeFolder(join(dir, "link/inside"));
  expect(existsSync(join(dir, "real/inside"))).toBe(true);
});

it("rejects where a part of the path is a file, a link to nothing or a link to itself", async () => {
  writeFileSync(join(dir, "file"), "");
  symlinkSync("nothing", join(dir, "dangling"));
  symlinkSync("loop", join(dir, "loop"));
  await expect(makeFolder(join(dir, "file"))).rejects.toMatchObject({ code: "EEXIST" });
  await expect(makeFolder(join(dir, "file/a"))).rejects.toMatchObject({ code: "ENOTDIR" });
  await expect(makeFolder(join(dir, "dangling/a"))).rejects.toMatchObject({ code: "EEXIST" });
  await expect(makeFolder(join(dir, "loop/a"))).rejects.toMatchObject({ code: "ELOOP" });
});

it.skipIf(!existsSync("/proc/self"))(
  "rejects below /proc, where the recursive mkdir never returns (needs Linux)",
  async () => {
    await expect(makeFolder("/proc/a/b")).rejects.toThrow("no folder can be created in /proc");
  },
);
