import type { RuleInfo } from "../types/lint.ts";
import { nearest } from "../types/nearest.ts";
import type { Families, Kind } from "./rule.ts";
import { annotationRules } from "./rules/annotations.ts";
import { confusableRules } from "./rules/confusable.ts";
import { descriptionRules } from "./rules/descriptions.ts";
import { evalsFileRules } from "./rules/evalsFile.ts";
import { nameRules, sharedNameRules } from "./rules/names.ts";
import { propertyRules } from "./rules/properties.ts";
import { registrationRules } from "./rules/registration.ts";
import { rubricRules } from "./rules/rubric.ts";
import { schemaRules } from "./rules/schemas.ts";
import { alikeRules, wordingRules } from "./rules/siblings.ts";
import { skillRules } from "./rules/skills.ts";
import { suiteRules } from "./rules/suites.ts";
import { versioningRules } from "./rules/versioning.ts";

/** Every rule, by what it looks at. A new family is a file and a line here. */
export const rules: Families = {
  tools: [...nameRules, ...descriptionRules, ...wordingRules, ...schemaRules, ...propertyRules, ...annotationRules],
  toolsets: [...sharedNameRules, ...confusableRules, ...alikeRules],
  "judged tools": rubricRules,
  versions: versioningRules,
  skills: skillRules,
  "eval files": evalsFileRules,
  "host entries": registrationRules,
  suites: suiteRules,
};

/** Every rule as a reader needs it, family by family. */
export function catalogue(families: Families): RuleInfo[] {
  return (Object.keys(families) as Kind[]).flatMap((kind) =>
    families[kind].map(({ id, severity, why, docs, clauses }) => ({
      id,
      severity,
      on: kind === "judged tools" ? "tools, with --judge" : kind,
      why,
      docs,
      clauses,
    })),
  );
}

/** What is wrong with the id of a rule; nothing when there is such a rule. */
export function unknownRule(id: string, families: Families): { message: string; hint: string } | undefined {
  const ids = catalogue(families).map((rule) => rule.id);
  if (ids.includes(id)) return undefined;
  const close = nearest(id, ids);
  const hint = close === undefined ? "See them with `evals lint --rules`." : `Did you mean "${close}"?`;
  return { message: `there is no rule "${id}"`, hint };
}
