import * as z from "zod";
import { countsSchema, namedCaseSchema } from "../../base/types/check.ts";
import type { ExitCode } from "../../base/types/errors.ts";
import { type ExperimentFacts, experimentFacts, toExitCode } from "../results/outcome.ts";

const count = z.int().nonnegative();
const testSchema = z.object({
  description: z.string(),
  round: count,
  look: count,
  p: z.number(),
  level: z.number(),
  isConfirmed: z.boolean(),
  /** By case: passes with the description reverted and new, the rest of its set as it was, and the case's own p. */
  cases: z.array(z.object({ case: z.string(), reverted: countsSchema, new: countsSchema, p: z.number() })),
});
const relation = z.enum(["none", "single", "or", "and", "add"]);

/**
 * What is to blame for the fall of one case. `blamed`: every description of the likeliest set is confirmed; `in-part`:
 * some are (or, with `only-change`, nothing else changed, and nothing was asked); `undecided`: none is, or too many
 * trials are missing; `chance`: most likely no description did it; `nothing`: there is nothing to explain. `relation`:
 * of the likeliest set, not tested. `sets`: the fewest sets that hold 90 % together, not tested. `seen`: what a
 * deterministic model was seen to do: reverting all of `reverted` repairs the case, and all of `breaking` alone break
 * it.
 */
const blamedCaseSchema = z.object({
  case: z.string(),
  kind: z.enum(["blamed", "in-part", "undecided", "chance", "nothing"]),
  because: z.enum(["missing", "unchanged", "no-drop", "only-change", "passes-new", "fails-old"]).nullable(),
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

/**
 * What `evals blame` found on one suite and model: the object that `--json` prints and the report is made from. `from`:
 * what the base list and the known rates are of. `verdict` is null where the search was stopped, and `stopped` then
 * says why.
 */
export const blameReportSchema = z.object({
  ...experimentFacts,
  from: z.string(),
  deterministic: z.boolean(),
  cases: z.array(
    z.object({
      case: z.string(),
      input: z.string(),
      known: z.object({ old: countsSchema, new: countsSchema }),
      changes: z.array(
        z.object({ id: z.string(), label: z.string(), before: z.string().optional(), after: z.string().optional() }),
      ),
      verdict: blameVerdictSchema.shape.cases.element.nullable(),
    }),
  ),
  tests: blameVerdictSchema.shape.tests,
  calls: blameVerdictSchema.shape.calls,
  risen: z.array(namedCaseSchema).optional().describe("cases that got better in the check, which a revert may undo"),
  stopped: z.string().nullable(),
});
export type BlameReport = z.infer<typeof blameReportSchema>;

/** The report of a search, decided or stopped. `cap`: the maximum number of trials that it could request. */
export function summarizeBlame(
  facts: ExperimentFacts,
  { from, deterministic, cap, risen }: Pick<BlameReport, "from" | "deterministic" | "risen"> & { cap: number },
  cases: readonly Omit<BlameReport["cases"][number], "verdict">[],
  outcome: { verdict: BlameVerdict } | { stopped: string; made: number },
): BlameReport {
  const verdict = "verdict" in outcome ? outcome.verdict : undefined;
  const found = new Map(verdict?.cases.map((one) => [one.case, one]));
  return {
    ...facts,
    from,
    deterministic,
    ...(risen && risen.length > 0 && { risen }),
    cases: cases.map((one) => ({ ...one, verdict: found.get(one.case) ?? null })),
    tests: verdict?.tests ?? [],
    calls: verdict?.calls ?? { search: "made" in outcome ? outcome.made : 0, confirmation: 0, most: cap },
    stopped: "stopped" in outcome ? outcome.stopped : null,
  };
}

const explained: ReadonlySet<BlamedCase["kind"]> = new Set(["blamed", "in-part"]);

/** 0 if something is blamed for every case, 3 if a case remains unexplained. */
export function blameExitCode(
  { cases }: { cases: readonly Pick<BlameReport["cases"][number], "verdict">[] },
  stopped: ExitCode | undefined,
): ExitCode {
  const undecided = cases.length === 0 || cases.some(({ verdict }) => !verdict || !explained.has(verdict.kind));
  return toExitCode({ undecided, stopped });
}
