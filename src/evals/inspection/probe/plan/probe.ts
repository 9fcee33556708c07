import type { RuleInfo } from "../../../base/types/finding.ts";
import type { JsonObject } from "../../../base/types/json.ts";
import type { CallOutcome } from "../../../base/types/tool.ts";

/** What a probe tests. All kinds except `missing` and `wrong type` have arguments that match the inputSchema. */
export type ProbeKind = "valid" | "boundary" | "missing" | "wrong type" | "unknown tool";

export type ProbedTool = {
  readonly name: string;
  readonly inputSchema: JsonObject;
  /** Whether arguments match the inputSchema. */
  allows(args: JsonObject): boolean;
  /** How structured content violates the outputSchema; absent without an outputSchema that compiles. */
  outputFault?(structured: JsonObject): string | undefined;
};

/** One test of a tool. `base` matches its inputSchema; shrinking makes it smaller. */
export type Probe = {
  readonly kind: ProbeKind;
  /** The parameter under test. Shrinking keeps its value in the base, except for boundaries. */
  readonly parameter?: string;
  readonly base: JsonObject;
  /** The arguments of its call. */
  args(base: JsonObject): JsonObject;
};

/** The outcome of one call, and whether the server was still running afterwards. */
export type ProbeAnswer = { readonly outcome: CallOutcome; readonly alive: boolean };

/** A probe that was made. */
export type ProbeObservation = {
  readonly tool: ProbedTool;
  readonly probe: Probe;
  readonly args: JsonObject;
  readonly answer: ProbeAnswer;
};

/** `violation` is a sentence for a report. */
export type RuleResult = "ok" | "does not apply" | { readonly violation: string };

/** One requirement that every tool has to meet. Pure; `check` does not throw. */
export type ProbeRule = Pick<RuleInfo, "id" | "severity" | "profile" | "why" | "docs"> & {
  /** How to fix a violation, in one sentence. */
  readonly fix: string;
  check(observation: ProbeObservation): RuleResult;
};

/** Whether a probe with this base is still the same test: the base is valid, and the call is so or not, as intended. */
export function isSameProbe({ allows }: ProbedTool, { kind, args }: Probe, base: JsonObject): boolean {
  const isInvalid = kind === "missing" || kind === "wrong type";
  return allows(base) && allows(args(base)) !== isInvalid;
}
