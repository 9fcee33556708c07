import { mkdirSync, renameSync, truncateSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../../src/evals/base/types/errors.ts";
import { type Discovery, discoverSkills } from "../../../src/evals/input/skills/discover.ts";
import { findHostSkills } from "../../../src/evals/input/skills/hosts.ts";
import { skillText, workspace, write } from "./workspace.ts";

/** Every skill as `name level file`, and the rest as it is. */
function told({ skills, warnings, ...rest }: Discovery) {
  return {
    skills: skills.map(({ name, level, file }) => `${name} ${level} ${file}`),
    warnings: warnings.map(formatProblem),
    ...rest,
  };
}

/** What is found in these folders of a home and a project. Claude Code prefers the user's skills, others the project's. */
async function discover(cwd: string, host = "plain", hostDirs: readonly string[] = [".claude", ".agents"]) {
  const location = { home: join(cwd, "home"), cwd: join(cwd, "project"), env: {}, withUser: true };
  const { roots, rules } = findHostSkills(host, location, hostDirs);
  return told(await discoverSkills(roots, { cwd, rules }));
}

async function named(cwd: string, ...dirs: string[]) {
  const roots = dirs.map((dir) => ({ dir, level: "named" as const }));
  return await discoverSkills(roots, { cwd });
}

describe("discovery", () => {
  it("looks in the folders of a host that was not measured as the format says, those of the user where they count", () => {
    const location = { home: "/h", cwd: "/p", env: {} };
    const rootsOf = (...args: Parameters<typeof findHostSkills>) =>
      findHostSkills(...args).roots.map(({ dir, level }) => `${level} ${dir}`);
    expect(rootsOf("plain", { ...location, withUser: true })).toEqual([
      "user /h/.claude/skills",
      "user /h/.agents/skills",
      "project /p/.claude/skills",
      "project /p/.agents/skills",
    ]);
    expect(rootsOf("plain", { ...location, withUser: false })).toEqual([
      "project /p/.claude/skills",
      "project /p/.agents/skills",
    ]);
    expect(rootsOf("codex", { ...location, withUser: false }, [".gemini"])).toEqual(["project /p/.gemini/skills"]);
  });

  it("leaves out what is the user's where only the project counts", () => {
    const location = { home: "/h", cwd: "/h/p", env: { CODEX_HOME: "/c" }, withUser: false };
    expect(findHostSkills("claude-code", location).roots).toEqual([{ dir: "/h/p/.claude/skills", level: "project" }]);
    expect(findHostSkills("codex", location).roots.map(({ dir }) => dir)).toEqual([
      "/h/p/.codex/skills",
      "/h/p/.agents/skills",
    ]);
  });

  it("looks in the folders above up to the root of the repository, else up to the home", () => {
    const home = workspace({ "repo/a/b/in.txt": "", "loose/a/in.txt": "" });
    mkdirSync(join(home, "repo/.git"));
    const foldersOf = (host: string, ...path: string[]) =>
      findHostSkills(host, { home, cwd: join(home, ...path), env: {}, withUser: false }).roots.map(({ dir }) =>
        relative(home, dir),
      );
    expect(foldersOf("claude-code", "repo/a/b")).toEqual(
      ["repo/a/b", "repo/a", "repo"].map((folder) => `${folder}/.claude/skills`),
    );
    expect(foldersOf("claude-code", "loose/a")).toEqual(["loose/a/.claude/skills", "loose/.claude/skills"]);
    expect(foldersOf("codex", "repo/a")).toEqual(
      ["repo/a", "repo"].flatMap((folder) => [`${folder}/.codex/skills`, `${folder}/.agents/skills`]),
    );
  });

  it("finds nothing without folders of skills", async () => {
    const none = { skills: [], warnings: [], shadowed: [], skipped: [] };
    expect(await discover(workspace({}))).toEqual(none);
    expect(
      await discover(workspace({ "project/.claude/skills": "a file", "home/.claude/skills/README.md": "" })),
    ).toEqual({ ...none, skipped: [{ file: "project/.claude/skills", reason: "it is not a folder" }] });
  });

  it.each([
    ["project", "plain"],
    ["user", "claude-code"],
  ])("loads of equal names the one that the host prefers: %s", async (_, host) => {
    const cwd = workspace({
      "home/.claude/skills/same/SKILL.md": skillText("same"),
      "home/.agents/skills/same/SKILL.md": skillText("same"),
      "home/.claude/skills/mine/SKILL.md": skillText("mine"),
      "project/.agents/skills/same/SKILL.md": skillText("same"),
      "project/.claude/skills/Same/SKILL.md": skillText("Same"),
    });
    expect(await discover(cwd, host)).toMatchSnapshot();
  });

  it("takes host directories in the order given", async () => {
    const cwd = workspace({
      "project/.a/skills/same/SKILL.md": skillText("same"),
      "project/.b/skills/same/SKILL.md": skillText("same"),
    });
    expect((await discover(cwd, "plain", [".b", ".a"])).skills).toEqual([
      "same project project/.b/skills/same/SKILL.md",
    ]);
    expect((await discover(cwd, "project", [".a", ".b"])).skills).toEqual([
      "same project project/.a/skills/same/SKILL.md",
    ]);
  });

  it("reports why a package is passed over", async () => {
    const skills = "project/.claude/skills";
    const cwd = workspace({
      [`${skills}/a/SKILL.md`]: skillText("same"),
      [`${skills}/b/SKILL.md`]: skillText("same"),
      [`${skills}/bare/SKILL.md`]: "# Bare\n",
      [`${skills}/empty/notes.md`]: "",
      [`${skills}/lower/skill.md`]: skillText("lower"),
      [`${skills}/nowhere`]: { link: "missing" },
      [`${skills}/folder/SKILL.md/x`]: "",
      [`${skills}/latin/SKILL.md`]: new Uint8Array([0x2d, 0x2d, 0x2d, 0x0a, 0xe4]),
      [`${skills}/zero/SKILL.md`]: `${skillText("zero")}\0`,
      [`${skills}/huge/SKILL.md`]: skillText("huge") + "x".repeat(1024 * 1024),
      [`${skills}/.hidden/SKILL.md`]: skillText("hidden"),
      [`${skills}/README.md`]: "not a package",
      [`${skills}/link.md`]: { link: "README.md" },
    });
    expect(await discover(cwd)).toMatchSnapshot();
  });

  it("resolves links, and takes a package that several lead to as one", async () => {
    const cwd = workspace({
      "shared/real/SKILL.md": skillText("linked"),
      "home/.claude/skills/linked": { link: "../../../shared/real" },
      "project/.claude/skills/linked": { link: "../../../shared/real" },
      "project/.claude/skills/loop": { link: "." },
      "project/.claude/skills/self": { link: "self" },
      "project/.agents": { link: ".claude" },
    });
    const found = await discover(cwd);
    expect(found).toMatchObject({
      skills: ["linked project project/.claude/skills/linked/SKILL.md"],
      shadowed: [],
      warnings: [],
    });
    const [skill] = (await named(cwd, "project/.claude/skills")).skills;
    expect(skill).toMatchObject({ dir: join(cwd, "shared/real"), folder: "linked" });
  });

  it("follows no link out of a package", async () => {
    const cwd = workspace({
      "secret.md": skillText("secret"),
      "skills/out/SKILL.md": { link: "../../secret.md" },
      "skills/in/SKILL.md": { link: "docs/skill.md" },
      "skills/in/docs/skill.md": skillText("in"),
      "skills/in/docs/secret": { link: "../../../secret.md" },
      "skills/in/docs/nowhere": { link: "gone" },
      "skills/in/docs/up": { link: ".." },
    });
    const { dir, ...rest } = { dir: cwd, ...told(await named(cwd, "skills")) };
    expect(rest).toEqual({
      skills: ["in named skills/in/SKILL.md"],
      shadowed: [],
      skipped: [
        {
          file: "skills/out/SKILL.md",
          reason: `SKILL.md cannot be loaded: it is a link to a place outside of ${join(dir, "skills/out")}`,
        },
      ],
      warnings: [
        "skills/in/docs/nowhere: warning: The link leads nowhere and is not followed.\n  Put the file into the package: a host that copies the package would lose it.",
        "skills/in/docs/secret: warning: The link leads outside of the package and is not followed.\n  Put the file into the package: a host that copies the package would lose it.",
      ],
    });
  });

  it("reads a named folder as a package or a folder of packages, before those of hosts", async () => {
    const cwd = workspace({
      "mine/one/SKILL.md": skillText("one"),
      "two/SKILL.md": skillText("two"),
      ".claude/skills/two/SKILL.md": skillText("two"),
    });
    const roots = [
      { dir: ".claude/skills", level: "project" as const },
      ...["mine", "two", "gone"].map((dir) => ({ dir, level: "named" as const })),
    ];
    expect(told(await discoverSkills(roots, { cwd }))).toEqual({
      skills: ["one named mine/one/SKILL.md", "two named two/SKILL.md"],
      warnings: [],
      shadowed: [
        {
          name: "two",
          file: ".claude/skills/two/SKILL.md",
          by: "two/SKILL.md",
          reason: "a named folder takes precedence over those of a host",
        },
      ],
      skipped: [{ file: "gone", reason: "the folder does not exist" }],
    });
  });

  it("leaves out a package that is too large to be one", async () => {
    const files = Array.from({ length: 2_100 }, (_, n) => [`skills/many/assets/${n}.txt`, ""] as const);
    const cwd = workspace({ ...Object.fromEntries(files), "skills/many/SKILL.md": skillText("many") });
    expect((await named(cwd, "skills")).skipped).toEqual([]);
    truncateSync(join(cwd, "skills/many/assets/7.txt"), 65 * 1024 * 1024);
    expect((await named(cwd, "skills")).skipped).toEqual([
      { file: "skills/many/SKILL.md", reason: "its files hold more than 64 MiB" },
    ]);
  });
});

describe("the hash of a package", () => {
  const base = { "skills/demo/SKILL.md": skillText("demo"), "skills/demo/scripts/run.sh": "echo a\n" };
  const hashOf = async (folder: string) => (await named(folder, "skills")).skills[0]?.hash ?? "";

  it("covers what decides its behavior, but not its location", async () => {
    const first = await hashOf(workspace(base));
    const left = { "evals/evals.json": "[]", ".git/HEAD": "x", "scripts/__pycache__/run.pyc": "x" };
    const more = Object.fromEntries(Object.entries(left).map(([path, text]) => [`skills/demo/${path}`, text]));
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(await hashOf(workspace({ ...base, ...more }))).toBe(first);
    const elsewhere = workspace({ "real/SKILL.md": skillText("demo"), "real/scripts/run.sh": "echo a\n" });
    write(elsewhere, { "skills/demo": { link: "../real" } });
    expect(await hashOf(elsewhere)).toBe(first);
  });

  it("changes with every content, path and link", async () => {
    const folder = workspace(base);
    const moved = workspace(base);
    renameSync(join(moved, "skills/demo/scripts/run.sh"), join(moved, "skills/demo/run.sh"));
    const hashes = [
      await hashOf(folder),
      await hashOf(moved),
      await hashOf(workspace({ ...base, "skills/demo/scripts/run.sh": "echo b\n" })),
      await hashOf(workspace({ ...base, "skills/demo/SKILL.md": skillText("demo", "Else.") })),
      await hashOf(workspace({ ...base, "skills/demo/new.md": "" })),
      await hashOf(workspace({ ...base, "skills/demo/new.md": { link: "SKILL.md" } })),
      await hashOf(workspace({ ...base, "skills/demo/new.md": { link: "scripts/run.sh" } })),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});
