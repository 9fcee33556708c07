import * as z from "zod";
import { countsSchema } from "../../base/types/check.ts";

const count = z.int().nonnegative();
const testSchema = z.object({
  description: z.string(),
  round: count,
  look: count,
  p: z.number(),
  level: z.number(),
  isConfirmed: z.boolean(),
  /** By case: passes with the description reverted and new, the others of its set as they were, and the case's own p. */
  cases: z.array(z.object({ case: z.string(), reverted: countsSchema, new: countsSchema, p: z.number() })),
});
const relation = z.enum(["none", "single", "or", "and", "add"]);

/**
 * What is to blame for the fall of one case. `blamed`: every description of the likeliest set is confirmed; `in-part`: some
 * are; `undecided`: none is, or too many trials are missing; `chance`: most likely no description did it; `nothing`: there
 * is nothing to explain. `relation`: of the likeliest set, not tested. `sets`: the fewest sets that hold 90 % together, not
 * tested. `seen`: what a deterministic model was seen to do: reverting all of `reverted` repairs the case, and
 * all of `breaking` alone break it.
 */
const blamedCaseSchema = z.object({
  case: z.string(),
  kind: z.enum(["blamed", "in-part", "undecided", "chance", "nothing"]),
  because: z.enum(["missing", "unchanged", "no-drop", "passes-new", "fails-old"]).nullable(),
  descriptions: z.array(z.string()),
  relation,
  sets: z.array(z.object({ descriptions: z.array(z.string()), relation, chance: z.number() })),
  seen: z.object({ reverted: z.array(z.string()), breaking: z.array(z.string()) }).nullable(),
});
export const blameVerdictSchema = z.object({
  cases: z.array(blamedCaseSchema),
  tests: z.array(testSchema),
  calls: z.object({ search: count, confirmation: count, most: count }),
});
/** `tests`: every confirmation, also those that failed. `calls.most`: the cap. */
export type BlameVerdict = z.infer<typeof blameVerdictSchema>;
export type BlamedCase = BlameVerdict["cases"][number];
export type BlameTest = z.infer<typeof testSchema>;

/** The verdict of a case for which nothing is blamed. */
export function blameNothing(id: string, kind: BlamedCase["kind"], because: BlamedCase["because"]): BlamedCase {
  return { case: id, kind, because, descriptions: [], relation: "none", sets: [], seen: null };
}
