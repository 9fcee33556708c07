import type { Problem } from "../types/errors.ts";
import type { JsonObject } from "../types/json.ts";
import type { Severity } from "../types/lint.ts";

/** A call of a tool, as written on the command line. */
export type ProbeCall = { tool: string; arguments: JsonObject };

/** A violation of a rule, with the smallest calls that reproduce it, in order; it shows in the answer to the last one. */
export type ProbeFinding = {
  /** The id of the rule. */
  check: string;
  severity: Severity;
  tool: string;
  /** The parameters concerned, for invalid input. */
  parameters: string[];
  message: string;
  calls: ProbeCall[];
  /** The answers to these calls, shortened. */
  got: string;
  /** The number of probes that found it. */
  times: number;
  /** Whether the same calls had the same result when made again. */
  again: "yes" | "no" | "not tried";
  why: string;
  fix: string;
  docs: string;
  /** The command that makes these calls again. */
  command: string;
  /** The reason given for suppressing it. */
  suppressed?: string;
};

/** The results of one tool: each rule is in one of three lists. `notes` say what could not be done. */
export type ToolReport = {
  tool: string;
  calls: number;
  ok: string[];
  found: string[];
  notProbed: string[];
  notes: string[];
};

export type ServerReport = {
  server: string;
  calls: number;
  starts: number;
  tools: ToolReport[];
  /** Tools that were not called, with the reason. */
  skipped: { tool: string; reason: string }[];
  /** The files that the calls left in the scratch folder, which is removed; absent where the server ran elsewhere. */
  left?: string[];
  findings: ProbeFinding[];
  /** The answers to the calls of `--call`. */
  answers: (ProbeCall & { got: string })[];
};

/** The output of `evals probe --json`, from which the report for a person is made too. */
export type ProbeReport = {
  seed: number;
  servers: ServerReport[];
  /** What could not be probed, or not completely. */
  problems: Problem[];
  counts: Record<Severity, number>;
  checks: { id: string; severity: Severity; why: string; docs: string; needs: string }[];
  failOn: Severity;
  stopped: boolean;
  ok: boolean;
  exitCode: number;
};

/** The `tool` of the row for a call of a tool that the server does not list. */
export const unknownToolRow = "(unknown tool)";
