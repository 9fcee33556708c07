import { dirname } from "node:path";
import { defined } from "../../base/collections.ts";
import { defaultPolicy } from "../../base/types/flagValues.ts";
import { type SkillEval, type SkillPackage, skillEntryName } from "../../base/types/skill.ts";
import type { Case, Expectation, Suite } from "../../base/types/suite.ts";
import { createCaseIds, hashCase, hashSuite } from "./build.ts";

/** Enough to make some calls before loading a skill, and to follow its instructions; most trials end much earlier. */
const maxTurns = { trigger: 8, behavior: 12 } as const;

/** What the queries of a package measure: whether the skill is loaded, or how well the task is done with it. */
export type Measure = keyof typeof maxTurns;

/**
 * Builds the suite of a package's eval files; undefined if they contain nothing for the measure. `trigger`: the skill
 * must load for its positives and must not load for its negatives, for which another skill may load. `behavior`: a
 * judge grades the expected behavior of each query, asked with and without the skill. `folders` contain the skills
 * offered next to it. The hash of a behavior case covers the package, because its instructions decide the outcome.
 */
export function buildSkillSuite(
  skill: SkillPackage,
  evals: readonly SkillEval[],
  measure: Measure,
  folders: readonly string[],
  redact?: (text: string) => string,
): Suite | undefined {
  const asked = measure === "trigger" ? evals : evals.filter(({ expectedBehavior }) => expectedBehavior.length > 0);
  const [first] = asked;
  if (!first) return undefined;
  const ids = createCaseIds(dropRepeatedIds(asked), redact);
  const cases = asked.map((one, index): Case => {
    const content = { ...buildCase(one, skill, measure), id: ids[index] ?? "", location: one.location };
    return { ...content, hash: hashCase(content) };
  });
  const entry = skillEntryName(skill.name);
  const suite = {
    name: measure === "trigger" ? entry : `${entry} behavior`,
    file: first.location.file,
    dir: dirname(skill.dir),
    distractors: [],
    skills: folders,
    execute: defaultPolicy,
    isolate: "run" as const,
    ...(measure === "behavior" && { lift: skill.name }),
    cases,
  };
  const unreviewed = cases.filter((_, index) => asked[index]?.unreviewed).map(({ id }) => id);
  return { ...suite, ...(unreviewed.length > 0 && { unreviewed }), hash: hashSuite(suite) };
}

/** Drops ids that are not unique, because the eval files of a package often all count from 1. */
function dropRepeatedIds(evals: readonly SkillEval[]): Pick<SkillEval, "id" | "input">[] {
  const uses = new Map<string, number>();
  for (const { id } of evals) if (id !== undefined) uses.set(id, (uses.get(id) ?? 0) + 1);
  return evals.map(({ id, input }) => (id !== undefined && uses.get(id) === 1 ? { id, input } : { input }));
}

function buildCase(
  { input, triggers, split, expectedBehavior, files, unusable }: SkillEval,
  { name: skill, hash: packageHash }: SkillPackage,
  measure: Measure,
): Omit<Case, "id" | "hash" | "location"> {
  const expect: Expectation = triggers
    ? { kind: "skill", skill, avoid: [] }
    : { kind: "avoid", avoid: [skillEntryName(skill)] };
  return {
    messages: [{ role: "user", content: input }],
    ...(measure === "trigger" ? { expect, expectedBehavior: [] } : { expectedBehavior, packageHash }),
    ...defined({ split, unusable }),
    ...(files.length > 0 && { files }),
    trials: 5,
    passRate: 0.8,
    maxTurns: maxTurns[measure],
  };
}
