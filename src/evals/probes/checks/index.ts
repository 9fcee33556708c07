import type { Check, Observation, Verdict } from "../probe.ts";
import { inTime, notBlank, notEmpty, survives, textItems, wellFormed } from "./answers.ts";
import { notBare, refusesMissing, refusesWrongType, structuredFailure, unknownTool } from "./failures.ts";
import { defaultsMeant, defaultsWork, mirrored, outputSchema, repeats, unknownToolForm } from "./results.ts";

/** What is asked of every listed tool, in the order in which reports name it. */
export const toolChecks: readonly Check[] = [
  ...[inTime, survives, wellFormed, notEmpty, notBlank, textItems],
  ...[notBare, structuredFailure, refusesMissing, refusesWrongType],
  ...[outputSchema, mirrored, defaultsWork, defaultsMeant, repeats],
];

/** What is asked of a server once: how it answers a call of a tool that it does not list. */
export const unknownToolChecks: readonly Check[] = [inTime, survives, wellFormed, unknownTool, unknownToolForm];

/** What every check says of an observation. */
export function judge(observation: Observation): { check: Check; verdict: Verdict }[] {
  const checks = observation.probe.kind === "unknown tool" ? unknownToolChecks : toolChecks;
  return checks.map((check) => ({ check, verdict: check.check(observation) }));
}
