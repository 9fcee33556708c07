import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { readGitState } from "../../src/evals/experiments/workspace/git.ts";
import { spawnEvals } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import { writeActSuite } from "../fixtures/actSuite.ts";

let dir: string;
let ran: string;
const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x@example.com", ...args], {
    cwd: join(dir, "project"),
    encoding: "utf8",
    env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  }).trim();
const write = (name: string, content: string) => writeFileSync(join(dir, "project", name), content);

beforeEach(() => {
  dir = makeFolder();
  ran = join(dir, "ran");
  mkdirSync(ran);
  writeActSuite(join(dir, "project"), 1, {}, "evals/s.json");
  write("data.bin", "one");
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "first");
});

/** A repository whose configuration names a program wherever git runs one while it reads. */
function poison(): void {
  const touch = (name: string) => `touch '${join(ran, name)}'; cat`;
  write(".gitattributes", '*.bin filter=x\n*.json filter="a=b.c"\n');
  git("add", ".gitattributes");
  git("commit", "-qm", "attributes");
  const hooks = join(dir, "hooks");
  mkdirSync(hooks);
  for (const name of ["post-index-change", "fsmonitor-watchman", "reference-transaction"]) {
    writeFileSync(join(hooks, name), `#!/bin/sh\ntouch '${join(ran, name)}'\n`);
    chmodSync(join(hooks, name), 0o755);
  }
  // In the file, because its own commands would be run by the next ones here.
  const programs = [
    `[core]\n\tfsmonitor = ${join(hooks, "fsmonitor-watchman")}\n\thooksPath = ${hooks}\n\tpager = ${JSON.stringify(touch("pager"))}`,
    `\tsshCommand = ${JSON.stringify(touch("ssh"))}\n[filter "x"]\n\tclean = ${JSON.stringify(touch("clean"))}\n\trequired = true`,
    `[filter "a=b.c"]\n\tprocess = ${JSON.stringify(touch("process"))}\n[include]\n\tpath = more`,
    `[diff]\n\texternal = ${JSON.stringify(touch("diff"))}\n[alias]\n\tstatus = !${JSON.stringify(touch("alias"))}`,
  ];
  appendFileSync(join(dir, "project/.git/config"), `${programs.join("\n")}\n`);
  writeFileSync(join(dir, "project/.git/more"), `[filter "y"]\n\tclean = ${JSON.stringify(touch("included"))}\n`);
  // What git has to look at again: the times differ, and the content of one file.
  const later = new Date(Date.now() + 10_000);
  for (const name of ["data.bin", "tools.json"]) utimesSync(join(dir, "project", name), later, later);
}

it("a repository whose configuration names programs has none of them run", async () => {
  poison();
  const project = { cwd: join(dir, "project"), env: process.env };
  expect(await readGitState(project)).toEqual({ commit: expect.stringMatching(/^[0-9a-f]{40}$/), dirty: false });
  write("data.bin", "two");
  expect(await readGitState(project)).toMatchObject({ dirty: true });
  const { code, err } = await spawnEvals(["run", "--json"], { cwd: project.cwd });
  expect(code, err).toBe(0);
  expect(readdirSync(ran)).toEqual([]);
  // They are run by git as it is.
  execFileSync("git", ["status"], { cwd: project.cwd, stdio: "ignore" });
  expect(readdirSync(ran)).not.toEqual([]);
});

it("odd branches, names of files and a broken repository are no matter", async () => {
  const project = { cwd: join(dir, "project"), env: process.env };
  write("-rf\n::error::x", "x");
  git("add", "-A");
  git("commit", "-qm", "odd");
  git("checkout", "-q", "-b", "odd/$(touch-x)`id`");
  expect(await readGitState(project)).toMatchObject({ dirty: false });
  writeFileSync(join(project.cwd, ".git/HEAD"), "ref: refs/heads/../../../etc/passwd\n");
  expect(await readGitState(project)).toBeUndefined();
  const { code, err } = await spawnEvals(["run", "--json"], { cwd: project.cwd });
  expect(code, err).toBe(0);
});
