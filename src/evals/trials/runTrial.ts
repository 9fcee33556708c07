import type { HostModel, Model } from "../types/model.ts";
import type { OfferedTool } from "../types/tool.ts";
import { addCost, type Broken, type Cost, type Judging, type Score, type Trial, type Turn } from "../types/trial.ts";
import { conversationOf, hostedTrial } from "./conversation.ts";
import { converse } from "./converse.ts";
import { executorFor } from "./execute.ts";
import type { SkillShelf } from "./library.ts";
import type { PlannedCell } from "./plan.ts";
import type { ServerPool } from "./serverPool.ts";

/** How a host shows a list: the tools under their shown names, and the way back. */
export type Shown = { tools: readonly OfferedTool[]; listedName: (shown: string) => string };

/** The score of a trial, and the usage of the judge if one was asked. */
export type Graded = { verdict: Score; judging?: Judging };

/** What a trial needs of the world, handed in so that it can be run against anything. */
export type TrialContext = {
  pool(cell: PlannedCell): ServerPool | undefined;
  show(cell: PlannedCell): Shown;
  /** The skills that are offered in the suite of the cell, if any. */
  skills(cell: PlannedCell): SkillShelf | undefined;
  grade(cell: PlannedCell, turns: readonly Turn[], signal: AbortSignal): Promise<Graded>;
  now(): Date;
};

type HostAnswer = Awaited<ReturnType<HostModel["converse"]>>;

/** Runs one cell from its question to its score. Does not throw for anything that a model or a server does. */
export async function runTrial(place: PlannedCell, context: TrialContext, signal: AbortSignal): Promise<Trial> {
  const { cell, orderSeed, model, planned } = place;
  const startedAt = context.now();
  const { outcome, turns, costUsd }: HostAnswer = planned.unavailable
    ? { outcome: planned.unavailable, turns: [] }
    : await answer(place, context, signal);
  const graded = outcome.kind === "answered" ? await context.grade(place, turns, signal) : undefined;
  const spent = costUsd ?? costOf(turns, model);
  // Stopped while its judge was asked: it is asked again when the run is resumed.
  const unjudged = signal.aborted && graded?.verdict.grade === "not-gradable";
  return {
    cell,
    toolset: planned.toolset.hash,
    orderSeed,
    outcome: unjudged ? stoppedUnjudged : outcome,
    turns,
    ...(!unjudged && graded),
    costUsd: graded?.judging ? addCost(spent, graded.judging.costUsd) : spent,
    startedAt: startedAt.toISOString(),
    ms: context.now().getTime() - startedAt.getTime(),
  };
}

const stoppedUnjudged: Broken = {
  kind: "broken",
  stage: "cancelled",
  message: "the run was stopped before the answer was judged",
};

async function answer(place: PlannedCell, context: TrialContext, signal: AbortSignal): Promise<HostAnswer> {
  const { suite, toolset } = place.planned;
  const executor = executorFor(toolset, suite.execute, context.pool(place));
  try {
    const { model } = place;
    return "converse" in model
      ? await model.converse(hostedTrial(place, context.skills(place), executor), signal)
      : await converse(conversationOf({ ...place, model }, context, executor), signal);
  } finally {
    await executor.close();
  }
}

function costOf(turns: readonly Turn[], model: Model): Cost {
  return turns.map(({ usage }) => model.cost(usage)).reduce(addCost, 0);
}
