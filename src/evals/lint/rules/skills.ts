import type { Rule, SkillSubject } from "../rule.ts";
import { bodyRules } from "../skill/bodyRules.ts";
import { skillDescriptionRules } from "../skill/descriptionRules.ts";
import { fileRules } from "../skill/fileRules.ts";
import { frontMatterRules } from "../skill/frontMatterRules.ts";

/** Skill packages: the front matter, the description in it, the parts of the body, and the files beside. */
export const skillRules: readonly Rule<SkillSubject>[] = [
  ...frontMatterRules,
  ...skillDescriptionRules,
  ...bodyRules,
  ...fileRules,
];
