import * as z from "zod";
import { countPasses, TrialRecord } from "../../asking/trials/design.ts";
import { getOrAdd } from "../../base/getOrAdd.ts";
import { comparable, pool, rate } from "../../base/stats/counts.ts";
import { cochranMantelHaenszel, holm, isSignificant } from "../../base/stats/hypothesisTests.ts";
import { wilson } from "../../base/stats/intervals.ts";
import { netChange } from "../../base/stats/meanDrop.ts";
import { deriveSeed, seededRandom, shuffle } from "../../base/stats/random.ts";
import { countsSchema, intervalSchema } from "../../base/types/check.ts";
import type { ExitCode } from "../../base/types/errors.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Trial } from "../../base/types/trial.ts";
import { addTrial, readObservation } from "../design/observe.ts";
import { type ExperimentFacts, experimentFacts } from "../results/design.ts";
import { toExitCode } from "../results/exitCode.ts";
import { Counter } from "../results/tally.ts";

const insteadSchema = z.enum(["own tool", "foreign tool", "no tool", "unknown tool", "right tool, wrong call"]);
/** What a failed trial picked instead of the right tool. Foreign tools are those of other servers. */
export type Instead = z.infer<typeof insteadSchema>;

/**
 * The selection rate with `size` foreign tools in addition to its own. `change` is that against the smallest size, as a mean
 * over cases; `p`: exact, one-sided, that the rate fell, `adjusted` for all sizes together. They are null at the smallest
 * size, where nothing was scored, and (`p` and the interval) for a deterministic model.
 */
const pointSchema = countsSchema.extend({
  size: z.int(),
  broken: z.int(),
  interval: intervalSchema.nullable(),
  change: z.object({ change: z.number(), interval: intervalSchema.nullable() }).nullable(),
  p: z.number().nullable(),
  adjusted: z.number().nullable(),
  instead: z.partialRecord(insteadSchema, z.int()).readonly(),
});
export type CrowdPoint = z.infer<typeof pointSchema>;

/** A case that passes less often at the largest size than at the smallest, with its picks there. */
const fallSchema = z.object({
  case: z.string(),
  alone: countsSchema,
  crowded: countsSchema,
  picked: z.array(z.object({ tool: z.string(), n: z.int() })).readonly(),
});
export type Fall = z.infer<typeof fallSchema>;

/**
 * The result of `evals crowd`: the object that `--json` prints and the report is made from. `fell`: shown at some size.
 * `stopped`: the points are of the trials made until then. `servers`: sizes count other servers of the configuration, not
 * tools.
 */
export const crowdSummarySchema = z.object({
  ...experimentFacts,
  points: z.array(pointSchema).readonly(),
  falls: z.array(fallSchema).readonly(),
  kind: z.enum(["fell", "no fall shown", "not scored", "stopped"]),
  cases: z.int(),
  servers: z.literal(true).optional(),
  exitCode: z.int(),
});
export type CrowdSummary = z.infer<typeof crowdSummarySchema>;
export type CrowdCurve = Pick<CrowdSummary, "points" | "falls">;

/** The one-sided level, corrected for all sizes, at which a fall counts as shown. */
const level = 0.05;

/** The summary of a curve; `stopped` is the exit code of an experiment that was stopped. */
export function summariseCrowd(
  facts: ExperimentFacts,
  curve: CrowdCurve,
  how: { cases: number; certain: boolean; servers: boolean; stopped: ExitCode | undefined },
): CrowdSummary {
  const { cases, certain, servers, stopped } = how;
  const kind = stopped === undefined ? classifyCurve(curve, certain) : "stopped";
  const exitCode = toExitCode({ undecided: kind === "not scored", stopped });
  return { ...facts, kind, ...curve, cases, ...(servers && { servers }), exitCode };
}

/** With a deterministic model there is no noise, so any fall counts. */
function classifyCurve({ points }: CrowdCurve, certain: boolean): Exclude<CrowdSummary["kind"], "stopped"> {
  if (points.some(({ trials }) => trials === 0)) return "not scored";
  const fell = points.some(({ change, adjusted }) =>
    certain ? change !== null && change.change < 0 : adjusted !== null && isSignificant(adjusted, level),
  );
  return fell ? "fell" : "no fall shown";
}

export const crowdArm = (size: number): string => `crowd-${size}`;

/**
 * The foreign tools in the order in which they are added. It depends on the seed and not on the given order, so that a
 * smaller crowd is part of a larger one. Tools with a taken name, of an own or another foreign tool, are left out.
 */
export function orderForeignTools(foreign: readonly OfferedTool[], own: ReadonlySet<string>, seed: number) {
  const taken = new Set(own);
  const free = foreign.filter(({ name }) => !taken.has(name) && taken.add(name));
  const sorted = free.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const left = new Set(free);
  return {
    tools: shuffle(sorted, seededRandom(deriveSeed(seed, "crowd"))),
    leftOut: foreign.filter((tool) => !left.has(tool)),
  };
}

