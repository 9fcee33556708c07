import * as z from "zod";
import { isGraded, type TrialRecord } from "../../asking/trials/design.ts";
import { sumOf } from "../../base/collections.ts";
import { countsSchema, namedCaseSchema, type PlaceboResult, placeboSchema } from "../../base/types/check.ts";
import type { ExitCode } from "../../base/types/errors.ts";
import { jsonObjectSchema } from "../../base/types/json.ts";
import { countListTokens, type OfferedTool, readOwnName } from "../../base/types/tool.ts";
import { listChanges, pickTexts } from "../../servers/changes/changes.ts";
import { formatName } from "../../servers/changes/names.ts";
import { listRenamingEffects } from "../../servers/changes/tools.ts";
import { showTool } from "../../servers/host.ts";
import { defaultMargin } from "../design/statistics.ts";
import { type ExperimentFacts, experimentFacts, toExitCode } from "../results/outcome.ts";

/** The arm of the wording in use. */
export const incumbentArm = "incumbent";

const count = z.int().nonnegative();

const gainSchema = z.object({
  challenger: z.string(),
  look: count,
  trials: count,
  p: z.number(),
  level: z.number(),
  /** Over the cases with room: the mean gain and its upper bound (one-sided 95 %). */
  mean: z.number(),
  upper: z.number(),
  /** The cases with room, by their own p of a gain. */
  cases: z.array(namedCaseSchema),
});

/** A loss on a case that is left possible, at the z of the certificate. */
const certifiedSchema = z.object({
  case: z.string(),
  incumbent: countsSchema,
  challenger: countsSchema,
  bound: z.number(),
  harm: z.number(),
});

/** The mean rate over all cases with either wording, and the largest fall that is not ruled out (one-sided 95 %). */
const ratesSchema = z.object({ incumbent: z.number(), challenger: z.number(), fall: z.number() });

/** The wordings after each round of the screening, best first, with their mean pass rate over the cases with room. */
export const screeningSchema = z.array(z.array(z.object({ challenger: z.string(), rate: z.number() })));

const figures = {
  cases: count,
  room: z.array(z.string()),
  margin: z.number(),
  screening: screeningSchema,
  gain: gainSchema.nullable(),
  /** How often answers pass, and how often they select the right tool, or rightly none. Null before the certificate. */
  rates: z.object({ pass: ratesSchema, selection: ratesSchema }).nullable(),
  certificates: z.array(certifiedSchema),
};

/**
 * `adopt`: the challenger gains, and neither a loss of the harm on a case is left possible nor a mean fall of
 * selections by the margin. `keep`: every case passes already (`no-room`), none was better where it was searched for
 * (`no-candidate`), no gain of the margin is left possible (`no-gain`), or it breaks cases (`breaks`), gains nothing on
 * the whole (`no-net-gain`), or selects the right tool less often by the margin (`selection`). `inconclusive`: a gain
 * of the margin is neither shown nor ruled out (`gain`), or it gains and such a loss or fall is not ruled out (`harm`);
 * `settle`: trials per wording of these cases at which that would be known if the rates stay as they are, null when too
 * many. Or too many trials are missing (`missing`).
 */
export const variantVerdictSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("adopt"), winner: z.string(), ...figures }),
  z.object({
    kind: z.literal("keep"),
    because: z.enum(["no-room", "no-candidate", "no-gain", "breaks", "no-net-gain", "selection"]),
    broken: z.array(namedCaseSchema),
    ...figures,
  }),
  z.discriminatedUnion("because", [
    z.object({
      kind: z.literal("inconclusive"),
      because: z.enum(["gain", "harm"]),
      settle: z.object({ cases: z.array(z.string()), trials: count }).nullable(),
      ...figures,
    }),
    z.object({ kind: z.literal("inconclusive"), because: z.literal("missing"), ...figures }),
  ]),
]);

