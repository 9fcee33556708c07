import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeScratch } from "../../../src/evals/inspection/probe/session.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "evals-scratch-test-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("the scratch folder of a probe", () => {
  it("keeps the paths of a command line, lists what is left, and is removed", () => {
    writeFileSync(join(dir, "server.mjs"), "");
    mkdirSync(join(dir, "data"));
    const args = ["server.mjs", "./data", "--port", "80", "missing.json"];
    const scratch = makeScratch({ command: "node", args }, dir);
    if (!scratch || !("cwd" in scratch.server)) throw new Error("There is no scratch folder.");
    const { cwd = "" } = scratch.server;
    expect(scratch.server).toEqual({
      command: "node",
      args: [join(dir, "server.mjs"), join(dir, "data"), "--port", "80", "missing.json"],
      cwd,
    });
    mkdirSync(join(cwd, "notes"));
    for (const file of ["b.txt", "a.txt", "notes/c.txt"]) writeFileSync(join(cwd, file), "");
    expect(scratch.listFiles(20)).toEqual(["a.txt", "b.txt", join("notes", "c.txt")]);
    expect(scratch.listFiles(1)).toEqual(["a.txt"]);
    scratch.remove();
    expect(existsSync(cwd)).toBe(false);
  });

  it.each([
    ["is reached by a URL", { url: "http://127.0.0.1:1" }],
    ["is registered", { config: ".mcp.json", name: "files" }],
    ["has a folder", { command: "node", args: ["server.mjs"], cwd: "server" }],
    ["is looked up from the folder", { command: "npx", args: ["-y", "server"] }],
  ])("is not made for a server that %s", (_, server) => {
    expect(makeScratch(server, dir)).toBeUndefined();
  });
});