type CrowdSetup = {
  cases: readonly string[];
  /** Ascending. */
  sizes: readonly number[];
  /** Whether the model is deterministic. */
  certain: boolean;
};

/** Computes the curve from the trials of all sizes. */
export class CrowdTally {
  readonly #setup: CrowdSetup;
  readonly #isForeign: (id: string, tool: string) => boolean;
  readonly #record = new TrialRecord();
  readonly #instead = new Map<string, Partial<Record<Instead, number>>>();
  /** By case and arm. */
  readonly #picked = new Map<string, Counter>();

  /** `isForeign`: whether a tool belongs to a server other than the one that a case is about. */
  constructor(setup: CrowdSetup, isForeign: (id: string, tool: string) => boolean) {
    this.#setup = setup;
    this.#isForeign = isForeign;
  }

  add(trial: Trial): void {
    const { case: id, arm } = trial.cell;
    addTrial(this.#record, trial);
    if (readObservation(trial) !== "fail" || !trial.verdict) return;
    const instead = classifyPick(trial, (tool) => this.#isForeign(id, tool));
    const counts = getOrAdd<string, Partial<Record<Instead, number>>>(this.#instead, arm, () => ({}));
    counts[instead] = (counts[instead] ?? 0) + 1;
    getOrAdd(this.#picked, JSON.stringify([id, arm]), () => new Counter()).add(trial.verdict.picked);
  }

  curve(): CrowdCurve {
    this.#record.giveUp();
    const [first = 0, ...others] = this.#setup.sizes;
    const ps = others.map((size) => this.#test(first, size));
    const adjusted = holm(ps.map((p) => p ?? 1));
    const points = others.map((size, i) => this.#point(size, first, ps[i] ?? null, ps[i] == null ? null : adjusted[i]));
    return { points: [this.#point(first, first, null, null), ...points], falls: this.#falls(first, others.at(-1)) };
  }

  #counts(first: number, size: number) {
    const count = (id: string, n: number) => countPasses(this.#record, id, crowdArm(n));
    return this.#setup.cases.map((id) => ({ case: id, base: count(id, first), head: count(id, size) }));
  }

  #test(first: number, size: number): number | undefined {
    const counts = this.#counts(first, size);
    return this.#setup.certain || comparable(counts).length === 0 ? undefined : cochranMantelHaenszel(counts);
  }

  #point(size: number, first: number, p: number | null, adjusted: number | null | undefined): CrowdPoint {
    const { certain } = this.#setup;
    const counts = this.#counts(first, size);
    const all = pool(counts.map(({ head }) => head));
    const net = netChange(counts);
    return {
      size,
      ...all,
      broken: this.#countBroken(crowdArm(size)),
      interval: wilson(all) ?? null,
      change: size === first || !net ? null : { change: net.change, interval: certain ? null : net.interval },
      p,
      adjusted: adjusted ?? null,
      instead: { ...this.#instead.get(crowdArm(size)) },
    };
  }

  #countBroken(arm: string): number {
    const answers = this.#setup.cases.flatMap((id) => [...this.#record.answers(id, arm)]);
    return answers.filter((answer) => answer === "missing").length;
  }

  #falls(first: number, last: number | undefined): Fall[] {
    if (last === undefined) return [];
    const fallen = this.#counts(first, last).flatMap(({ case: id, base, head }) => {
      if (base.trials === 0 || head.trials === 0 || rate(head) >= rate(base)) return [];
      const picked = this.#picked.get(JSON.stringify([id, crowdArm(last)]))?.ranked() ?? [];
      return [{ case: id, alone: base, crowded: head, picked: picked.map(([tool, n]) => ({ tool, n })) }];
    });
    const depth = ({ alone, crowded }: Fall) => rate(alone) - rate(crowded);
    return fallen.sort((a, b) => depth(b) - depth(a) || (a.case < b.case ? -1 : 1));
  }
}

/** The pick of a trial. A foreign call anywhere in it takes precedence, because that is the effect of a crowd. */
function classifyPick({ turns, verdict }: Trial, isForeign: (tool: string) => boolean): Instead {
  if (turns.some(({ calls }) => calls.some(({ tool }) => isForeign(tool)))) return "foreign tool";
  switch (verdict?.selection) {
    case "no-call":
    case "refused":
    case "cut-off":
    case "abstained":
      return "no tool";
    case "unknown-tool":
      return "unknown tool";
    case "malformed-arguments":
    case "wrong-arguments":
    case "wrong-result":
    case "right-tool":
      return "right tool, wrong call";
    default:
      return "own tool";
  }
}
