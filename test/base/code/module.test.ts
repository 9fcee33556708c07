import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { importModule } from "../../../src/evals/base/code/module.ts";
import { makeFolder } from "../../fakes/folder.ts";

let dir: string;
beforeEach(() => {
  dir = makeFolder();
});

it("imports JavaScript and TypeScript", async () => {
  for (const name of ["a.mjs", "b.ts"]) {
    writeFileSync(join(dir, name), `export default "${name}";`);
    expect((await importModule(join(dir, name))).default).toBe(name);
  }
});

it("imports what newer versions of Node do not strip, and files without their ending", async () => {
  writeFileSync(join(dir, "helper.ts"), "export enum Kind { note = 'a note' }");
  writeFileSync(join(dir, "main.ts"), 'import { Kind } from "./helper";\nexport default Kind.note;');
  expect((await importModule(join(dir, "main.ts"))).default).toBe("a note");
});

it("rejects for a missing file, a folder and a pipe, for which it does not wait", async () => {
  await expect(importModule(join(dir, "none.mjs"))).rejects.toMatchObject({ code: "ENOENT" });
  mkdirSync(join(dir, "folder"));
  for (const name of ["a.mjs", "b.ts"]) {
    execFileSync("mkfifo", [join(dir, name)]);
    await expect(importModule(join(dir, name))).rejects.toThrow("it is not a regular file");
  }
  await expect(importModule(join(dir, "folder"))).rejects.toThrow("it is not a regular file");
});
