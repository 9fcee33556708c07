/** The outputs of commands that have a schema, by the name of their command; see `reports/outputs.ts`. */
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
