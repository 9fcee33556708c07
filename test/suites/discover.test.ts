import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { discover } from "../../src/evals/suites/discover.ts";
import { complaint, type Files, workspace } from "./workspace.ts";

const yaml = "cases:\n  - { input: hi, expect: { tool: none } }\n";
const json = '{"evals": [{"input": "hi", "expected_behavior": "greets"}]}';

const found = async (files: Files, paths: string[] = []) => discover(paths, await workspace(files));

describe("discover without paths", () => {
  it("finds all suite files under evals, sorted", async () => {
    const files = {
      "evals/z.yml": yaml,
      "evals/evals.json": json,
      "evals/deep/er/a.yaml": yaml,
      "evals/B.yaml": yaml,
      "other/c.yaml": yaml,
    };
    expect(await found(files)).toEqual(["evals/B.yaml", "evals/deep/er/a.yaml", "evals/evals.json", "evals/z.yml"]);
  });

  it("passes over folders of other things, and files that are no suites", async () => {
    const files = {
      "evals/a.yaml": yaml,
      "evals/baselines/a.json": json,
      "evals/skills/pdf/evals/evals.json": json,
      "evals/node_modules/x/a.yaml": yaml,
      "evals/.hidden/a.yaml": yaml,
      "evals/tools.json": '{"tools": [{"name": "cases", "inputSchema": {}}]}',
      "evals/variants.yaml": "variants:\n  cases: 1\n",
      "evals/list.json": "[1]",
      "evals/notes.md": yaml,
      "evals/broken-notes.json": "{ no suite",
    };
    expect(await found(files)).toEqual(["evals/a.yaml"]);
  });

  it("takes a broken file that looks like a suite, so that its errors are shown", async () => {
    expect(await found({ "evals/a.json": '{"cases": [},}', "evals/b.yaml": "cases:\n\t- x\n" })).toEqual([
      "evals/a.json",
      "evals/b.yaml",
    ]);
  });

  it("is not caught in loops of links, and takes each real file once", async () => {
    const folder = await workspace({ "evals/a.yaml": yaml, "evals/sub/b.yaml": yaml });
    await symlink("..", join(folder, "evals/sub/loop"));
    await symlink("a.yaml", join(folder, "evals/again.yaml"));
    await symlink("nowhere.yaml", join(folder, "evals/dangling.yaml"));
    expect(await discover([], folder)).toEqual(["evals/a.yaml", "evals/sub/b.yaml"]);
  });

  it("says when there is nothing", async () => {
    expect(await complaint(found({}))).toBe(
      "error: no suite found under evals\n  write one as evals/<name>.yaml with `cases`, or give the path of a suite file",
    );
  });
});

describe("discover with paths", () => {
  it("takes given files as they are, and searches given folders", async () => {
    const files = {
      "x/skills/pdf/evals.json": json,
      "y/tools.json": "{}",
      "y/a.yaml": yaml,
      "y/baselines/b.yaml": yaml,
    };
    expect(await found(files, ["y/tools.json", "./y", "y/a.yaml", "x/skills"])).toEqual([
      "x/skills/pdf/evals.json",
      "y/a.yaml",
      "y/tools.json",
    ]);
  });

  it("takes absolute paths, also outside of the working folder", async () => {
    const elsewhere = await workspace({ "a.yaml": yaml });
    expect(await found({}, [elsewhere])).toEqual([join(elsewhere, "a.yaml")]);
  });

  it("names every path that does not exist", async () => {
    expect(await complaint(found({ "a.yaml": yaml }, ["b.yaml", "a.yaml", "c"]))).toBe(
      'error: there is no file or folder "b.yaml"\n  give a suite file, or a folder that holds suite files\n' +
        'error: there is no file or folder "c"\n  give a suite file, or a folder that holds suite files',
    );
  });

  it("says when a folder holds no suite", async () => {
    const folder = await workspace({ "a/x.txt": "" });
    await writeFile(join(folder, "a/tools.json"), "[]");
    expect(await complaint(discover(["a"], folder))).toBe(
      "error: no suite found under a\n  write one as evals/<name>.yaml with `cases`, or give the path of a suite file",
    );
  });
});
