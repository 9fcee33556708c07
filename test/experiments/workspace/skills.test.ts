import { realpathSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  findNamedSkills,
  findOfferedSkills,
  makeSkillSuites,
} from "../../../src/evals/experiments/workspace/skills.ts";
import type { HostName } from "../../../src/evals/servers/host.ts";
import { anIo } from "../../fakes/io.ts";
import { skillText, workspace } from "../../input/skills/workspace.ts";

const offeredWith = async (folder: string, cwd: string, path: string) => {
  const [offered] = await findNamedSkills([path], undefined, anIo({ cwd: join(folder, cwd) }));
  return { offered: offered?.skills.map(({ name }) => name), asked: offered?.subjects.map(({ name }) => name) };
};

describe("the skills that are offered with a package", () => {
  it("exclude those outside of its repository", async () => {
    const folder = workspace({
      "mine/SKILL.md": skillText("mine"),
      "mine/.git/HEAD": "ref: refs/heads/main\n",
      "unrelated/SKILL.md": skillText("unrelated"),
    });
    for (const [cwd, path] of [
      ["mine", "."],
      [".", "mine"],
    ] as const)
      expect(await offeredWith(folder, cwd, path)).toEqual({ offered: ["mine"], asked: ["mine"] });
  });

  it("are the others in its folder of the same repository, from any working directory", async () => {
    const folder = workspace({
      "repository/.git/HEAD": "ref: refs/heads/main\n",
      "repository/skills/one/SKILL.md": skillText("one"),
      "repository/skills/two/SKILL.md": skillText("two"),
    });
    for (const [cwd, path] of [
      ["repository", "skills/one"],
      ["repository/skills/one", "."],
      [".", "repository/skills/one"],
    ] as const)
      expect(await offeredWith(folder, cwd, path)).toEqual({ offered: ["one", "two"], asked: ["one"] });
  });

  it("are the others in its folder below the current folder without a repository", async () => {
    const folder = workspace({ "skills/one/SKILL.md": skillText("one"), "skills/two/SKILL.md": skillText("two") });
    expect(await offeredWith(folder, ".", "skills/one")).toMatchObject({ offered: ["one", "two"] });
    expect(await offeredWith(folder, "skills/one", ".")).toMatchObject({ offered: ["one"] });
  });
});

it("says once of all skills that their expected behavior is not graded without a judge", async () => {
  const evals = (...steps: string[]) =>
    JSON.stringify({ evals: [{ id: 1, prompt: "Do it", should_trigger: true, expected_behavior: steps }] });
  const folder = workspace({
    "skills/one/SKILL.md": skillText("one"),
    "skills/one/evals/evals.json": evals("It writes a file", "It says so"),
    "skills/two/SKILL.md": skillText("two"),
    "skills/two/evals/evals.json": evals("It asks first"),
    "skills/three/SKILL.md": skillText("three"),
    "skills/three/evals/evals.json": evals(),
  });
  const io = anIo({ cwd: folder });
  const paths = ["skills/one", "skills/two", "skills/three"];
  const warn = async (judge?: string) =>
    (await makeSkillSuites(await findNamedSkills(paths, undefined, io), { judge }, io)).warnings;
  expect(await warn("anthropic:x")).toEqual([]);
  expect(await warn()).toEqual([
    {
      severity: "warning",
      message: "The expected behavior of 2 skills (3 sentences) is not graded, only whether they are loaded: one, two.",
      hint: "Name a judge with --judge <model>.",
    },
  ]);
});

describe("the skills of hosts", () => {
  it("include those of the user only with userSkills", async () => {
    const folder = realpathSync(
      workspace({
        "home/.claude/skills/private/SKILL.md": skillText("private"),
        "project/.claude/skills/shared/SKILL.md": skillText("shared"),
      }),
    );
    const io = anIo({ cwd: join(folder, "project"), env: { HOME: join(folder, "home") } });
    const names = async (userSkills?: boolean) =>
      (await findOfferedSkills({ userSkills }, io)).skills.map(({ name }) => name);
    expect(await names()).toEqual(["shared"]);
    expect(await names(true)).toEqual(["private", "shared"]);
  });

  it("have the description that their host shows", async () => {
    const skill = "---\nname: pdf\ndescription: |\n  Fills in\n  forms.\nwhen_to_use: For PDF files\n---\n\nDo it.\n";
    const io = anIo({ cwd: workspace({ ".claude/skills/pdf/SKILL.md": skill }) });
    const describe = async (host?: HostName) =>
      (await findOfferedSkills({ host }, io)).skills.map(({ description }) => description);
    expect(await describe("claude-code")).toEqual(["Fills in forms. - For PDF files"]);
    expect(await describe()).toEqual(["Fills in\nforms."]);
  });
});