export type VariantVerdict = z.infer<typeof variantVerdictSchema>;
/** The fields of every verdict. */
export type VariantFigures = Pick<VariantVerdict, keyof typeof figures>;
/** The figures of a verdict before any trial. */
export const startFigures = (cases: number, margin = defaultMargin): VariantFigures => {
  return { cases, room: [], margin, screening: [], gain: null, rates: null, certificates: [] };
};
export type Gain = NonNullable<VariantFigures["gain"]>;

/**
 * One challenger on a deterministic model: the cases that it repairs and that it breaks, and in how many either wording
 * selects the right tool, of those answered with both wordings; and those that were not.
 */
const comparisonSchema = z.object({
  challenger: z.string(),
  repaired: z.array(z.string()),
  broken: z.array(z.string()),
  selected: z.object({ incumbent: count, challenger: count }),
  unanswered: z.array(z.string()),
});

/**
 * `adopt`: the winner passes more cases than the incumbent and breaks none. `keep`: none passes more (`no-gain`), or
 * all that do break a case (`breaks`) or lose selections by the margin (`selection`). `inconclusive`: cases were not
 * answered. `tests`: the best first.
 */
export const certainVariantVerdictSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("adopt"), winner: z.string(), tests: z.array(comparisonSchema) }),
  z.object({
    kind: z.literal("keep"),
    because: z.enum(["no-gain", "breaks", "selection"]),
    tests: z.array(comparisonSchema),
  }),
  z.object({ kind: z.literal("inconclusive"), because: z.literal("missing"), tests: z.array(comparisonSchema) }),
]);
export type CertainVariantVerdict = z.infer<typeof certainVariantVerdictSchema>;
export type Comparison = z.infer<typeof comparisonSchema>;

/**
 * One wording with all of its trials (of whichever cases it was asked) and the tokens that its list takes of a request,
 * the mean of all cases. `screened`: its mean pass rate over the cases with room in the last round of the screening
 * that it took part in.
 */
const wordingSchema = z.object({
  name: z.string(),
  passed: count,
  trials: count,
  screened: z.object({ round: count, rate: z.number() }).nullable(),
  tokens: z.number(),
});

const changeSchema = z.object({ label: z.string(), before: z.string().optional(), after: z.string().optional() });

/** What another name breaks for callers, how to avoid it, and the tokens of the tool listed under its old name too. */
const renamingSchema = z.object({ breaks: z.array(z.string()), fix: z.string(), aliasTokens: count });

