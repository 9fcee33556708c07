import { rubricRules } from "../rubric.ts";
import type { Families } from "../target.ts";
import { annotationRules } from "./annotations.ts";
import { confusableRules } from "./confusable.ts";
import { descriptionRules } from "./descriptions.ts";
import { evalsFileRules } from "./evalsFile.ts";
import { nameRules, sharedNameRules } from "./names.ts";
import { propertyRules } from "./properties.ts";
import { registrationRules } from "./registration.ts";
import { schemaRules } from "./schemas.ts";
import { skillRules } from "./skills.ts";
import { suiteRules } from "./suites.ts";
import { versioningRules } from "./versioning.ts";
import { alikeRules, wordingRules } from "./wording/index.ts";

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
