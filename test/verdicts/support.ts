import type { Design, Evidence, Observation } from "../../src/evals/verdicts/design.ts";
import { EvidenceBook } from "../../src/evals/verdicts/design.ts";

const letters: Record<string, Observation | undefined> = { p: "pass", f: "fail", b: "broken" };

/** Evidence from one letter a trial: p pass, f fail, b broken, and a dash for not asked. */
export function evidenceOf(cases: Record<string, Record<string, string>>): Evidence {
  const book = new EvidenceBook();
  for (const [id, arms] of Object.entries(cases))
    for (const [arm, trials] of Object.entries(arms))
      for (const [index, letter] of [...trials].entries()) {
        const observation = letters[letter];
        if (observation) book.add(id, arm, index + 1, observation);
      }
  return book.evidence;
}

/** The verdict on this evidence; fails the test when the design still asks. */
export function verdictOn<V>(design: Design<V>, evidence: Evidence): V {
  const step = design.next(evidence);
  if (step.kind === "ask") throw new Error(`asks at look ${step.look}: ${JSON.stringify(step.requests)}`);
  return step.verdict;
}

export const idsOf = (rates: readonly number[]) => rates.map((_, index) => `case ${index + 1}`);

/** Suites of known pass rates. */
export const suites = {
  MIX5: [1, 0.95, 0.9, 0.5, 0],
  MIX10: [1, 1, 0.95, 0.99, 0.9, 0.9, 0.5, 0.5, 0, 0.99],
  GOOD8: [1, 1, 1, 0.99, 0.99, 0.95, 0.95, 0.9],
  FLAKY8: [0.5, 0.6, 0.7, 0.8, 0.3, 0.95, 0.5, 0.4],
};
