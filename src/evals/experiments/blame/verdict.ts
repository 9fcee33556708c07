import * as z from "zod";
import { countsSchema } from "../../base/types/check.ts";
import type { ExitCode } from "../../base/types/errors.ts";
import { pickTexts } from "../../servers/changes/changes.ts";
import { type ExperimentFacts, experimentFacts } from "../results/design.ts";
import { toExitCode } from "../results/exitCode.ts";
import { type BlamedCase, type BlameVerdict, blameVerdictSchema } from "./blameVerdict.ts";

/**
 * What `evals blame` found on one suite and model: the object that `--json` prints and the report is made from. `from`: what
 * the base list and the known rates are of. `known.new` is absent where it had to be measured first. `verdict` is null
 * where the search was stopped, and `stopped` then says why.
 */
export const blameReportSchema = z.object({
  ...experimentFacts,
  from: z.string(),
  deterministic: z.boolean(),
  cases: z.array(
    z.object({
      case: z.string(),
      input: z.string(),
      known: z.object({ old: countsSchema, new: countsSchema.optional() }),
      changes: z.array(
        z.object({ id: z.string(), label: z.string(), before: z.string().optional(), after: z.string().optional() }),
      ),
      verdict: blameVerdictSchema.shape.cases.element.nullable(),
    }),
  ),
  tests: blameVerdictSchema.shape.tests,
  calls: blameVerdictSchema.shape.calls,
  stopped: z.string().nullable(),
});
export type BlameReport = z.infer<typeof blameReportSchema>;

type SearchedCase = Omit<BlameReport["cases"][number], "verdict" | "changes"> & {
  changes: readonly { id: string; label: string; before?: string; after?: string }[];
};

/** The report of a search, decided or stopped. `cap`: the maximum number of trials that it could request. */
export function summariseBlame(
  facts: ExperimentFacts,
  { from, deterministic, cap }: { from: string; deterministic: boolean; cap: number },
  cases: readonly SearchedCase[],
  outcome: { verdict: BlameVerdict } | { stopped: string; made: number },
): BlameReport {
  const verdict = "verdict" in outcome ? outcome.verdict : undefined;
  const found = new Map(verdict?.cases.map((one) => [one.case, one]));
  return {
    ...facts,
    from,
    deterministic,
    cases: cases.map(({ changes, ...one }) => ({
      ...one,
      changes: changes.map((change) => ({ id: change.id, ...pickTexts(change) })),
      verdict: found.get(one.case) ?? null,
    })),
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
