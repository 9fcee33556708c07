import { formatJsonPath } from "../../../src/evals/base/jsonSchema/walk.ts";
import type { Rule } from "../../../src/evals/inspection/lint/rule.ts";
import type { CasesOf } from "./cases/cases.ts";

/** What each rule reports for the first violation of each of its clauses, by rule: `path: message -> fix`. */
export function describeViolations<Subject>(
  rules: readonly Rule<Subject>[],
  cases: CasesOf<Subject>,
): Record<string, string[]> {
  const lines = rules.map((rule) => {
    const firsts = rule.clauses.flatMap((clause) => cases[rule.id]?.violations[clause]?.slice(0, 1) ?? []);
    const found = firsts.flatMap((subject) => [...rule.check(subject)]);
    return [rule.id, found.map(({ at, message, fix }) => `${formatJsonPath(at)}: ${message} -> ${fix}`)] as const;
  });
  return Object.fromEntries(lines);
}
