import { BatchQueue } from "../../asking/batches/batchQueue.ts";
import { Ledger } from "../../asking/batches/ledger.ts";
import { isBatched, type PlannedCase, type PlannedCell } from "../../asking/trials/plan.ts";
import { type Asker, runTrial, type TrialContext } from "../../asking/trials/runTrial.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { printableLines, shellWord } from "../../base/text/display.ts";
import { usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { AskedModel, Model, ModelRequest, Reply } from "../../base/types/model.ts";
import { asksModel } from "../../base/types/suite.ts";
import { count, some } from "../../reports/format.ts";
import type { OpenRecord } from "./record.ts";

const mostWaiting = 100_000;

/** Throws a usage error if no case can be asked in a batch. Returns a note if some cases are asked directly. */
export function checkBatches(
  cases: readonly PlannedCase[],
  models: readonly Model[],
  { blame }: { blame: boolean },
): string | undefined {
  const without = models.filter((model) => !("ask" in model && model.batches));
  if (without.length > 0)
    throw usageError(
      `--batch: ${without.map(({ id }) => id).join(", ")} cannot be asked in batches.`,
      "Use anthropic:<model> or openai:<model>, and ask other models in a run without --batch.",
    );
  if (blame)
    throw usageError("--blame asks its trials one by one, not in batches.", "Run `evals blame` after the run instead.");
  const asked = models.flatMap((model) =>
    cases.flatMap((planned) => (asksModel(planned.suite, model) && !planned.unavailable ? [{ planned, model }] : [])),
  );
  const direct = asked.filter(({ planned, model }) => !isBatched(planned, model));
  if (direct.length === 0) return undefined;
  if (direct.length === asked.length)
    throw usageError(
      "--batch: no case can be asked in a batch, because each needs more than one request.",
      "Omit --batch. Batches suit cases of one reply (maxTurns: 1) that are shown all definitions.",
    );
  const ids = [...new Set(direct.map(({ planned }) => planned.case.id))];
  return `Asked directly, at list price, because each trial needs more than one request: ${count(ids.length, "case")} (${some(ids)}).`;
}

/** Asks cases that need one request in batches, and all others directly at the same time. */
export async function openBatchAsker(
  { dir, manifest, retried }: OpenRecord,
  { context, models }: { context: TrialContext; models: readonly Model[] },
  { out, concurrency }: { out: string; concurrency: number },
  io: Io,
): Promise<Asker> {
  const report = (...lines: string[]) => io.err(printableLines(...lines));
  const ledger = await Ledger.open(dir, manifest.id, knownSecrets(io.env).redact);
  await ledger.restart(retried);
  const opened = new Map<string, { queue: BatchQueue; model: AskedModel }>();
  for (const model of models) {
    if (!("ask" in model) || !model.batches) continue;
    const queue = new BatchQueue(model, await model.batches(), { ledger, concurrency, report });
    const batched = createBatchedModel(model, queue, (one) => context.limits.guard(one));
    opened.set(model.id, { queue, model: batched });
  }
  const find = ({ planned, model }: PlannedCell) => (isBatched(planned, model) ? opened.get(model.id) : undefined);
  return {
    ask: (plannedCell, signal) =>
      runTrial({ ...plannedCell, model: find(plannedCell)?.model ?? plannedCell.model }, context, signal),
    settle: ({ cell }) => opened.get(cell.model)?.queue.settle(cell),
    lanes: (cells) => {
      const all = [...cells];
      return [
        { cells: all.filter((one) => find(one)), concurrency: mostWaiting, isBatch: true },
        { cells: all.filter((one) => !find(one)), concurrency },
      ];
    },
    close: async () => {
      const left = (await Promise.all([...opened.values()].map(({ queue }) => queue.close()))).flat();
      if (left.length === 0) return;
      const resume = `evals run --resume ${out === "reports" ? manifest.id : shellWord(dir)}`;
      report(
        `Still running at the provider, and charged for: ${left.join(", ")}.`,
        `  To get the replies: ${resume}`,
        "  To cancel: use the provider's console",
      );
    },
  };
}

/** After this many failed single requests, nothing is submitted. */
const maxFailedCanaries = 3;

/**
 * Wraps a model so that it is asked in batches. Before the first submission for a suite, one of its requests is sent
 * alone: a wrong key, an unknown model or a schema that the service refuses then costs one request, not a batch of
 * failures an hour later. Its reply counts like any other. `guard` keeps batched requests within the limits of the run;
 * `model` is already within them.
 */
export function createBatchedModel(
  model: AskedModel,
  queue: BatchQueue,
  guard: (model: AskedModel) => AskedModel,
): AskedModel {
  const inBatches = guard({
    ...model,
    cost: (usage) => model.cost(usage, "batch"),
    ask: (request, signal) => queue.ask(request, signal),
  });
  const accepted = new Set<string>();
  const canaries = new Map<string, Promise<void>>();
  let failed = 0;
  /** The reply to every further request, once nothing more is sent. */
  let refusal: Reply | undefined;

  const sendCanary = async (request: ModelRequest, signal: AbortSignal): Promise<Reply> => {
    const reply = await model.ask(request, signal);
    if (reply.kind === "turn") accepted.add(request.cell.suite);
    else if (reply.stage === "budget") refusal ??= reply;
    else if (reply.stage !== "cancelled" || reply.again) {
      failed++;
      if (reply.again || failed >= maxFailedCanaries) refusal ??= notSubmitted(reply.message);
    }
    return reply;
  };

  const ask: AskedModel["ask"] = async (request, signal) => {
    const { suite } = request.cell;
    while (!accepted.has(suite) && !queue.hasSubmitted(request)) {
      if (signal.aborted) return interrupted;
      if (refusal) return refusal;
      const running = canaries.get(suite);
      if (!running) {
        const reply = sendCanary(request, signal);
        const ended = reply.then(() => void canaries.delete(suite));
        canaries.set(suite, ended);
        return await reply;
      }
      await running;
    }
    return await inBatches.ask(request, signal);
  };
  return { ...model, ask };
}

// Such a trial is missing rather than broken: a resumed run asks it.
const interrupted: Reply = { kind: "broken", stage: "cancelled", message: "the request was cancelled", again: true };

const notSubmitted = (failure: string): Reply => ({
  kind: "broken",
  stage: "cancelled",
  message: `nothing was submitted, because a request that was sent alone failed: ${failure}`,
  again: true,
});
