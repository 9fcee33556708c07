import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { readRegularFile } from "../../../src/evals/base/files/files.ts";
import { makeFolder } from "../../fakes/folder.ts";

let dir: string;
beforeEach(() => {
  dir = makeFolder();
});

it("reads a file, and rejects for one that does not exist as the file system does", async () => {
  writeFileSync(join(dir, "a.txt"), "text");
  expect(await readRegularFile(join(dir, "a.txt"))).toBe("text");
  await expect(readRegularFile(join(dir, "b.txt"))).rejects.toMatchObject({ code: "ENOENT" });
});

it("does not wait for a pipe, and reads neither a folder nor a device", async () => {
  execFileSync("mkfifo", [join(dir, "pipe")]);
  for (const path of [join(dir, "pipe"), dir, "/dev/zero"])
    await expect(readRegularFile(path)).rejects.toThrow("it is not a regular file");
});