const facts = {
  ...experimentFacts,
  margin: z.number(),
  /** The cases that were run, and those that no variant affects. */
  cases: count,
  notAsked: z.array(z.string()),
  /** What harmless edits did to the cases of the suite, if the baseline tells. */
  placebo: placeboSchema.nullable(),
  /** The incumbent first, then the variants in the order of their file. */
  wordings: z.array(wordingSchema),
  /** The wording that was tested, or that passes most, with what it changes. */
  best: z.object({ name: z.string(), changes: z.array(changeSchema), renamings: z.array(renamingSchema) }).nullable(),
  calls: z.object({ made: count, missing: count, most: count }),
  kind: z.enum(["adopt", "keep", "inconclusive"]),
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
  | { method: "deterministic"; verdict: CertainVariantVerdict };

/** The inputs of a summary. `lists`: for each wording, the incumbent first, the list that each case is shown. */
export type VariantsResult = {
  facts: ExperimentFacts;
  /** The verdict, or the exit code of whatever stopped the experiment before it. */
  outcome: Outcome | { stopped: ExitCode };
  record: TrialRecord;
  margin: number;
  placebo: PlaceboResult | null;
  /** The maximum number of trials that could have been requested. */
  cap: number;
  cases: readonly string[];
  notAsked: readonly string[];
  lists: ReadonlyMap<string, readonly (readonly OfferedTool[])[]>;
};

/** The summary of an experiment with variants, decided or stopped. */
export function summarizeVariants(result: VariantsResult): VariantsSummary {
  const { facts, outcome, record, margin, placebo, cap, cases, notAsked, lists } = result;
  const paid = cases.flatMap((id) => [...lists.keys()].map((arm) => record.paid(id, arm)));
  const verdict = "stopped" in outcome ? undefined : outcome.verdict;
  const best = "stopped" in outcome ? undefined : findBest(outcome);
  const shared = {
    ...facts,
    margin,
    cases: cases.length,
    notAsked: [...notAsked],
    placebo,
    wordings: summarizeWordings(result, outcome),
    best: best === undefined ? null : { name: best, ...describeChanges(best, lists) },
    calls: { made: sumOf(paid, ({ calls }) => calls), missing: sumOf(paid, ({ missing }) => missing), most: cap },
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

function summarizeWordings(
  { cases, record, lists }: VariantsResult,
  outcome: VariantsResult["outcome"],
): WordingSummary[] {
  const rounds = "verdict" in outcome && outcome.method === "sampled" ? outcome.verdict.screening : [];
  return [...lists].map(([name, shown]) => {
    const answers = cases.flatMap((id) => record.answers(id, name));
    const tokens = sumOf(shown, (list) => countListTokens(list.map(showTool)));
    return {
      name,
      passed: answers.filter((answer) => answer === "pass").length,
      trials: answers.filter(isGraded).length,
      screened: findScreened(rounds, name),
      tokens: tokens / Math.max(1, shown.length),
    };
  });
}

/** The last round of a screening that a wording took part in, from 1, and its rate there; null if there is none. */
export function findScreened(rounds: VariantFigures["screening"], name: string): WordingSummary["screened"] {
  const round = rounds.findLastIndex((ranked) => ranked.some(({ challenger }) => challenger === name));
  const own = rounds[round]?.find(({ challenger }) => challenger === name);
  return own ? { round: round + 1, rate: own.rate } : null;
}

function describeChanges(name: string, lists: VariantsResult["lists"]) {
  const before = lists.get(incumbentArm) ?? [];
  const after = lists.get(name) ?? [];
  const changes = before.flatMap((list, at) => {
    const own = (after[at] ?? []).map(({ shownAs: _, ...tool }) => tool);
    return listChanges(list, own).map(pickTexts);
  });
  const renamed = new Map(after.flat().flatMap((tool) => (tool.shownAs ? [[tool.name, tool]] : [])));
  const tools = [...renamed.values()].map((tool) => ({
    tool,
    old: before.flat().find((one) => one.name === tool.name) ?? tool,
  }));
  const names = tools.flatMap(({ tool: { name: own, shownAs }, old }) => [
    ...(shownAs?.name === undefined
      ? []
      : [{ label: `${formatName(own)}: name`, before: readOwnName(old), after: shownAs.name }]),
    ...Object.entries(shownAs?.parameters ?? {}).map(([parameter, other]) => ({
      label: `${formatName(own)}.${formatName(parameter)}: name`,
      before: parameter,
      after: other,
    })),
  ]);
  return {
    changes: [...new Map([...names, ...changes].map((change) => [change.label, change])).values()],
    renamings: tools.map(({ tool, old }) => describeRenaming(old, showTool(tool))),
  };
}

function describeRenaming(old: OfferedTool, shown: OfferedTool): z.infer<typeof renamingSchema> {
  const effects = listRenamingEffects(
    toJson(old),
    toJson({ ...old, name: shown.name, inputSchema: shown.inputSchema }),
  );
  return {
    breaks: effects.map(({ what }) => what),
    fix: effects[0]?.fix ?? "",
    aliasTokens: countListTokens([{ ...old, description: `DEPRECATED: use ${shown.name}.` }]),
  };
}

const toJson = (tool: OfferedTool) => jsonObjectSchema.parse(JSON.parse(JSON.stringify(tool)));
