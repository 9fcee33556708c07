import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EvalsError } from "../../src/evals/base/types/errors.ts";
import { listSkills } from "../../src/evals/inspection/tools.ts";
import { anIo } from "../fakes/io.ts";
import { type Files, skillText, workspace } from "../input/skills/workspace.ts";

const files: Files = {
  "home/.claude/skills/same/SKILL.md": skillText("same"),
  ".claude/skills/same/SKILL.md": skillText("same"),
  ".claude/skills/same/evals/evals.json":
    '[{ "input": "a", "checks": ["c"], "tag": 1 }, { "input": "b", "should_trigger": false }]',
  ".agents/skills/bare/SKILL.md": "# Bare\n",
  "mine/one/SKILL.md": skillText("one"),
};

/** What the command prints for these flags in a project, and what it exits with. */
async function list(project: Files, flags: Partial<Parameters<typeof listSkills>[0]> = {}) {
  const cwd = workspace(project);
  const io = anIo({ cwd, width: 110, env: { HOME: join(cwd, "home") } });
  const code = await listSkills({ host: "plain", json: false, ...flags }, io);
  const clean = (text: string) => text.replaceAll(cwd, "<cwd>");
  return { code, out: clean(io.printed()), err: clean(io.warned()) };
}

describe("evals tools --skills", () => {
  it("prints what is loaded, then what is passed over, and warnings apart", async () => {
    const { code, out, err } = await list(files, { dir: ["mine"] });
    expect(code).toBe(0);
    expect(out).toMatchSnapshot();
    expect(err).toMatchInlineSnapshot(`
      ".claude/skills/same/evals/evals.json:1:35: warning: "tag" in 1 entry is unknown and ignored.
        Did you mean "tags"?
      "
    `);
  });

  it("loads of equal names what the host would load", async () => {
    expect((await list(files, { host: "claude-code", json: true })).out).toContain('"level": "user"');
    expect((await list(files, { host: "copilot", json: true })).out).toContain('"level": "project"');
  });

  it("lists what Claude Code shows: folder names, plugins and settings, and nothing of .agents", async () => {
    const plugin = "home/.claude/plugins";
    const { code, out } = await list(
      {
        ...files,
        ".claude/skills/folder/SKILL.md": skillText("other"),
        ".claude/skills/bare/SKILL.md": "# Bare\n",
        ".claude/skills/shy/SKILL.md": "---\nname: shy\ndescription: Hides.\ndisable-model-invocation: yes\n---\n",
        ".claude/skills/off/SKILL.md": skillText("off"),
        ".claude/settings.json": '{ "skillOverrides": { "off": "off" } }',
        "home/.claude/settings.json": '{ "enabledPlugins": { "kit@shop": true } }',
        [`${plugin}/installed_plugins.json`]: '{ "version": 2, "plugins": { "kit@shop": [{ "installPath": "/no" }] } }',
        [`${plugin}/known_marketplaces.json`]: "not JSON",
      },
      { host: "claude-code" },
    );
    expect(code).toBe(0);
    await expect(out).toMatchFileSnapshot("snapshots/claudeCode.txt");
  });

  it("lists what Codex shows: both of one name, folders of folders, and no closed skill", async () => {
    const { code, out } = await list(
      {
        "home/.agents/skills/same/SKILL.md": skillText("same"),
        ".agents/skills/group/same/SKILL.md": skillText("same"),
        ".codex/skills/closed/SKILL.md": skillText("closed"),
        ".codex/skills/closed/agents/openai.yaml": "policy:\n  allow_implicit_invocation: false\n",
        ".claude/skills/other/SKILL.md": skillText("other"),
      },
      { host: "codex" },
    );
    expect(code).toBe(0);
    expect(out).toMatchSnapshot();
  });

  it("lists the searched folders when there is no skill", async () => {
    const { code, out } = await list({}, { hostDir: [".gemini"] });
    expect([code, out]).toEqual([
      0,
      "No skill was found\n  Next: name the folders that hold skills with `--host-dir`.\n  Searched:\n  <cwd>/home/.gemini/skills\n  <cwd>/.gemini/skills\n",
    ]);
  });

  it("exits with 2 when an eval file is invalid, after listing", async () => {
    const wrong = { ...files, ".claude/skills/same/evals/triggers.json": "[" };
    const { code, out, err } = await list(wrong);
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/^\.claude\/skills\/same\/evals\/triggers\.json:1:2: error: /),
    ]);
    expect(out).toMatch(/same +project +unreadable/);
  });

  it("refuses a folder that does not exist", async () => {
    await expect(list(files, { dir: ["gone"] })).rejects.toThrow(EvalsError);
    await expect(list(files, { dir: ["gone"] })).rejects.toThrow(/The folder "gone"/);
  });
});
