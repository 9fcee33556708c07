import * as z from "zod";
import type { TrialRecord } from "../../asking/trials/design.ts";
import { getOrAdd } from "../../base/getOrAdd.ts";
import { sumOf } from "../../base/sum.ts";
import type { ExitCode } from "../../base/types/errors.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Trial } from "../../base/types/trial.ts";
import { listChanges, pickTexts } from "../../servers/changes/changes.ts";
import { type ExperimentFacts, experimentFacts } from "../results/design.ts";
import { toExitCode } from "../results/exitCode.ts";
import { promptTokens } from "../results/tally.ts";
import { incumbentArm } from "./design.ts";
import { certainVariantVerdictSchema } from "./variantsCertain.ts";
import { type VariantVerdict, variantVerdictSchema } from "./variantVerdict.ts";

const count = z.int().nonnegative();

/**
 * One wording with all of its trials (of whichever cases it was asked) and what its list takes of a prompt: the mean input
 * tokens of the first request of its trials, or, where the model reports none, the bytes of its JSON. `screened`: its mean
 * pass rate over the cases with room in the last round of the screening that it took part in.
 */
const wordingSchema = z.object({
  name: z.string(),
  passed: count,
  trials: count,
  screened: z.object({ round: count, rate: z.number() }).nullable(),
  size: z.object({ kind: z.enum(["tokens", "bytes"]), mean: z.number() }),
});

const changeSchema = z.object({ label: z.string(), before: z.string().optional(), after: z.string().optional() });

const facts = {
  ...experimentFacts,
  margin: z.number(),
  /** The cases that were run, and those that no variant affects. */
  cases: count,
  untouched: z.array(z.string()),
  /** The incumbent first, then the variants in the order of their file. */
  wordings: z.array(wordingSchema),
  /** The wording that was tested, or that passes most, with what it changes. */
  best: z.object({ name: z.string(), changes: z.array(changeSchema) }).nullable(),
  calls: z.object({ made: count, missing: count, most: count }),
  kind: z.enum(["adopt", "keep", "inconclusive"]),
  /** The wording to adopt. */
  winner: z.string().nullable(),
  exitCode: z.int(),
};

/** The result of `evals variants`: the object that `--json` prints and the report is made from. Rates are 0 to 1. */
export const variantsSummarySchema = z.discriminatedUnion("method", [
  z.object({ ...facts, method: z.literal("sampled"), verdict: variantVerdictSchema }),
  z.object({ ...facts, method: z.literal("deterministic"), verdict: certainVariantVerdictSchema }),
  /** Set if it was stopped before the verdict. */
  z.object({ ...facts, method: z.null(), verdict: z.null() }),
]);
export type VariantsSummary = z.infer<typeof variantsSummarySchema>;
type WordingSummary = z.infer<typeof wordingSchema>;
export type Outcome =
  | { method: "sampled"; verdict: VariantVerdict }
  | { method: "deterministic"; verdict: z.infer<typeof certainVariantVerdictSchema> };

/** Input tokens of the first request of each trial, by arm: the tool list and the query. */
export class PromptSizes {
  readonly #arms = new Map<string, { sum: number; trials: number }>();

  add({ cell, turns: [first] }: Trial): void {
    if (!first) return;
    const arm = getOrAdd(this.#arms, cell.arm, () => ({ sum: 0, trials: 0 }));
    arm.sum += promptTokens(first.usage);
    arm.trials++;
  }

  /** The mean of an arm; 0 if nothing was reported. */
  mean(arm: string): number {
    const { sum, trials } = this.#arms.get(arm) ?? { sum: 0, trials: 1 };
    return sum / trials;
  }
}

/** The inputs of a summary. `lists`: for each wording, the incumbent first, the list that each case is shown. */
export type VariantsResult = {
  facts: ExperimentFacts;
  /** The verdict, or the exit code of whatever stopped the experiment before it. */
  outcome: Outcome | { stopped: ExitCode };
  record: TrialRecord;
  margin: number;
  /** The maximum number of trials that could have been requested. */
  cap: number;
  cases: readonly string[];
  untouched: readonly string[];
  lists: ReadonlyMap<string, readonly (readonly OfferedTool[])[]>;
  prompts: PromptSizes;
};

/** The summary of an experiment with variants, decided or stopped. */
export function summariseVariants(result: VariantsResult): VariantsSummary {
  const { facts, outcome, record, margin, cap, cases, untouched, lists } = result;
  const paid = cases.flatMap((id) => [...lists.keys()].map((arm) => record.paid(id, arm)));
  const verdict = "stopped" in outcome ? undefined : outcome.verdict;
  const best = "stopped" in outcome ? undefined : findBest(outcome);
  const shared = {
    ...facts,
    margin,
    cases: cases.length,
    untouched: [...untouched],
    wordings: summariseWordings(result, outcome),
    best: best === undefined ? null : { name: best, changes: describeChanges(best, lists) },
    calls: {
      made: sumOf(paid, ({ calls }) => calls),
      missing: sumOf(paid, ({ missing }) => missing),
      most: cap,
    },
    kind: verdict?.kind ?? ("inconclusive" as const),
    winner: verdict?.kind === "adopt" ? verdict.winner : null,
    exitCode: toExitCode({
      // An open verdict is not a failure if the trials were answered, and never a pass if they were not.
      undecided: verdict?.kind === "inconclusive" && verdict.because === "missing",
      stopped: "stopped" in outcome ? outcome.stopped : undefined,
    }),
  };
  return "stopped" in outcome ? { ...shared, method: null, verdict: null } : { ...shared, ...outcome };
}

function findBest(outcome: Outcome): string | undefined {
  if (outcome.method === "deterministic") return outcome.verdict.tests[0]?.challenger;
  return outcome.verdict.gain?.challenger;
}

function summariseWordings(
  { cases, record, lists, prompts }: VariantsResult,
  outcome: VariantsResult["outcome"],
): WordingSummary[] {
  // Tokens and bytes cannot be compared, so tokens are used only if all arms report them.
  const measured = [...lists.keys()].every((name) => prompts.mean(name) > 0);
  const rounds = "verdict" in outcome && outcome.method === "sampled" ? outcome.verdict.screening : [];
  return [...lists].map(([name, shown]) => {
    const answers = cases.flatMap((id) => record.answers(id, name));
    const bytes = sumOf(shown, (list) => countBytes(list)) / Math.max(1, shown.length);
    const screened = rounds.flatMap((round, at) => {
      const own = round.find(({ challenger }) => challenger === name);
      return own ? [{ round: at + 1, rate: own.rate }] : [];
    });
    return {
      name,
      passed: answers.filter((answer) => answer === "pass").length,
      trials: answers.filter((answer) => answer === "pass" || answer === "fail").length,
      screened: screened.at(-1) ?? null,
      size: measured ? { kind: "tokens", mean: prompts.mean(name) } : { kind: "bytes", mean: bytes },
    };
  });
}

/** What a model is sent of a list. */
function countBytes(tools: readonly OfferedTool[]): number {
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return new TextEncoder().encode(JSON.stringify(shown)).length;
}

function describeChanges(name: string, lists: VariantsResult["lists"]): z.infer<typeof changeSchema>[] {
  const before = lists.get(incumbentArm) ?? [];
  const after = lists.get(name) ?? [];
  const changes = before.flatMap((list, at) => listChanges(list, after[at] ?? []));
  return [...new Map(changes.map(pickTexts).map((change) => [change.label, change])).values()];
}
