import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { discoverSkills } from "../../../src/evals/input/skills/discover.ts";
import { readSkillEvals } from "../../../src/evals/input/skills/evals.ts";

const cwd = join(import.meta.dirname, "../../..");
const roots = [{ dir: "evals/skills", level: "named" as const }];

describe("the sample packages", () => {
  it("follow the specification, with queries that must and must not load them", async () => {
    const { skills, ...rest } = await discoverSkills(roots, { cwd });
    expect(rest).toEqual({ shadowed: [], skipped: [], warnings: [] });
    const told = await Promise.all(
      skills.map(async (skill) => {
        const { evals, warnings } = await readSkillEvals(skill, { repository: cwd, cwd });
        const { title, situation, steps, never, references } = skill.document;
        const sibling = skills.find(({ name }) => name !== skill.name)?.name ?? "";
        return {
          name: skill.name,
          folder: skill.folder,
          namesItsSibling: skill.description.includes(sibling),
          parts: [title, situation, ...steps, ...never].every((part) => part !== undefined),
          numbers: steps.map(({ number }) => number),
          never: never.length,
          references: references.map(({ target }) => target),
          positives: evals.filter(({ triggers }) => triggers).length,
          negatives: evals.filter(({ triggers }) => !triggers).length,
          unchecked: evals.filter(({ triggers, expectedBehavior }) => triggers && expectedBehavior.length === 0).length,
          warnings,
        };
      }),
    );
    expect(told).toEqual([
      {
        name: "commit-message",
        folder: "commit-message",
        ...{ namesItsSibling: true, parts: true, numbers: [1, 2, 3, 4, 5, 6, 7, 8], never: 4, references: [] },
        ...{ positives: 10, negatives: 6, unchecked: 2, warnings: [] },
      },
      {
        name: "release-notes",
        folder: "release-notes",
        ...{ namesItsSibling: true, parts: true, numbers: [1, 2, 3, 4, 5, 6, 7], never: 4 },
        references: ["references/format.md", "references/format.md", "scripts/commits-since.sh"],
        ...{ positives: 7, negatives: 3, unchecked: 0, warnings: [] },
      },
    ]);
  });
});
