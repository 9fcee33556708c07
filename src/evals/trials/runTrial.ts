import { createDispatchReader, listDispatchedTools, readDispatchedTurns } from "../scoring/dispatch.ts";
import { compileMocks } from "../scoring/mocks.ts";
import { messageOf } from "../types/errors.ts";
import type { HostModel, Model } from "../types/model.ts";
import type { Shown } from "../types/shown.ts";
import { excerpt } from "../types/text.ts";
import { addCost, type Broken, type Cost, type Judging, type Score, type Trial, type Turn } from "../types/trial.ts";
import { converse, createConversation, createHostedTrial, findUnfit, type Surface } from "./conversation.ts";
import { createExecutor, type ServerPool } from "./execution.ts";
import type { SpendingLimits } from "./limits.ts";
import type { PlannedCell } from "./plan.ts";

/**
 * The score of a trial, and the usage of the judge if one was asked. `stopped`: why the judge answers no request any more.
 */
export type Graded = { verdict: Score; judging?: Judging; stopped?: Broken };

/**
 * What the turns do not say. `deferred`: listed names of the tools whose definitions were not shown from the start.
 * `workspace`: the files as a host left them.
 */
type Seen = { deferred?: ReadonlySet<string> | undefined; workspace?: HostAnswer["workspace"] };

/** What a trial needs from outside; handed in so that trials can be tested with anything. */
export type TrialContext = Surface & {
  pool(cell: PlannedCell): ServerPool | undefined;
  grade(cell: PlannedCell, turns: readonly Turn[], signal: AbortSignal, seen?: Seen): Promise<Graded | Broken>;
  now(): Date;
  /** What the run may use. The models are within these limits already. */
  limits: SpendingLimits;
};

type HostAnswer = Awaited<ReturnType<HostModel["converse"]>>;

/** Runs one cell, from its query to its score. Does not throw for anything that a model or a server does. */
export async function runTrial(place: PlannedCell, context: TrialContext, signal: AbortSignal): Promise<Trial> {
  const { cell, orderSeed, model, planned } = place;
  const startedAt = context.now();
  const began = performance.now();
  const answered: HostAnswer = planned.unavailable
    ? { outcome: planned.unavailable, turns: [] }
    : await answer(place, context, signal).catch(toBroken);
  const { turns, costUsd, lost, shown } = answered;
  const grading = answered.outcome.kind === "answered" ? await grade(place, answered, context, signal) : undefined;
  const outcome = grading && "kind" in grading ? grading : answered.outcome;
  const graded = grading && "verdict" in grading ? grading : undefined;
  const asked = costUsd ?? sumCosts(turns, model);
  const spent = lost ? addCost(asked, model.cost(lost)) : asked;
  // The run was stopped before the judge replied: the trial is run again when the run is resumed.
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
    // Not the difference of two dates: the clock may be set meanwhile.
    ms: Math.round(performance.now() - began),
  };
}

const stoppedUnjudged: Broken = {
  kind: "broken",
  stage: "cancelled",
  message: "the run was stopped before the answer was judged",
};

/** What a model or a server sent made the harness fail: this trial breaks, with the cause, and the others go on. */
function toBroken(thrown: unknown): { outcome: Broken; turns: Turn[] } {
  return { outcome: { kind: "broken", stage: "model", message: describeInternal("the trial", thrown) }, turns: [] };
}

const describeInternal = (what: string, thrown: unknown) =>
  excerpt(`${what} failed in the harness: ${messageOf(thrown)}`, 2_000);

async function grade(
  place: PlannedCell,
  { turns, shown, deferred = listDeferred(shown), workspace }: HostAnswer,
  context: TrialContext,
  signal: AbortSignal,
): Promise<Graded | Broken> {
  try {
    const { case: one, toolset } = place.planned;
    const dispatched = listDispatchedTools(one.dispatch, one.expect, toolset);
    const all = dispatched ? new Set([...(deferred ?? []), ...dispatched]) : deferred;
    return await context.grade(place, turns, signal, { deferred: all, workspace });
  } catch (thrown) {
    return { kind: "broken", stage: "model", message: describeInternal("the grading of the answer", thrown) };
  }
}

/** What a host did not show the definitions of from the start; undefined where that is not known. */
function listDeferred(shown: Shown | undefined): ReadonlySet<string> | undefined {
  return shown && new Set([...shown.tools.deferred, ...shown.tools.named, ...shown.tools.hidden]);
}

async function answer(place: PlannedCell, context: TrialContext, signal: AbortSignal): Promise<HostAnswer> {
  const { suite, toolset } = place.planned;
  const { dispatch, expect, mocks } = place.planned.case;
  const readDispatch = createDispatchReader(dispatch, expect, toolset);
  const answerByMock = mocks && compileMocks(mocks);
  const executor = createExecutor(
    toolset,
    suite.execute,
    context.pool(place),
    answerByMock && ((call) => answerByMock(readDispatch?.(call).call ?? call)),
    suite.denial,
  );
  try {
    const { model } = place;
    const refused = "converse" in model ? findUnfit(model, place.planned.case) : undefined;
    if (refused !== undefined) return { outcome: { kind: "broken", stage: "setup", message: refused }, turns: [] };
    if (!("converse" in model))
      return await converse(createConversation({ ...place, model }, context, executor), signal);
    const hosted = await model.converse(createHostedTrial(place, context.skills(place), executor), signal);
    return { ...hosted, turns: readDispatchedTurns(hosted.turns, readDispatch) };
  } finally {
    await executor.close();
  }
}

function sumCosts(turns: readonly Turn[], model: Model): Cost {
  return turns
    .map(({ usage, batch }) => model.cost(usage, batch === undefined ? undefined : "batch"))
    .reduce(addCost, 0);
}
