import type { JsonObject } from "../types/json.ts";
import type { Severity } from "../types/lint.ts";
import type { CallOutcome } from "../types/server.ts";

/** What a probe is after. All but `missing` and `wrong type` give arguments that the inputSchema allows. */
export type Kind =
  | "valid"
  | "boundary"
  | "reference"
  | "defaults"
  | "repeat"
  | "missing"
  | "wrong type"
  | "unknown tool";

/** A tool as probes see it: its schemas compiled. */
export type ProbedTool = {
  readonly name: string;
  readonly inputSchema: JsonObject;
  readonly readOnly: boolean;
  readonly idempotent: boolean;
  /** Whether the inputSchema allows these arguments. */
  allows(args: JsonObject): boolean;
  /** Says how structured content breaks the outputSchema; absent where none is declared, or none that compiles. */
  outputFault?(structured: JsonObject): string | undefined;
};

/** One question put to a tool. `base` are arguments that its inputSchema allows; shrinking makes them smaller. */
export type Probe = {
  readonly kind: Kind;
  /** The parameter that it is about; its value in the base is left as it is, but for boundaries. */
  readonly parameter?: string;
  readonly base: JsonObject;
  /** The arguments of the calls that it makes, in order. */
  calls(base: JsonObject): readonly JsonObject[];
};

/** What one call came to, and whether the server was there afterwards. */
export type Answer = { readonly outcome: CallOutcome; readonly alive: boolean };

/** A probe that was made. After a broken call no further one is made, so there may be fewer answers than calls. */
export type Observation = {
  readonly tool: ProbedTool;
  readonly probe: Probe;
  readonly calls: readonly JsonObject[];
  readonly answers: readonly Answer[];
};

export type Verdict = "ok" | "does not apply" | { readonly wrong: string };

/** One thing that is asked of every tool. Pure; `check` does not throw. */
export type Check = {
  /** Stable, kebab-case, unique. */
  readonly id: string;
  readonly severity: Severity;
  /** What goes wrong otherwise, in one sentence. */
  readonly why: string;
  /** Where it comes from. */
  readonly docs: string;
  /** The remedy, in one sentence. */
  readonly fix: string;
  /** What has to be seen before it can be judged. */
  readonly needs: string;
  check(observation: Observation): Verdict;
};

/** Whether these base arguments still make the same probe: valid themselves, and its calls as valid or invalid as meant. */
export function isSameProbe({ allows }: ProbedTool, { kind, calls }: Probe, base: JsonObject): boolean {
  const invalid = kind === "missing" || kind === "wrong type";
  return allows(base) && calls(base).every((args) => allows(args) !== invalid);
}
