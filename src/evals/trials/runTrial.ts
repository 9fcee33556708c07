import type { Model } from "../types/model.ts";
import type { OfferedTool } from "../types/tool.ts";
import { type Answer, addCost, type Cost, type Trial, type Turn, type Verdict } from "../types/trial.ts";
import { converse } from "./converse.ts";
import { executorFor } from "./execute.ts";
import { orderTools, type PlannedCell } from "./plan.ts";
import type { ServerPool } from "./serverPool.ts";

/** How a host shows a list: the tools under their shown names, and the way back. */
export type Shown = { tools: readonly OfferedTool[]; listedName: (shown: string) => string };

/** What a trial needs of the world, handed in so that it can be run against anything. */
export type TrialContext = {
  pool(cell: PlannedCell): ServerPool | undefined;
  show(cell: PlannedCell): Shown;
  grade(cell: PlannedCell, turns: readonly Turn[]): Verdict;
  now(): Date;
};

/** Runs one cell from its question to its score. Does not throw for anything that a model or a server does. */
export async function runTrial(place: PlannedCell, context: TrialContext, signal: AbortSignal): Promise<Trial> {
  const { cell, orderSeed, model, planned } = place;
  const startedAt = context.now();
  const { outcome, turns } = planned.unavailable
    ? { outcome: planned.unavailable, turns: [] }
    : await answer(place, context, signal);
  return {
    cell,
    toolset: planned.toolset.hash,
    orderSeed,
    outcome,
    turns,
    ...(outcome.kind === "answered" && { verdict: context.grade(place, turns) }),
    costUsd: costOf(turns, model),
    startedAt: startedAt.toISOString(),
    ms: context.now().getTime() - startedAt.getTime(),
  };
}

async function answer(place: PlannedCell, context: TrialContext, signal: AbortSignal): Promise<Answer> {
  const { cell, orderSeed, model } = place;
  const { suite, case: one, toolset } = place.planned;
  const executor = executorFor(toolset, suite.execute, context.pool(place));
  const asked = { cell, messages: one.messages, maxTurns: one.maxTurns };
  try {
    if ("converse" in model) {
      const tools = orderTools(toolset.tools, orderSeed);
      return await model.converse({ ...asked, tools, skills: [], files: [], execute: executor.execute }, signal);
    }
    const { tools, listedName } = context.show(place);
    const shown = { tools: orderTools(tools, orderSeed), toolset: toolset.hash, listedName };
    return await converse({ ...asked, ...shown, model, executor }, signal);
  } finally {
    await executor.close();
  }
}

function costOf(turns: readonly Turn[], model: Model): Cost {
  return turns.map(({ usage }) => model.cost(usage)).reduce(addCost, 0);
}
