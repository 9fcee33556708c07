import { chmod, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../../src/evals/base/types/errors.ts";
import { discover, recognize } from "../../../src/evals/input/suites/discover.ts";
import { complaint, type Files, workspace } from "./workspace.ts";

const yaml = "cases:\n  - { input: hi, expect: { tool: none } }\n";
const json = '{"evals": [{"input": "hi", "expected_behavior": "greets"}]}';

const found = async (files: Files, paths: string[] = []) => (await discover(paths, await workspace(files))).files;
const packagesIn = async (files: Files, paths: string[] = []) =>
  (await discover(paths, await workspace(files))).packages;

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

  it("finds the packages of a plugin or of a repository of skills", async () => {
    const skill = "---\nname: pdf\n---\n";
    const files = {
      "evals/a.yaml": yaml,
      "skills/pdf/SKILL.md": skill,
      "skills/a.yaml": yaml,
      "docs/b/SKILL.md": skill,
    };
    expect([await found(files), await packagesIn(files)]).toEqual([["evals/a.yaml"], ["skills/pdf"]]);
  });

  it("skips other folders, and files that are not suites", async () => {
    const files = {
      "evals/a.yaml": yaml,
      "evals/baselines/a.json": json,
      "evals/skills/pdf/SKILL.md": "---\nname: pdf\n---\n",
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

  it("treats a broken file that looks like a suite as one, so that its errors are reported", async () => {
    expect(await found({ "evals/a.json": '{"cases": [},}', "evals/b.yaml": "cases:\n\t- x\n" })).toEqual([
      "evals/a.json",
      "evals/b.yaml",
    ]);
  });

  it("survives loops of links, and finds each real file once", async () => {
    const folder = await workspace({ "evals/a.yaml": yaml, "evals/sub/b.yaml": yaml });
    await symlink("..", join(folder, "evals/sub/loop"));
    await symlink("a.yaml", join(folder, "evals/again.yaml"));
    await symlink("nowhere.yaml", join(folder, "evals/dangling.yaml"));
    expect((await discover([], folder)).files).toEqual(["evals/a.yaml", "evals/sub/b.yaml"]);
  });

  it("warns once about a file that a loop of links shows again and again", async () => {
    const folder = await workspace({ "evals/other.json": '{"cases": [{"args": [], "assert": "x"}]}' });
    await symlink(".", join(folder, "evals/loop"));
    expect((await discover([], folder)).warnings).toHaveLength(1);
  });

  it("finds packages in the folders of a package, other than those that belong to it", async () => {
    const skill = "---\nname: x\ndescription: X.\n---\n";
    const nested = [
      "SKILL.md",
      "skills/a/SKILL.md",
      "skills/b/SKILL.md",
      "assets/template/SKILL.md",
      "evals/c/SKILL.md",
    ];
    expect(await packagesIn(Object.fromEntries(nested.map((file) => [file, skill])), ["."])).toEqual([
      ".",
      "skills/a",
      "skills/b",
    ]);
  });

  it("takes a skill package as one, with the eval files that belong to it", async () => {
    const skill = { "evals/skills/pdf/SKILL.md": "x", "evals/skills/pdf/evals/evals.json": json };
    const pdf = ["evals/skills/pdf"];
    expect(await packagesIn(skill)).toEqual(pdf);
    for (const path of ["evals/skills/pdf", "evals/skills/pdf/SKILL.md", "evals/skills/pdf/evals/evals.json"])
      expect(await packagesIn(skill, [path])).toEqual(pdf);
    const root = { "SKILL.md": "x", "evals/evals.json": json, "evals/tools.yaml": yaml };
    expect([await packagesIn(root), await found(root)]).toEqual([["."], ["evals/tools.yaml"]]);
  });

  it("finds nothing in a missing folder", async () => {
    expect([await found({}), await packagesIn({})]).toEqual([[], []]);
  });
});

describe("discover with paths", () => {
  it("accepts any given file, and searches given folders", async () => {
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

  it("accepts absolute paths, even outside of the working folder", async () => {
    const elsewhere = await workspace({ "a.yaml": yaml });
    expect(await found({}, [elsewhere])).toEqual([join(elsewhere, "a.yaml")]);
  });

  it("names every path that does not exist", async () => {
    const files = { "a.yaml": yaml, "evals/notes.yaml": yaml };
    expect(await complaint(found(files, ["evals/note.yaml"]))).toBe(
      'error: There is no file or folder "evals/note.yaml".\n  Did you mean "evals/notes.yaml"?',
    );
    expect(await complaint(found(files, ["gone.yaml", "a.yaml", "c"]))).toBe(
      'error: There is no file or folder "gone.yaml".\n  Give a suite file, a skill package, or a folder that contains them.\nerror: There is no file or folder "c".\n  Give a suite file, a skill package, or a folder that contains them.',
    );
    for (const address of ["127.0.0.1:3000/mcp", "localhost:3000", "localhost/mcp"])
      expect(await complaint(found(files, [address]))).toContain(
        `A URL begins with http:// or https://: http://${address}`,
      );
  });

  it.each([
    [".mcp.json", "the configuration of a host"],
    ["tools.json", "a tool list"],
    ["https://example.com/mcp", "the URL of a server"],
    ["node server.mjs", "the command line of a server"],
  ])("says what %s is, and how to get a suite for it", async (path, what) => {
    const files = { ".mcp.json": '{"mcpServers": {"a": {"command": "node"}}}', "tools.json": "[]" };
    const hint = `Draft a suite for it with \`evals init ${path.includes(" ") ? `"${path}"` : path}\`, then name that.`;
    expect(await complaint(found(files, [path]))).toBe(`error: "${path}" is ${what}, not a suite.\n  ${hint}`);
  });

  it("finds nothing in a folder without suites", async () => {
    const folder = await workspace({ "a/x.txt": "" });
    await writeFile(join(folder, "a/tools.json"), "[]");
    expect(await discover(["a"], folder)).toMatchObject({ files: [], packages: [], warnings: [] });
  });

  it("finds the packages that hosts look for in hidden folders", async () => {
    const files = {
      ".claude/skills/pdf/SKILL.md": "---\nname: pdf\ndescription: X.\n---\n",
      ".github/skills/csv/SKILL.md": "---\nname: csv\ndescription: X.\n---\n",
      ".github/workflows/ci.yml": yaml,
    };
    expect(await packagesIn(files, ["."])).toEqual([".claude/skills/pdf", ".github/skills/csv"]);
    expect(await found(files, ["."])).toEqual([]);
  });

  it("warns about files with cases of another format, and does not load them", async () => {
    const folder = await workspace({
      "evals/evals.json": '{"skill_name": "pdf", "evals": [{"id": 1, "prompt": "hi"}, {"id": 2, "prompt": "ho"}]}',
      "tests/cases.json": '{"cases": [{"args": ["--help"], "assert": "usage"}]}',
      "evals/mistyped.yaml": "cases:\n  - { inptu: hi, expect: { tool: none } }\n",
    });
    const { files, warnings } = await discover(["."], folder);
    expect(files).toEqual(["evals/mistyped.yaml"]);
    expect(warnings.map(formatProblem)).toMatchInlineSnapshot(`
      [
        "evals/evals.json: warning: Not read: 2 cases of the skill "pdf". There is no SKILL.md beside the folder.
        Move the file to evals/evals.json in the package of "pdf".",
        "tests/cases.json: warning: Not read: 1 case of another format. None has "input", "messages" or "expect".
        Run \`evals schema\` for the format of suites.",
      ]
    `);
  });
});

it.each([
  [
    "the evals of a skill's triggers",
    "triggers.json",
    '[{ "query": "Fill in a form", "should_trigger": true }]',
    "paths",
  ],
  ["a list of tools", "list.json", '[{ "name": "read" }]', "tools"],
  ["an answer to tools/list", "answer.json", '{ "tools": [] }', "tools"],
  ["a suite", "suite.yaml", "cases: []", "paths"],
])("a word on the command line names %s", async (_, file, content, named) => {
  expect(await recognize(file, await workspace({ [file]: content }))).toBe(named);
});

it.runIf(process.platform !== "win32").each([
  ["server", "#!/usr/bin/env python3\nimport re\n"],
  ["server.js", "#!/usr/bin/env node\nimport x from 'x'\n"],
])("a word on the command line that names the program %s is a command line", async (file, content) => {
  const folder = await workspace({ [`bin/${file}`]: content });
  await chmod(join(folder, "bin", file), 0o755);
  expect(await recognize(`bin/${file}`, folder)).toBe("server");
});

it.each([
  ["dist/main.js", "node dist/main.js"],
  ["server.py", "python server.py"],
])("says how to start %s, which does not start by its name", async (file, line) => {
  const folder = await workspace({ [file]: "import re\n" });
  expect(await complaint(recognize(file, folder))).toBe(
    `error: "${file}" is a program.\n  Name the command line that starts it, in quotes: "${line}".`,
  );
});
