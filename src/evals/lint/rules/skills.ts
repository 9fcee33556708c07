import type { Rule, SkillSubject } from "../rule.ts";
import { fileRules, frontMatterRules } from "./skillFormat.ts";
import { bodyRules, skillDescriptionRules } from "./skillWording.ts";

/** Skill packages: the front matter, the description in it, the parts of the body, and the files beside. */
export const skillRules: readonly Rule<SkillSubject>[] = [
  ...frontMatterRules,
  ...skillDescriptionRules,
  ...bodyRules,
  ...fileRules,
];
