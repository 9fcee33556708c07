import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { replaceFile, temporaryName } from "../../../src/evals/base/files/files.ts";
import { makeFolder } from "../../fakes/folder.ts";

let dir: string;
beforeEach(() => {
  dir = makeFolder();
});
const at = (name: string) => join(dir, name);
const modeOf = (name: string) => statSync(at(name)).mode & 0o777;

describe("replaceFile", () => {
  it("writes a file, with the mode that is given", async () => {
    await replaceFile(at("a"), "new", { mode: 0o600 });
    expect(readFileSync(at("a"), "utf8")).toBe("new");
    expect(modeOf("a")).toBe(0o600);
    expect(readdirSync(dir)).toEqual(["a"]);
  });

  it("keeps the mode, and follows a link", async () => {
    writeFileSync(at("a"), "old");
    chmodSync(at("a"), 0o640);
    symlinkSync(at("a"), at("link"));
    await replaceFile(at("link"), "new");
    expect(readFileSync(at("a"), "utf8")).toBe("new");
    expect(modeOf("a")).toBe(0o640);
    expect(readdirSync(dir)).toEqual(["a", "link"]);
  });

  it("leaves nothing behind when it fails", async () => {
    mkdirSync(at("folder/inside"), { recursive: true });
    await expect(replaceFile(at("folder"), "new")).rejects.toThrow();
    await expect(replaceFile(at("none/a"), "new")).rejects.toThrow("ENOENT");
    expect(readdirSync(dir)).toEqual(["folder"]);
  });

  it("refuses a pipe or a device, in whose place a file would be", async () => {
    execFileSync("mkfifo", [at("pipe")]);
    await expect(replaceFile(at("pipe"), "new")).rejects.toThrow("it is not a regular file");
    expect(statSync(at("pipe")).isFIFO()).toBe(true);
  });

  it("names what a killed process leaves", () => {
    expect(temporaryName.test("run.json.0123456789ab.tmp")).toBe(true);
    expect(temporaryName.test("run.json")).toBe(false);
  });
});
