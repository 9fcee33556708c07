import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSuites } from "../../../src/evals/input/suites/load.ts";
import { complaint, type Files, workspace } from "./workspace.ts";

const suite = (head: string, ...cases: string[]) =>
  `${head}\ncases:\n${cases.map((one) => `  - { input: hi, expect: { files: { out.md: ok } }, ${one} }\n`).join("")}`;

async function read(text: string, files: Files = {}) {
  const cwd = await workspace({ "evals/s.yaml": text, ...files });
  const { suites, warnings } = await loadSuites(["evals/s.yaml"], { cwd });
  return { cases: suites[0]?.cases ?? [], warnings };
}

const show = (files: readonly { path: string; content: string }[] | undefined) =>
  files?.map(({ path, content }) => `${path}: ${content}`);

describe("files of the workspace", () => {
  it("are files, folders with everything in them, and text, those of a case over those of the suite", async () => {
    const head = "files: [notes, { path: a.txt, content: written }, { path: ., from: repo }]";
    const own = "files: { path: notes/one.md, content: other }";
    const { cases } = await read(suite(head, "id: shared", `id: own, ${own}`, "id: none, files: []"), {
      "evals/notes/one.md": "one",
      "evals/notes/deep/two.md": "two",
      "evals/repo/evals/README": "read me",
      "evals/repo/main.py": "pass",
    });
    const shared = ["notes/deep/two.md: two", "a.txt: written", "evals/README: read me", "main.py: pass"];
    expect(show(cases[0]?.files)?.sort()).toEqual([...shared, "notes/one.md: one"].sort());
    expect(show(cases[1]?.files)?.sort()).toEqual([...shared, "notes/one.md: other"].sort());
    expect(show(cases[2]?.files)?.sort()).toEqual(show(cases[0]?.files)?.sort());
    expect(new Set(cases.map(({ hash }) => hash)).size).toBe(2);
  });

  it("are absent where a suite names none, and their cases have turns to read and write them", async () => {
    const plain = "cases: [{ input: hi, expect: { tool: a } }]";
    expect((await read(plain)).cases[0]).toMatchObject({ maxTurns: 1 });
    expect((await read(plain)).cases[0]).not.toHaveProperty("files");
    expect((await read(`files: []\n${plain}`)).cases[0]).toMatchObject({ files: [], maxTurns: 8 });
  });

  it("must be text: others are skipped with a warning", async () => {
    const whole = await read(suite("files: data", "id: a"), {
      "evals/data/a.bin": new Uint8Array([0, 1, 2]),
      "evals/data/b.txt": "b",
    });
    expect(show(whole.cases[0]?.files)).toEqual(["data/b.txt: b"]);
    expect(whole.warnings).toEqual([
      expect.objectContaining({ severity: "warning", message: expect.stringContaining("data/a.bin") }),
    ]);
  });
});

describe("bad input", () => {
  const complain = async (head: string, one: string, files: Files = {}) => {
    const cwd = await workspace({ "evals/s.yaml": suite(head, one), ...files });
    symlinkSync("/etc", join(cwd, "evals/link"));
    return await complaint(loadSuites(["evals/s.yaml"], { cwd }));
  };
  it.each([
    ["a file that is missing", "files: gone.md", 'evals/s.yaml:1:8: error: There is no file "gone.md".'],
    ["a path above the suite", "files: ../up.md", '"../up.md" is absolute or outside of the folder of the suite.'],
    ["an absolute path", "files: /etc/passwd", '"/etc/passwd" is absolute or outside of the folder of the suite.'],
    ["a target outside", 'files: { path: "../x", content: a }', '"../x" is absolute or outside of the folder'],
    ["a source outside", "files: { path: x, from: ../up.md }", '"../up.md" is absolute or outside of the folder'],
    ["a link leading out", "files: link/hostname", '"link/hostname" cannot be read: it is a link to a place outside'],
    ["a folder behind a link", "files: link", "is a link to a place outside"],
    ["the folder itself", "files: { path: ., content: a }", 'The file "." is the folder itself.'],
    ["nested", "files: [{ path: x, content: a }, { path: x/y, content: b }]", '"x/y" is in "x", which is a file.'],
    ["a source and a text", "files: { path: x, from: a, content: b }", "needs one of `content` and `from`"],
  ])("%s", async (_, head, message) => {
    expect(await complain(head, "id: a", { "up.md": "up" })).toContain(message);
  });

  it("a file of a case in a file of the suite", async () => {
    const own = "id: a, files: { path: x/y, content: b }";
    expect(await complain("files: { path: x, content: a }", own)).toContain('"x/y" is in "x", which is a file.');
  });

  it.each([
    ["a path outside", "{ ../x: a }", '"../x" is not a path in the workspace.'],
    ["the workspace itself", "{ .: a }", '"." is not a path in the workspace.'],
    ["an unknown matcher", "{ a.md: { $contian: a } }", "$contian"],
  ])("an expected file with %s", async (_, files, message) => {
    const text = `cases: [{ input: hi, expect: { files: ${files} } }]`;
    const cwd = await workspace({ "evals/s.yaml": text });
    expect(await complaint(loadSuites(["evals/s.yaml"], { cwd }))).toContain(message);
  });

  it("refuses expected files of one turn", async () => {
    const text = "cases: [{ turns: [{ input: hi, expect: { files: { a: b } } }] }]";
    const cwd = await workspace({ "evals/s.yaml": text });
    expect(await complaint(loadSuites(["evals/s.yaml"], { cwd }))).toContain(
      '"files" is about the whole conversation, not about one turn.',
    );
  });
});
