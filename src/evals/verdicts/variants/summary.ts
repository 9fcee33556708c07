import { listChanges } from "../../changes/changes.ts";
import type { Counts } from "../../stats/counts.ts";
import { comparable } from "../../stats/counts.ts";
import type { Interval } from "../../stats/intervals.ts";
import { wilson } from "../../stats/intervals.ts";
import type { ExitCode } from "../../types/errors.ts";
import type { OfferedTool } from "../../types/tool.ts";
import type { Trial } from "../../types/trial.ts";
import { type Evidence, type ExperimentFacts, incumbent, madeTrials } from "../design.ts";
import { toExitCode } from "../exitCode.ts";
import type { DeterministicVerdict } from "./designs.ts";
import type { VariantTest } from "./verdict.ts";
import { measureStanding, type VariantBasis, type VariantVerdict } from "./verdict.ts";

type Verdict = VariantVerdict | DeterministicVerdict;

/**
 * How one wording did. `size` is what its list takes of a prompt: the mean input tokens of the first request of its
 * trials, or, where the model reports none, the bytes of its JSON. `test` is that against the incumbent, null where it
 * was not tested: `harms` are the cases shown to break, which may be none though some case does (`harmed`); `p` and the
 * interval are null for a deterministic model.
 */
export type WordingSummary = Counts & {
  name: string;
  interval: Interval | null;
  size: { kind: "tokens" | "bytes"; mean: number };
  test: {
    gain: { change: number; interval: Interval | null } | null;
    p: number | null;
    harmed: boolean;
    harms: readonly string[];
  } | null;
};

/** The result of `evals variants`: the object that `--json` prints and the report is made from. Rates are 0 to 1. */
export type VariantsSummary = ExperimentFacts & {
  kind: "adopt" | "keep" | "inconclusive";
  basis: VariantBasis;
  /** Trials per case and wording that would settle what is inconclusive. */
  furtherTrials: number | null;
  /** Null when it was stopped before the verdict. */
  method: "uniform" | "halving" | "deterministic" | null;
  margin: number;
  /** The wording to adopt. */
  winner: string | null;
  /** The incumbent first, then the variants in the order of their file. */
  wordings: readonly WordingSummary[];
  /** The best challenger, adopted or not, with what it changes and the cases that it flips. */
  best: {
    name: string;
    flipped: readonly { case: string; direction: "mended" | "broken"; incumbent: Counts; challenger: Counts }[];
    changes: readonly { label: string; before?: string; after?: string }[];
  } | null;
  /** Halving only: the wordings that were still in after each round. */
  rounds: readonly (readonly string[])[];
  /** Cases that no variant touches: they were not asked. */
  untouched: readonly string[];
  cases: number;
  calls: { made: number; broken: number; saved: number };
  exitCode: number;
};

/** Input tokens of the first request of each trial, by arm: the list, and what is asked in addition to it. */
export class PromptSizes {
  readonly #arms = new Map<string, { sum: number; trials: number }>();

  add({ cell, turns: [first] }: Trial): void {
    if (!first) return;
    const { inputTokens, cacheReadTokens, cacheWriteTokens } = first.usage;
    const known = this.#arms.get(cell.arm) ?? { sum: 0, trials: 0 };
    const sum = known.sum + inputTokens + cacheReadTokens + cacheWriteTokens;
    this.#arms.set(cell.arm, { sum, trials: known.trials + 1 });
  }

  /** The mean of an arm; 0 where nothing was reported. */
  mean(arm: string): number {
    const { sum, trials } = this.#arms.get(arm) ?? { sum: 0, trials: 1 };
    return sum / trials;
  }
}

/** What a summary is made from. `lists`: by wording, the incumbent first, the list that each case is shown. */
export type VariantsResult = {
  facts: ExperimentFacts;
  /** Absent when the experiment was stopped, with the exit code of that. */
  verdict: Verdict | { stopped: ExitCode };
  evidence: Evidence;
  margin: number;
  cases: readonly string[];
  untouched: readonly string[];
  lists: ReadonlyMap<string, readonly (readonly OfferedTool[])[]>;
  prompts: PromptSizes;
};

