import type { HostModel, Model } from "../types/model.ts";
import { addCost, type Broken, type Cost, type Judging, type Score, type Trial, type Turn } from "../types/trial.ts";
import { converse, createConversation, createHostedTrial, type Surface } from "./conversation.ts";
import { createExecutor, type ServerPool } from "./execution.ts";
import type { PlannedCell } from "./plan.ts";

/** The score of a trial, and the usage of the judge if one was asked. */
export type Graded = { verdict: Score; judging?: Judging };

/** What a trial needs from outside; handed in so that trials can be tested with anything. */
export type TrialContext = Surface & {
  pool(cell: PlannedCell): ServerPool | undefined;
  grade(cell: PlannedCell, turns: readonly Turn[], signal: AbortSignal): Promise<Graded>;
  now(): Date;
};

type HostAnswer = Awaited<ReturnType<HostModel["converse"]>>;

/** Runs one cell, from its query to its score. Does not throw for anything that a model or a server does. */
export async function runTrial(place: PlannedCell, context: TrialContext, signal: AbortSignal): Promise<Trial> {
  const { cell, orderSeed, model, planned } = place;
  const startedAt = context.now();
  const { outcome, turns, costUsd }: HostAnswer = planned.unavailable
    ? { outcome: planned.unavailable, turns: [] }
    : await answer(place, context, signal);
  const graded = outcome.kind === "answered" ? await context.grade(place, turns, signal) : undefined;
  const spent = costUsd ?? sumCosts(turns, model);
  // The run was stopped before the judge replied: the trial is run again when the run is resumed.
  const isUnjudged = signal.aborted && graded?.verdict.grade === "not-gradable";
  return {
    cell,
    toolset: planned.toolset.hash,
    orderSeed,
    outcome: isUnjudged ? stoppedUnjudged : outcome,
    turns,
    ...(!isUnjudged && graded),
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
  const executor = createExecutor(toolset, suite.execute, context.pool(place));
  try {
    const { model } = place;
    return "converse" in model
      ? await model.converse(createHostedTrial(place, context.skills(place), executor), signal)
      : await converse(createConversation({ ...place, model }, context, executor), signal);
  } finally {
    await executor.close();
  }
}

function sumCosts(turns: readonly Turn[], model: Model): Cost {
  return turns.map(({ usage }) => model.cost(usage)).reduce(addCost, 0);
}
