import type { SkillDocument, SkillEval, SkillPackage } from "../../src/evals/base/types/skill.ts";

export function aSkill(
  name: string,
  { body = "", ...changes }: Partial<SkillPackage> & { body?: string } = {},
): SkillPackage {
  const document: SkillDocument = {
    frontMatter: { name, description: `Does ${name}.` },
    locations: {},
    body,
    bodyLine: 5,
    steps: [],
    never: [],
    references: [],
  };
  return {
    name,
    folder: name,
    description: `Does ${name}.`,
    dir: `/skills/${name}`,
    file: `skills/${name}/SKILL.md`,
    level: "named",
    document,
    hash: `hash of ${name}`,
    ...changes,
  };
}

export function anEval(input: string, changes: Partial<SkillEval> = {}): SkillEval {
  const location = { file: "skills/pdf/evals/evals.json", line: 1, column: 1 };
  return { input, triggers: true, expectedBehavior: [], files: [], location, ...changes };
}
