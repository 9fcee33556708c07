import { dirname } from "node:path";
import { type SkillEval, type SkillPackage, skillEntryName } from "../types/skill.ts";
import type { Case, Expectation, Suite } from "../types/suite.ts";
import { caseHash, suiteHash } from "./hash.ts";
import { caseIds } from "./ids.ts";

/** Enough to look around before a skill is loaded, and to follow one; most trials end long before. */
const maxTurns = { trigger: 8, behaviour: 12 } as const;

/** What the queries of a package are asked for: whether the skill is loaded, or what it makes of the work. */
export type Measure = keyof typeof maxTurns;

/**
 * The suite that a package's eval files make; undefined when they hold nothing to measure so. `trigger`: the skill is
 * loaded for its positives and for none of its negatives, where another one may be. `behaviour`: the sentences of each
 * query, for a judge; asked with the skill and without it. `folders` are where the skills beside it are found. The hash
 * of a behaviour case covers the package, for its instructions decide the outcome.
 */
export function skillSuite(
  skill: SkillPackage,
  evals: readonly SkillEval[],
  measure: Measure,
  folders: readonly string[],
): Suite | undefined {
  const asked = measure === "trigger" ? evals : evals.filter(({ expectedBehavior }) => expectedBehavior.length > 0);
  const [first] = asked;
  if (!first) return undefined;
  const ids = caseIds(withUniqueIds(asked));
  const cases = asked.map((one, index): Case => {
    const content = { ...caseOf(one, skill, measure), id: ids[index] ?? "", place: one.place };
    return { ...content, hash: caseHash(content) };
  });
  const entry = skillEntryName(skill.name);
  const suite = {
    name: measure === "trigger" ? entry : `${entry} behaviour`,
    file: first.place.file,
    dir: dirname(skill.dir),
    distractors: [],
    skills: folders,
    execute: "safe" as const,
    isolate: "run" as const,
    ...(measure === "behaviour" && { lift: skill.name }),
    cases,
  };
  return { ...suite, hash: suiteHash(suite) };
}

/** Eval files often count from 1, each of a package anew: an id that is not unique names nothing. */
function withUniqueIds(evals: readonly SkillEval[]): Pick<SkillEval, "id" | "input">[] {
  const uses = new Map<string, number>();
  for (const { id } of evals) if (id !== undefined) uses.set(id, (uses.get(id) ?? 0) + 1);
  return evals.map(({ id, input }) => (id !== undefined && uses.get(id) === 1 ? { id, input } : { input }));
}

function caseOf(one: SkillEval, skill: SkillPackage, measure: Measure): Omit<Case, "id" | "hash" | "place"> {
  return {
    messages: [{ role: "user", content: one.input }],
    ...(measure === "trigger" && { expect: expectationOf(one, skill.name) }),
    expectedBehavior: measure === "behaviour" ? one.expectedBehavior : [],
    ...(one.files.length > 0 && { files: one.files }),
    ...(measure === "behaviour" && { packageHash: skill.hash }),
    trials: 5,
    passRate: 0.8,
    maxTurns: maxTurns[measure],
  };
}

function expectationOf({ triggers }: SkillEval, skill: string): Expectation {
  return triggers ? { kind: "skill", skill, avoid: [] } : { kind: "avoid", avoid: [skillEntryName(skill)] };
}
