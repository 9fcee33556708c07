/** Which tool calls are executed: all, only those of tools that are annotated as harmless, or none. The most permissive first. */
export const executionPolicies = ["always", "safe", "never"] as const;
export type ExecutionPolicy = (typeof executionPolicies)[number];
