// No schemas here: every command takes its flags from these lists, and prints its help without loading zod.

/** What `--fail-on` of `evals run` takes: what makes it exit with 1. */
export const gates = ["regressed", "suite", "changed", "drifted", "inconclusive", "rate", "any"] as const;

/** What `--fail-on` of `evals verify` takes. */
export const verifyGates = ["changed", "stale", "unaccepted", "uncovered-tools", "uncovered-parameters"] as const;