/** The summary of an experiment with variants, decided or stopped. */
export function summariseVariants(result: VariantsResult): VariantsSummary {
  const { facts, evidence, margin, cases, untouched, lists } = result;
  const verdict = "stopped" in result.verdict ? undefined : result.verdict;
  const spent = [...lists.keys()].map((arm) => madeTrials(evidence, cases, arm));
  return {
    ...facts,
    kind: verdict?.kind ?? "inconclusive",
    basis: verdict?.basis ?? { kind: "stopped" },
    furtherTrials: verdict?.furtherTrials ?? null,
    method: verdict?.method ?? null,
    margin,
    winner: verdict?.winner ?? null,
    wordings: summariseWordings(result, verdict),
    best: verdict?.best ? describeBest(verdict.best, lists) : null,
    rounds: verdict?.rounds ?? [],
    untouched,
    cases: cases.length,
    calls: {
      made: spent.reduce((sum, one) => sum + one.made, 0),
      broken: spent.reduce((sum, one) => sum + one.broken, 0),
      saved: verdict?.calls.saved ?? 0,
    },
    exitCode: toExitCode({
      undecided: "stopped" in result.verdict || isUndecided(result.verdict),
      stopped: "stopped" in result.verdict ? result.verdict.stopped : undefined,
    }),
  };
}

/** An open verdict on scored trials is no alarm; one without scored trials is never a pass. */
function isUndecided({ kind, best }: Verdict): boolean {
  const isScored = best !== undefined && comparable(best.counts).length === best.counts.length;
  return kind === "inconclusive" && !isScored;
}

function summariseWordings(
  { evidence, cases, lists, prompts }: VariantsResult,
  verdict: Verdict | undefined,
): WordingSummary[] {
  // Tokens and bytes cannot be compared, so it is tokens for all or for none.
  const measured = [...lists.keys()].every((name) => prompts.mean(name) > 0);
  return [...lists].map(([name, shown]) => {
    const { passed, trials } = measureStanding(evidence, cases, name);
    const test = verdict?.tests.find((one) => one.variant === name);
    const bytes = shown.reduce((sum, list) => sum + countBytes(list), 0) / shown.length;
    return {
      name,
      passed,
      trials,
      interval: wilson({ passed, trials }) ?? null,
      size: measured ? { kind: "tokens", mean: prompts.mean(name) } : { kind: "bytes", mean: bytes },
      test: test ? summariseTest(test, verdict?.method === "deterministic") : null,
    };
  });
}

/** What a model is sent of a list. */
function countBytes(tools: readonly OfferedTool[]): number {
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return new TextEncoder().encode(JSON.stringify(shown)).length;
}

function summariseTest({ gain, adjusted, harm, flipped }: VariantTest, certain: boolean): WordingSummary["test"] {
  const lost = flipped.filter(({ direction }) => direction === "broken").map((one) => one.case);
  return {
    gain:
      gain.kind === "estimated" ? { change: gain.change, interval: certain ? null : [gain.lower, gain.upper] } : null,
    p: certain ? null : adjusted,
    harmed: certain ? lost.length > 0 : harm.harmed,
    harms: certain ? lost : harm.harmed ? harm.cases : [],
  };
}

function describeBest({ variant, flipped }: VariantTest, lists: VariantsResult["lists"]): VariantsSummary["best"] {
  const before = lists.get(incumbent) ?? [];
  const after = lists.get(variant) ?? [];
  const changes = before.flatMap((list, at) => listChanges(list, after[at] ?? []));
  const texts = changes.map(({ label, before, after }) => {
    return { label, ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
  });
  return {
    name: variant,
    flipped: flipped.map(({ case: id, direction, base, head }) => {
      return { case: id, direction, incumbent: base, challenger: head };
    }),
    changes: [...new Map(texts.map((change) => [change.label, change])).values()],
  };
}
