import type { AboutSkills } from "../../base/types/run.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import { type Case, type Expectation, listCaseCalls } from "../../base/types/suite.ts";
import type { Call } from "../../base/types/trial.ts";
import type { FindTool } from "./tools.ts";

/** The label of no call and no skill, also as an expectation. */
export const noneLabel = "(none)";

/**
 * The row of the confusion table for an expectation: `a`, `a | b` (either), `a, b` (in order), `a + b` (in any order),
 * `a (optional), b`, `skill:x`, `(none)`, `(any)`, `(avoid a)`, and `(behavior)` for a case with judged sentences or
 * code only.
 */
export function labelExpectation(expectation: Expectation | undefined): string {
  if (!expectation) return "(behavior)";
  switch (expectation.kind) {
    case "tool":
      return expectation.call.tools.join(" | ");
    case "calls":
      return expectation.calls
        .map(({ tools, optional }) => `${tools.join(" | ")}${optional ? " (optional)" : ""}`)
        .join(expectation.order === "strict" ? ", " : " + ");
    case "skill":
      return expectation.skill === "none" ? noneLabel : `skill:${expectation.skill}`;
    case "none":
      return noneLabel;
    case "any":
      return "(any)";
    case "avoid":
      return `(avoid ${expectation.avoid.join(", ")})`;
  }
}

/** The tools that a case requires, each once, for coverage; without tools to avoid. */
export function listExpectedTools(one: Pick<Case, "expect" | "turns">): readonly string[] {
  return [...new Set(listCaseCalls(one).flatMap(({ tools }) => tools))];
}

/** The skills that an expectation requires or forbids; undefined if it is not about skills. */
export function readSkillExpectation(expectation: Expectation | undefined): AboutSkills | undefined {
  if (expectation?.kind === "skill") {
    return { wanted: expectation.skill === "none" ? [] : [expectation.skill], unwanted: "others" };
  }
  const prefix = skillEntryName("");
  const unwanted = (expectation?.avoid ?? []).flatMap((name) =>
    name.startsWith(prefix) ? [name.slice(prefix.length)] : [],
  );
  return unwanted.length > 0 ? { wanted: [], unwanted } : undefined;
}

/** The tools of calls, in order; a name that is not listed is marked. */
export function labelCalls(calls: readonly Call[], find: FindTool, separator = " + "): string {
  if (calls.length === 0) return noneLabel;
  return calls.map(({ tool, inner }) => find(tool, inner)?.tool.name ?? `${tool} (unknown)`).join(separator);
}
