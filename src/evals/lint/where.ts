import type { Path } from "./rule.ts";
import { inQuotes } from "./schema/text.ts";

/** A path as JSONPath has it: `$.inputSchema.properties["the unit"].enum[0]`. What is hidden in a key is written out. */
export function jsonPath(path: Path): string {
  let text = "$";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else text += /^[A-Za-z_]\w*$/.test(step) ? `.${step}` : `[${inQuotes(step)}]`;
  }
  return text;
}
