import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { exitCodes } from "../../src/evals/base/types/errors.ts";
import type { Finding } from "../../src/evals/base/types/finding.ts";
import { folderInRepository } from "../../src/evals/input/parsing/folders.ts";
import { printFindings } from "../../src/evals/inspection/findings.ts";
import { heading } from "../../src/evals/reports/document.ts";
import { fromRoot } from "../../src/evals/reports/findings.ts";
import { makeFolder } from "../fakes/folder.ts";
import { anIo } from "../fakes/io.ts";

const root = makeFolder();
const folder = join(root, "packages/a");
mkdirSync(folder, { recursive: true });

const finding: Finding = {
  ...{ rule: "rule", severity: "error", message: "It is wrong.", fix: "Mend it." },
  location: { file: "evals/notes.yaml", line: 3 },
};

function print(format: "github" | "sarif"): string {
  const io = anIo({ cwd: folder });
  const list = {
    ...{ command: "lint", findings: [finding], problems: [], rules: [] },
    ...{ failOn: "error" as const, exitCode: exitCodes.failed },
  };
  const document = () => [heading(1, "FAILED")];
  printFindings({ format, json: false }, { report: {}, document, list, warnings: [] }, io);
  return io.printed();
}

it.each([
  ["github", "file=evals/notes.yaml", "file=packages/a/evals/notes.yaml"],
  ["sarif", '"uri": "evals/notes.yaml"', '"uri": "packages/a/evals/notes.yaml"'],
] as const)("names files from the root of the repository, which readers of %s do", (format, outside, inside) => {
  rmSync(join(root, ".git"), { recursive: true, force: true });
  expect(print(format)).toContain(outside);
  mkdirSync(join(root, ".git"));
  expect(print(format)).toContain(inside);
});

it.each([
  ["./a.yaml", "packages/a/a.yaml"],
  ["../b/c.yaml", "packages/b/c.yaml"],
  ["sub\\d.yaml", "packages/a/sub/d.yaml"],
  ["/etc/e.yaml", "/etc/e.yaml"],
  ["C:\\f.yaml", "C:\\f.yaml"],
])("follows the path %s from the working directory", (file, path) => {
  expect(fromRoot(file, "packages/a")).toBe(path);
});

it("finds the path of a folder in its repository", () => {
  mkdirSync(join(root, ".git"), { recursive: true });
  expect([root, folder].map(folderInRepository)).toEqual(["", "packages/a"]);
});
