import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readProject, writeProject } from "../../../src/evals/asking/hosts/run.ts";
import type { SkillPackage } from "../../../src/evals/base/types/skill.ts";
import { parseSkill } from "../../../src/evals/input/skills/package.ts";
import { makeFolder } from "../../fakes/folder.ts";

const host = { name: "Claude Code", skillFolder: ".claude/skills", configFolders: /^\.claude$/i };

describe("the project of a trial", () => {
  const filesIn = (dir: string) =>
    existsSync(dir) ? readdirSync(dir, { recursive: true, encoding: "utf8" }).sort() : [];
  const skillIn = (dir: string, front: string): SkillPackage => {
    const text = `---\nname: pdf\n${front}\n---\n# Pdf\n\n1. Make it.\n`;
    writeFileSync(join(dir, "SKILL.md"), text);
    const parsed = parseSkill(text, { folder: "pdf", file: "SKILL.md" });
    if ("reason" in parsed) throw new Error(parsed.reason);
    const { name, description, document } = parsed;
    return { name, description, document, folder: "pdf", dir, file: "SKILL.md", level: "named", hash: "" };
  };
  const lay = async (skill: SkillPackage) => {
    const project = makeFolder();
    await writeProject(project, host, [skill], []);
    const target = join(project, ".claude/skills/pdf");
    return { files: filesIn(target), text: readFileSync(join(target, "SKILL.md"), "utf8") };
  };

  it("gets a package without its tests, and no link that leads out of it", async () => {
    const dir = makeFolder();
    const skill = skillIn(dir, "description: Makes PDFs.");
    for (const folder of ["evals", "references", "scripts/evals"]) mkdirSync(join(dir, folder), { recursive: true });
    for (const file of ["evals/evals.json", "references/a.md", "scripts/evals/b.sh"])
      writeFileSync(join(dir, file), file);
    symlinkSync(makeFolder(), join(dir, "out"));
    symlinkSync("nowhere", join(dir, "lost"));
    symlinkSync("..", join(dir, "up"));
    symlinkSync(join(dir, "references/a.md"), join(dir, "scripts/a.md"));
    expect(await lay(skill)).toEqual({
      files: "SKILL.md references references/a.md scripts scripts/a.md scripts/evals scripts/evals/b.sh".split(" "),
      text: "---\nname: pdf\ndescription: Makes PDFs.\n---\n# Pdf\n\n1. Make it.\n",
    });
  });

  it("gets the wording under test, and no power that a skill grants itself", async () => {
    const skill = skillIn(makeFolder(), "description: Old.\nlicense: MIT\nallowed-tools: Bash\nhooks: {}");
    const { text } = await lay({ ...skill, description: "New: better." });
    expect(text).toBe('---\nname: pdf\ndescription: "New: better."\nlicense: MIT\n---\n# Pdf\n\n1. Make it.\n');
    expect((await lay(skill)).text).toBe(
      "---\nname: pdf\ndescription: Old.\nlicense: MIT\n---\n# Pdf\n\n1. Make it.\n",
    );
  });

  it("gets a situation only with the skill's own description, which Claude Code shows before it", async () => {
    const skill = skillIn(makeFolder(), "description: |\n  Makes\n  PDFs.\nwhen_to_use: For forms.\nhooks: {}");
    const frontOf = async (description: string) => (await lay({ ...skill, description })).text.split("---")[1];
    expect(await frontOf("Makes PDFs.")).toBe("\nname: pdf\ndescription: Makes PDFs.\nwhen_to_use: For forms.\n");
    expect(await frontOf("Makes PDFs. - For forms.")).toBe("\nname: pdf\ndescription: Makes PDFs. - For forms.\n");
  });

  it("gets front matter and body alone of a package that is gone", async () => {
    const gone = { ...skillIn(makeFolder(), "description: Old."), dir: "" };
    expect(await lay(gone)).toEqual({
      files: ["SKILL.md"],
      text: "---\nname: pdf\ndescription: Old.\n---\n# Pdf\n\n1. Make it.\n",
    });
  });

  it("takes the files of a case, but none outside of it and none that would configure the host", async () => {
    const project = makeFolder();
    await writeProject(project, host, [], [{ path: "a/b.txt", content: "hello" }]);
    expect(readFileSync(join(project, "a/b.txt"), "utf8")).toBe("hello");
    const refused = (path: string) =>
      writeProject(project, host, [], [{ path, content: "" }]).catch(({ message }) => message);
    expect(await Promise.all(["..", "../b.txt", "/etc/b.txt", "", ".Claude/settings.json"].map(refused))).toEqual([
      '".." is not a path inside the project',
      '"../b.txt" is not a path inside the project',
      '"/etc/b.txt" is not a path inside the project',
      '"" is not a path inside the project',
      'the case\'s file ".Claude/settings.json" would configure Claude Code itself',
    ]);
  });

  it("is read after the trial by path, without what configures the host, what is installed, and long files", async () => {
    const project = makeFolder();
    for (const folder of ["b", ".claude", "node_modules"]) mkdirSync(join(project, folder));
    for (const file of ["z.txt", "b/a.txt", ".claude/settings.json", "node_modules/x.js"])
      writeFileSync(join(project, file), "héllo");
    writeFileSync(join(project, "full.txt"), "x".repeat(1024 * 1024));
    writeFileSync(join(project, "long.txt"), "x".repeat(1024 * 1024 + 1));
    symlinkSync("z.txt", join(project, "link.txt"));
    const files = await readProject(project, host);
    expect(files.map(({ path }) => path)).toEqual(["b/a.txt", "full.txt", "z.txt"]);
    expect(files[2]?.content).toBe("héllo");
  });

  it("is read up to 2,000 files", async () => {
    const project = makeFolder();
    for (let n = 0; n < 2_001; n++) writeFileSync(join(project, String(n)), "");
    expect(await readProject(project, host)).toHaveLength(2_000);
  });
});
