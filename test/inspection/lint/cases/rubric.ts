import type { JudgedSubject } from "../../../../src/evals/inspection/lint/rule.ts";
import { rubricRules } from "../../../../src/evals/inspection/lint/rules/rubric.ts";
import type { CasesOf } from "./cases.ts";

/** Every rule graded with `rest`, and `rule` with `score`. */
const graded = (rule: string, score: number, rest: number): JudgedSubject => ({
  judge: "anthropic:claude-opus-5-5",
  grades: rubricRules.map(({ id }) => ({ rule: id, score: id === rule ? score : rest, reason: "It says so." })),
});

export const rubricCases: CasesOf<JudgedSubject> = Object.fromEntries(
  rubricRules.map(({ id }) => [
    id,
    {
      clean: [graded(id, 4, 1), graded(id, 5, 3)],
      violations: { "a score of 4 or 5": [graded(id, 3, 5), graded(id, 1, 4)] },
    },
  ]),
);
