import type { AboutSkills } from "../../base/types/run.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import { type Case, type Expectation, listCaseCalls } from "../../base/types/suite.ts";
import type { Call, Score } from "../../base/types/trial.ts";
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
  if (expectation?.kind === "skill")
    return { wanted: expectation.skill === "none" ? [] : [expectation.skill], unwanted: "others" };
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

type LabeledCase = Pick<Case, "expect" | "turns" | "expectedBehavior">;

/** The label of a case in the confusion table: that of its expectation, or those of its user turns in order. */
export function labelCase({ expect, turns = [], expectedBehavior }: LabeledCase) {
  const ofTurns = turns.flatMap((one) => (one.expect ? [labelExpectation(one.expect)] : []));
  const ofCase = expect || (ofTurns.length === 0 && expectedBehavior) ? [labelExpectation(expect)] : [];
  return [...ofTurns, ...ofCase].join(" > ");
}

/** The score of one part of a trial with several user turns. `name`: `turn 2`; absent for the whole conversation. */
export type PartScore = { name?: string; score: Score };

/** Combines the parts of a trial, which must all pass. The selection is of the first that failed or is ungradable. */
export function joinScores(parts: readonly PartScore[]): Omit<Score, "grade" | "reason"> {
  const of = (grade: Score["grade"]) => parts.find(({ score }) => score.grade === grade)?.score;
  const passed = parts.find(({ score }) => score.selection === "right-tool")?.score;
  const decisive = of("fail") ?? of("not-gradable") ?? passed ?? parts[0]?.score;
  const collect = (key: "unchecked" | "skills") => [...new Set(parts.flatMap(({ score }) => score[key] ?? []))];
  const [unchecked, skills] = [collect("unchecked"), collect("skills")];
  const discovery = decisive?.discovery ?? parts.find(({ score }) => score.discovery)?.score.discovery;
  return {
    selection: decisive?.selection ?? "no-call",
    expected: parts.map(({ score }) => score.expected).join(" > "),
    picked: parts.map(({ score }) => score.picked).join(" > "),
    checks: parts.flatMap(({ name, score }) =>
      score.checks.map((check) => (name === undefined ? check : { ...check, what: `${name}: ${check.what}` })),
    ),
    ...(unchecked.length > 0 && { unchecked }),
    ...(parts.some(({ score }) => score.skills) && { skills }),
    ...(discovery && { discovery }),
  };
}

/** The expectations of a case: of its user turns by their names, then of the whole conversation. */
export function listExpectations({ expect, turns = [] }: Pick<Case, "expect" | "turns">) {
  const ofTurns = turns.flatMap((one, at) => (one.expect ? [{ name: `turn ${at + 1}`, expect: one.expect }] : []));
  return [...ofTurns, ...(expect ? [{ name: undefined, expect }] : [])];
}
