import { describe, expect, it } from "vitest";
import { displayWidth } from "../../src/evals/base/text/display.ts";
import { type SkillListing, skillsDocument } from "../../src/evals/inspection/tools.ts";
import { renderTerminal } from "../../src/evals/reports/terminal.ts";

const common = { description: "Does it.", hash: "0".repeat(64) };
const listing: SkillListing = {
  host: "claude-code",
  folders: ["/home/me/.claude/skills"],
  skills: [
    {
      ...common,
      name: "commit-message",
      level: "user",
      file: "/home/me/.claude/skills/commit-message/SKILL.md",
      evals: { positives: 1, negatives: 4, checks: 12 },
    },
    {
      ...common,
      name: "evil\u001b[2J\u202e",
      level: "project",
      file: ".claude/skills/evil/SKILL.md",
      evals: "unreadable",
    },
    {
      ...common,
      name: "untested",
      level: "named",
      file: "mine/untested/SKILL.md",
      evals: { positives: 0, negatives: 0, checks: 0 },
    },
  ],
  hidden: [{ name: "shy", file: ".claude/skills/shy/SKILL.md", reason: "`disable-model-invocation` is set" }],
  shadowed: [
    {
      name: "commit-message",
      file: ".claude/skills/commit-message/SKILL.md",
      by: "/home/me/.claude/skills/commit-message/SKILL.md",
      reason: "the skills of the user go before those of the project",
    },
  ],
  skipped: [{ file: ".agents/skills/bare/SKILL.md:1", reason: 'it has no front matter: line 1 is not "---"' }],
};

describe("the list of skills", () => {
  it("lists shown skills, then skipped ones with the reason", async () => {
    await expect(
      renderTerminal(skillsDocument(listing), { color: false, width: 110, unicode: true }),
    ).toMatchFileSnapshot("snapshots/skillsList.txt");
  });

  it("fits the width, in ASCII without unicode", () => {
    const text = renderTerminal(skillsDocument(listing), { color: false, width: 60, unicode: false });
    expect(text.split("\n").filter((line) => displayWidth(line) > 60)).toEqual([]);
    expect(text).toMatch(/^[\n -~]*$/);
  });
});
