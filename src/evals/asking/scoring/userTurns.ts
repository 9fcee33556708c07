import type { Case } from "../../base/types/suite.ts";
import type { Score } from "../../base/types/trial.ts";
import { labelExpectation } from "./labels.ts";

/** The label of a case in the confusion table: that of its expectation, or those of its user turns in order. */
export function labelCase({
  expect,
  turns = [],
  expectedBehavior,
}: Pick<Case, "expect" | "turns" | "expectedBehavior">) {
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
  const collect = (list: (score: Score) => readonly string[] | undefined) => [
    ...new Set(parts.flatMap(({ score }) => list(score) ?? [])),
  ];
  const [unchecked, skills] = [collect((score) => score.unchecked), collect((score) => score.skills)];
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
