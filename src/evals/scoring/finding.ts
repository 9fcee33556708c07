import type { Assertion, Call, Score, Selection, Turn } from "../types/trial.ts";
import { asPicks, skillsLoaded } from "./skill.ts";

/**
 * What a model did in a trial: the calls of its first turn that holds any, all calls in order, the skills that they
 * loaded, and whether it refused. Where skills are offered, a call that loads one is a call of its entry.
 */
export type Made = { first: readonly Call[]; all: readonly Call[]; loaded: readonly string[]; refused: boolean };

export function madeIn(turns: readonly Turn[], offersSkills: boolean): Made {
  const raw = turns.map(({ calls }) => calls);
  const picks = offersSkills ? raw.map((calls) => calls.flatMap(asPicks)) : raw;
  return {
    first: picks.find((calls) => calls.length > 0) ?? [],
    all: picks.flat(),
    loaded: skillsLoaded(raw.flat()),
    refused: turns.some(({ stop }) => stop === "refused"),
  };
}

/** What an expectation finds in a trial, before the grade. */
export type Finding = {
  selection: Selection;
  picked: string;
  checks: readonly Assertion[];
  skills?: readonly string[];
};

/**
 * The grade: one check that is not met fails the trial; else one that could not be decided makes it not gradable; and
 * where nothing was checked there is nothing to pass.
 */
export function decide({ selection, picked, checks, skills }: Finding, expected: string): Score {
  const score = { selection, expected, picked, checks: [...checks], ...(skills && { skills: [...skills] }) };
  if (checks.some(({ met }) => met === "no")) return { grade: "fail", ...score };
  const [open, ...others] = checks.filter(({ met }) => met === "unknown");
  if (open) {
    const more = others.length > 0 ? ` (and ${others.length} more)` : "";
    return { grade: "not-gradable", ...score, reason: `${open.what}: ${open.why ?? "not decided"}${more}` };
  }
  return checks.length > 0
    ? { grade: "pass", ...score }
    : { grade: "not-gradable", ...score, reason: "no expectation" };
}
