import type { AskedModel, ModelRequest, Reply } from "../../base/types/model.ts";
import type { BatchQueue } from "./batchQueue.ts";

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
