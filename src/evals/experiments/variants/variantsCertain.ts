import * as z from "zod";
import { askAll, type Design, type TrialRecord } from "../../asking/trials/design.ts";
import { incumbentArm, type VariantSetup } from "./design.ts";

/**
 * One challenger on a deterministic model: the cases that it repairs and that it breaks, of those answered with
 * both wordings, and those that were not.
 */
const comparisonSchema = z.object({
  challenger: z.string(),
  repaired: z.array(z.string()),
  broken: z.array(z.string()),
  unanswered: z.array(z.string()),
});

/**
 * `adopt`: the winner passes more cases than the incumbent and breaks none. `keep`: none passes more (`no-gain`), or all
 * that do break a case (`breaks`). `inconclusive`: cases were not answered. `tests`: the best first.
 */
export const certainVariantVerdictSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("adopt"), winner: z.string(), tests: z.array(comparisonSchema) }),
  z.object({ kind: z.literal("keep"), because: z.enum(["no-gain", "breaks"]), tests: z.array(comparisonSchema) }),
  z.object({ kind: z.literal("inconclusive"), because: z.literal("missing"), tests: z.array(comparisonSchema) }),
]);
type CertainVariantVerdict = z.infer<typeof certainVariantVerdictSchema>;
export type Comparison = z.infer<typeof comparisonSchema>;

/**
 * The design for a deterministic model: one trial per case and wording, and any difference is real. Adopts the challenger
 * that passes most, of those that pass more cases than the incumbent and break none; of equals the first.
 */
export function variantsCertain({
  cases,
  challengers,
  seed,
}: Pick<VariantSetup, "cases" | "challengers" | "seed">): Design<CertainVariantVerdict> {
  const once = cases.map((id) => ({ id, trials: 1 }));
  return askAll(once, [incumbentArm, ...challengers], seed, (record) =>
    decide(challengers.map((challenger) => compare(record, cases, challenger))),
  );
}

function compare(record: TrialRecord, cases: readonly string[], challenger: string): Comparison {
  const found: Comparison = { challenger, repaired: [], broken: [], unanswered: [] };
  for (const id of cases) {
    const [before] = record.answers(id, incumbentArm);
    const [after] = record.answers(id, challenger);
    if (before === "missing" || after === "missing") found.unanswered.push(id);
    else if (before === "fail" && after === "pass") found.repaired.push(id);
    else if (before === "pass" && after === "fail") found.broken.push(id);
  }
  return found;
}

const countGain = ({ repaired, broken }: Comparison) => repaired.length - broken.length;

function decide(found: readonly Comparison[]): CertainVariantVerdict {
  const ranked = found.toSorted((a, b) => countGain(b) - countGain(a));
  const better = ranked.filter((one) => countGain(one) > 0);
  const chosen = better.find(({ broken, unanswered }) => broken.length === 0 && unanswered.length === 0);
  if (chosen) {
    const tests = [chosen, ...ranked.filter((one) => one !== chosen)];
    return { kind: "adopt", winner: chosen.challenger, tests };
  }
  if (ranked.some(({ unanswered }) => unanswered.length > 0))
    return { kind: "inconclusive", because: "missing", tests: ranked };
  return { kind: "keep", because: better.length > 0 ? "breaks" : "no-gain", tests: ranked };
}
