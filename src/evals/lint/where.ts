import type { Path } from "./rule.ts";

/** A path as JSONPath has it: `$.inputSchema.properties["the unit"].enum[0]`. */
export function jsonPath(path: Path): string {
  const steps = path.map((step) => {
    if (typeof step === "number") return `[${step}]`;
    return /^[A-Za-z_]\w*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  });
  return `$${steps.join("")}`;
}
