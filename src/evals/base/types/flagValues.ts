// Without schemas, because commands use these lists for their flags and print their help without loading zod.

/** The values of `--fail-on` of `evals run`: the results that exit with 1. */
export const gates = ["regressed", "suite", "changed", "drifted", "inconclusive", "rate", "any"] as const;

/** The values of `--fail-on` of `evals baseline verify`. */
export const verifyGates = ["changed", "stale", "unaccepted", "uncovered-tools", "uncovered-parameters"] as const;

/**
 * Which tools' calls are executed, the most permissive first: all; those annotated as read-only or as not destructive;
 * those annotated as read-only; none. A tool that only adds can still send an e-mail, so the default is `read-only`.
 */
export const executionPolicies = ["all", "additive", "read-only", "never"] as const;

/** A policy by name, or the names of the tools whose calls are executed, whatever their annotations are. */
export type ExecutionPolicy = (typeof executionPolicies)[number] | string[];

export const defaultPolicy = "read-only" as const satisfies ExecutionPolicy;

/** Whether each call that one policy permits is permitted by the other too, whatever the annotations of tools. */
export function isWithin(policy: ExecutionPolicy, permitted: ExecutionPolicy): boolean {
  if (policy === "never" || permitted === "all") return true;
  if (Array.isArray(policy)) return Array.isArray(permitted) && policy.every((name) => permitted.includes(name));
  return !Array.isArray(permitted) && executionPolicies.indexOf(policy) >= executionPolicies.indexOf(permitted);
}

/** A policy as `--execute` takes it. */
export const describePolicy = (policy: ExecutionPolicy): string => [policy].flat().join(",");

/** The outputs of commands that have a schema, by the name of their command; see `commands/outputs.ts`. */
export const outputNames = [
  "run",
  "shard",
  "dry-run",
  "variants",
  "improve",
  "blame",
  "compare",
  "judge",
  "history",
  "show",
  "import",
  "lint",
  "lint-rules",
  "search",
  "probe",
  "doctor",
  "verify",
  "tools",
  "skills",
] as const;
export type OutputName = (typeof outputNames)[number];
