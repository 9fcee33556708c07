import type { AboutSkills } from "../types/run.ts";
import { skillEntryName } from "../types/skill.ts";
import type { Expectation } from "../types/suite.ts";
import type { Call } from "../types/trial.ts";
import type { Find } from "./listing.ts";

/** The label of no call, of no skill, and of an expectation that wants none. */
export const none = "(none)";

/**
 * The row of the confusion table that an expectation belongs to: `a`, `a | b` (either), `a, b` (in order), `a + b` (in any
 * order), `skill:x`, `(none)`, `(any)`, `(avoid a)`, and `(behaviour)` for a case with nothing but judged sentences.
 */
export function expectedLabel(expectation: Expectation | undefined): string {
  if (!expectation) return "(behaviour)";
  switch (expectation.kind) {
    case "tool":
      return expectation.call.tools.join(" | ");
    case "calls":
      return expectation.calls
        .map(({ tools }) => tools.join(" | "))
        .join(expectation.order === "strict" ? ", " : " + ");
    case "skill":
      return expectation.skill === "none" ? none : `skill:${expectation.skill}`;
    case "none":
      return none;
    case "any":
      return "(any)";
    case "avoid":
      return `(avoid ${expectation.avoid.join(", ")})`;
  }
}

/** The tools that an expectation wants called, each once, for coverage. Tools to avoid are not among them. */
export function expectedTools(expectation: Expectation | undefined): readonly string[] {
  if (expectation?.kind === "tool") return [...new Set(expectation.call.tools)];
  if (expectation?.kind === "calls") return [...new Set(expectation.calls.flatMap(({ tools }) => tools))];
  return [];
}

/** What an expectation says about skills; undefined when it says nothing. */
export function aboutSkills(expectation: Expectation | undefined): AboutSkills | undefined {
  if (expectation?.kind === "skill") {
    return { wanted: expectation.skill === "none" ? [] : [expectation.skill], unwanted: "others" };
  }
  const prefix = skillEntryName("");
  const unwanted = (expectation?.avoid ?? []).flatMap((name) =>
    name.startsWith(prefix) ? [name.slice(prefix.length)] : [],
  );
  return unwanted.length > 0 ? { wanted: [], unwanted } : undefined;
}

/** The tools of some calls, in the order they were called; a name that no listed tool has is marked. */
export function pickedLabel(calls: readonly Call[], find: Find, separator = " + "): string {
  if (calls.length === 0) return none;
  return calls.map(({ tool }) => find(tool)?.tool.name ?? `${tool} (unknown)`).join(separator);
}
