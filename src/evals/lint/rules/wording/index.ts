import type { Rule, ToolSubject } from "../../rule.ts";
import { nameWordingRules } from "./names.ts";
import { purposeRules } from "./purpose.ts";
import { siblingRules } from "./siblings.ts";
import { styleRules } from "./style.ts";

/** What is said to the model, as far as word lists can judge it; English only where words decide. */
export const wordingRules: readonly Rule<ToolSubject>[] = [
  ...nameWordingRules,
  ...purposeRules,
  ...styleRules,
  ...siblingRules,
];

export { alikeRules } from "./alike.ts";
