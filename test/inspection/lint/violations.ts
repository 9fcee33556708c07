import { formatJsonPath } from "../../../src/evals/base/jsonSchema/walk.ts";
import type { Rule } from "../../../src/evals/inspection/lint/rule.ts";
import type { CasesOf } from "./cases/cases.ts";

/** What each rule reports for the first violation of each of its requirements, by rule: `path: message -> fix`. */
export function describeViolations<Subject>(
  rules: readonly Rule<Subject>[],
  cases: CasesOf<Subject>,
): Record<string, string[]> {
  const lines = rules.map((rule) => {
    const firsts = Object.values(cases[rule.id]?.violations ?? {}).flatMap((subjects) => subjects.slice(0, 1));
    const found = firsts.flatMap((subject) => [...rule.check(subject)]);
    return [rule.id, found.map(({ at, message, fix }) => `${formatJsonPath(at)}: ${message} -> ${fix}`)] as const;
  });
  return Object.fromEntries(lines);
}
