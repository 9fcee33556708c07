import { excerpt } from "../../base/text/text.ts";
import { messageOf } from "../../base/types/errors.ts";
import type { HostModel } from "../../base/types/model.ts";
import {
  addCost,
  type Broken,
  broken,
  type Judging,
  type Score,
  type Trial,
  type Turn,
} from "../../base/types/trial.ts";
import { createDispatchReader, listDispatchedTools, readDispatchedTurns } from "../scoring/dispatch.ts";
import { compileMocks } from "../scoring/matchers.ts";
import { converse, createConversation, createHostedTrial, findUnfit, type Presenter } from "./conversation.ts";
import { createExecutor, type HeldResults, type ServerPool } from "./execution.ts";
import type { SpendingLimits } from "./limits.ts";
import type { PlannedCell } from "./plan.ts";

/**
 * Runs the trials of one run: in this process, in batches, or on workers. Everything else (the plan, the record,
 * limits, designs) is the same for all of them.
 */
export type Asker = {
  /**
   * Runs one cell to its score. Resolves soon after `signal` aborts, with a trial that is broken with stage
   * "cancelled". Rejects only when no further trial can be asked.
   */
  ask(plannedCell: PlannedCell, signal: AbortSignal): Promise<Trial>;
  /** Splits a plan into parts that run concurrently, each with its own concurrency. Absent: one part. */
  lanes?(cells: Iterable<PlannedCell>): { cells: Iterable<PlannedCell>; concurrency: number; isBatch?: boolean }[];
  /** Called once for each trial from `ask`: it is on disk, or is not recorded because nothing was asked. */
  settle?(trial: Trial): void;
  /** Called at the end, after all trials are settled. */
  close?(): Promise<void>;
};

/** Runs trials in this process. */
export const createLocalAsker = (context: TrialContext): Asker => ({
  ask: (plannedCell, signal) => runTrial(plannedCell, context, signal),
});

/** The score of a trial, and the usage of the judge if asked. `stopped`: why the judge answers no more requests. */
export type Graded = { verdict: Score; judging?: Judging; stopped?: Broken };

/**
 * What grading needs beside the turns. `deferred`: listed names of the tools whose definitions were not shown from the
 * start. `workspace`: the files as a host left them.
 */
type GradingFacts = { deferred?: ReadonlySet<string> | undefined; workspace?: HostAnswer["workspace"] };

/** The dependencies of a trial, passed in so that tests can replace them. */
export type TrialContext = Presenter & {
  pool(cell: PlannedCell): ServerPool | undefined;
  grade(cell: PlannedCell, turns: readonly Turn[], signal: AbortSignal, facts?: GradingFacts): Promise<Graded | Broken>;
  now(): Date;
  /** The limits of the run. The models are already within them. */
  limits: SpendingLimits;
  held: HeldResults;
};

type HostAnswer = Awaited<ReturnType<HostModel["converse"]>>;

/** Runs one cell, from its query to its score. Does not throw for anything that a model or a server does. */
export async function runTrial(plannedCell: PlannedCell, context: TrialContext, signal: AbortSignal): Promise<Trial> {
  const { cell, orderSeed, model, planned } = plannedCell;
  const startedAt = context.now();
  const began = performance.now();
  // Data from a model or a server may make the harness throw: then only this trial breaks, with the cause.
  const breakTrial = (thrown: unknown) => ({ outcome: breakOn("the trial", thrown), turns: [] });
  const answered: HostAnswer = planned.unavailable
    ? { outcome: planned.unavailable, turns: [] }
    : await answer(plannedCell, context, signal).catch(breakTrial);
  const { turns, costUsd, lost, shown } = answered;
  const grading =
    answered.outcome.kind === "answered" ? await grade(plannedCell, answered, context, signal) : undefined;
  const outcome = grading && "kind" in grading ? grading : answered.outcome;
  const graded = grading && "verdict" in grading ? grading : undefined;
  const costs = turns.map(({ usage, batch }) => model.cost(usage, batch === undefined ? undefined : "batch"));
  const asked = costUsd ?? costs.reduce(addCost, 0);
  const spent = lost ? addCost(asked, model.cost(lost)) : asked;
  // If the run was stopped before the judge replied, a resumed run asks the trial again.
  const stopped = signal.aborted ? stoppedUnjudged : graded?.stopped;
  const isUnjudged = stopped !== undefined && graded?.verdict.grade === "not-gradable";
  return {
    cell,
    toolset: planned.toolset.hash,
    orderSeed,
    outcome: isUnjudged ? stopped : outcome,
    turns,
    ...(shown && { shown }),
    ...(graded && !isUnjudged && { verdict: graded.verdict }),
    ...(graded?.judging && { judging: graded.judging }),
    ...(lost && { lost }),
    costUsd: graded?.judging ? addCost(spent, graded.judging.costUsd) : spent,
    startedAt: startedAt.toISOString(),
    // From the monotonic clock: the system clock may be set meanwhile.
    ms: Math.round(performance.now() - began),
  };
}

const stoppedUnjudged = broken("cancelled", "the run was stopped before the answer was judged");

const breakOn = (what: string, thrown: unknown) =>
  broken("model", excerpt(`${what} failed in the harness: ${messageOf(thrown)}`, 2_000));

async function grade(
  plannedCell: PlannedCell,
  { turns, shown, deferred: unshown, workspace }: HostAnswer,
  context: TrialContext,
  signal: AbortSignal,
): Promise<Graded | Broken> {
  try {
    const { case: one, toolset } = plannedCell.planned;
    // A host shows everything else from the start.
    const byHost = shown && new Set([...shown.tools.deferred, ...shown.tools.named, ...shown.tools.hidden]);
    const deferred = unshown ?? byHost;
    const dispatched = listDispatchedTools(one.dispatch, one.expect, toolset);
    const all = dispatched ? new Set([...(deferred ?? []), ...dispatched]) : deferred;
    return await context.grade(plannedCell, turns, signal, { deferred: all, workspace });
  } catch (thrown) {
    return breakOn("the grading of the answer", thrown);
  }
}

async function answer(plannedCell: PlannedCell, context: TrialContext, signal: AbortSignal): Promise<HostAnswer> {
  const { suite, toolset } = plannedCell.planned;
  const { dispatch, expect, mocks, elicit } = plannedCell.planned.case;
  const readDispatch = createDispatchReader(dispatch, expect, toolset);
  const answerByMock = mocks && compileMocks(mocks);
  const { model } = plannedCell;
  const executor = createExecutor(toolset, {
    policy: suite.execute,
    model,
    pool: context.pool(plannedCell),
    answerByMock: answerByMock && ((call) => answerByMock(readDispatch?.(call).call ?? call)),
    denial: suite.denial,
    elicit,
    held: context.held,
  });
  try {
    const refused = "converse" in model ? findUnfit(model, plannedCell.planned.case) : undefined;
    if (refused !== undefined) return { outcome: broken("setup", refused), turns: [] };
    if (!("converse" in model))
      return await converse(createConversation({ ...plannedCell, model }, context, executor), signal);
    const hosted = await model.converse(createHostedTrial(plannedCell, context.skills(plannedCell), executor), signal);
    return { ...hosted, turns: readDispatchedTurns(hosted.turns, readDispatch) };
  } finally {
    await executor.close();
  }
}
