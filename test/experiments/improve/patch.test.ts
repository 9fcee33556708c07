import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makePatch } from "../../../src/evals/experiments/improve/patch.ts";
import { workspace } from "../../input/suites/workspace.ts";

const change = (label: string, before: string, after: string) => ({ label, before, after });

it("changes what stands exactly once in tracked sources, in the way it is written there", async () => {
  const dir = await workspace({
    "server.ts": 'tool("read", "Reads the \\"text\\" of a file.");\ntool("list", "Lists a folder here.");\n',
    "other.py": "LIST = 'Lists a folder here.'\nMOVE = 'Moves one file\\'s text.'\n",
    "SKILL.md": "---\nname: tax\ndescription: Computes the tax of a sale.\n---\n",
    "untracked.ts": 'const text = "Deletes one file for good.";\n',
  });
  mkdirSync(join(dir, "evals/baselines"), { recursive: true });
  writeFileSync(join(dir, "evals/baselines/a.json"), JSON.stringify(['Reads the "text" of a file.']));
  const git = (...args: string[]) => execFileSync("git", args, { cwd: dir, encoding: "utf8" });
  git("init", "-q");
  git("add", "server.ts", "other.py", "SKILL.md", "evals");
  const { patch, left } = await makePatch(
    [
      change("read: description", 'Reads the "text" of a file.', 'Shows the "text" of one file.'),
      change("list: description", "Lists a folder here.", "Lists a folder."),
      change("move: description", "Moves one file's text.", "Moves the text of one file's $& parts."),
      change("delete: description", "Deletes one file for good.", "Deletes a file."),
      change("skill:tax: description", "Computes the tax of a sale.", "Computes taxes: of sales, of imports."),
      change("stat: description", "Stats.", "Gives the size."),
      { label: "new: description", after: "It is new." },
    ],
    ["reports", "evals/baselines"],
    { cwd: dir, env: process.env },
  );
  const byHand = ["list", "delete", "skill:tax", "stat", "new"];
  expect(left).toEqual(byHand.map((name) => `${name}: description`));
  writeFileSync(join(dir, "wording.diff"), patch);
  git("apply", "wording.diff");
  expect(readFileSync(join(dir, "server.ts"), "utf8")).toContain('"Shows the \\"text\\" of one file."');
  expect(readFileSync(join(dir, "other.py"), "utf8")).toContain("'Moves the text of one file\\'s $& parts.'");
});

it("patches nothing outside of a repository", async () => {
  const dir = await workspace({ "server.ts": "Lists a folder here." });
  const options = { cwd: dir, env: { ...process.env, GIT_CEILING_DIRECTORIES: join(dir, "..") } };
  expect(await makePatch([change("list", "Lists a folder here.", "Lists.")], [], options)).toEqual({
    patch: "",
    left: ["list"],
  });
});
