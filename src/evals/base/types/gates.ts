// Without schemas, because commands use these lists for their flags and print their help without loading zod.

/** The values of `--fail-on` of `evals run`: the results that exit with 1. */
export const gates = ["regressed", "suite", "changed", "drifted", "inconclusive", "rate", "any"] as const;

/** The values of `--fail-on` of `evals baseline verify`. */
export const verifyGates = ["changed", "stale", "unaccepted", "uncovered-tools", "uncovered-parameters"] as const;
