import type { EvalsError, Problem } from "../../errors.ts";
import type { Io } from "../../io.ts";
import type { Settings, Target } from "../../lint/rule.ts";

/** What there is to lint, what of it could not be had, and what its author should know beside. */
export type Gathered = { targets: readonly Target[]; problems: readonly Problem[]; warnings: readonly Problem[] };

/** What every gatherer needs: the settings that hold for all, the strongest first. */
export type Gathering = { io: Io; settings: readonly Settings[] };

export const nothing: Gathered = { targets: [], problems: [], warnings: [] };

/** A part that could not be had; the others are linted all the same. */
export function missing({ problems }: EvalsError, place?: Problem["place"]): Gathered {
  return { ...nothing, problems: problems.map((problem) => ({ ...(place && { place }), ...problem })) };
}

export function together(parts: readonly Gathered[]): Gathered {
  return {
    targets: parts.flatMap(({ targets }) => targets),
    problems: parts.flatMap(({ problems }) => problems),
    warnings: parts.flatMap(({ warnings }) => warnings),
  };
}
