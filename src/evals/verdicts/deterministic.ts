import { comparable } from "../stats/counts.ts";
import { countCases, type Design, regressionArms, requestAll, stillMissing } from "./design.ts";
import { type LookResult, type RegressionVerdict, regressionDefaults, regressionVerdict } from "./regression.ts";

/**
 * The design for a deterministic model: one trial per case and arm, and any difference is real. Any
 * case that passed in base and fails in head has regressed; there is no chance to weigh, hence no test and no margin.
 */
export function deterministic(cases: readonly string[]): Design<RegressionVerdict> {
  const cap = cases.length * 2;
  return {
    cap,
    next(evidence) {
      const requests = stillMissing(evidence, requestAll(cases, regressionArms, { from: 1, to: 1 }));
      if (requests.length > 0) return { kind: "ask", requests, look: 1 };
      const counts = countCases(evidence, cases, regressionArms, { from: 1, to: 1 });
      const margin = regressionDefaults.margin;
      const result: LookResult = {
        method: "deterministic",
        look: 1,
        looks: 1,
        criterion: { kind: "equality" },
        margin,
        z: 0,
        alpha: 0,
        tested: counts,
        bounded: counts,
      };
      const { drift: _, ...verdict } = regressionVerdict("inconclusive", result, { evidence, cap });
      const lost = verdict.cases.filter((one) => comparable([one]).length > 0 && one.head.passed < one.base.passed);
      return { kind: "decided", verdict: settle(verdict, lost) };
    },
  };
}

function settle(verdict: RegressionVerdict, lost: RegressionVerdict["flagged"]): RegressionVerdict {
  const { furtherTrials: _, reach: __, ...rest } = verdict;
  const look = { look: 1, looks: 1 };
  if (lost.length > 0)
    return { ...rest, kind: "regressed", flagged: lost, basis: { kind: "dropped", test: null, ...look } };
  if (rest.bound.kind === "no cases" || rest.unscored.length > 0) return rest;
  return { ...rest, kind: "no-regression", basis: { kind: "drop ruled out", drop: null, ...look } };
}
