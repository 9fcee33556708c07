import { didYouMean } from "../../../base/text/nearest.ts";
import type { RuleInfo } from "../../../base/types/finding.ts";
import type { Families, SubjectKind } from "../rule.ts";
import { annotationRules, sharedAnnotationRules } from "./annotations.ts";
import { descriptionRules, instructionRules, purposeRules } from "./descriptions.ts";
import { nameRules, nameWordingRules } from "./names.ts";
import { propertyRules } from "./properties.ts";
import { registrationRules } from "./registration.ts";
import { rubricRules } from "./rubric.ts";
import { schemaRules } from "./schemas.ts";
import { alikeRules, siblingRules } from "./siblings.ts";
import { skillFormatRules } from "./skillFormat.ts";
import { skillWordingRules } from "./skillWording.ts";
import { styleRules } from "./style.ts";
import { evalsFileRules, suiteRules } from "./suites.ts";
import { versioningRules } from "./versioning.ts";

/** Rules about the wording of tools that word lists can judge. Those that depend on words are for English only. */
export const wordingRules = [...nameWordingRules, ...purposeRules, ...styleRules, ...siblingRules];

export const rules: Families = {
  tools: [...nameRules, ...descriptionRules, ...wordingRules, ...schemaRules, ...propertyRules, ...annotationRules],
  toolsets: [...alikeRules, ...sharedAnnotationRules, ...instructionRules],
  "judged tools": rubricRules,
  versions: versioningRules,
  skills: [...skillFormatRules, ...skillWordingRules],
  "eval files": evalsFileRules,
  "host entries": registrationRules,
  suites: suiteRules,
};

/** Lists the facts about every rule for reports and documentation, family by family. */
export function catalog(families: Families): RuleInfo[] {
  return (Object.keys(families) as SubjectKind[]).flatMap((kind) =>
    families[kind].map(({ id, severity, profile, why, docs }) => {
      const on = kind === "judged tools" ? "tools, with --judge" : kind;
      return { id, severity, ...(profile && { profile }), on, why, docs };
    }),
  );
}

/** Explains an unknown rule id; undefined if the rule exists. */
export function explainUnknownRule(id: string, families: Families): { message: string; hint: string } | undefined {
  const ids = catalog(families).map((rule) => rule.id);
  if (ids.includes(id)) return undefined;
  const hint = didYouMean(id, ids, "List all rules with `evals lint --rules`.");
  return { message: `There is no rule "${id}".`, hint };
}
