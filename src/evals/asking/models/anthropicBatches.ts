import { Anthropic, APIConnectionError, APIConnectionTimeoutError, type ClientOptions } from "@anthropic-ai/sdk";
import type { MessageCreateParamsNonStreaming } from "@anthropic-ai/sdk/resources/messages";
import type { BatchCreateParams } from "@anthropic-ai/sdk/resources/messages/batches";
import * as z from "zod";
import type { Delay } from "../../base/types/endpoint.ts";
import {
  type BatchResult,
  type BatchService,
  type BatchState,
  type Fault,
  transientFault,
} from "../../base/types/model.ts";
import {
  asFile,
  type BatchForm,
  batchTimeoutMs,
  catchFaults,
  createBatchFetch,
  readResultLines,
  takeNewer,
} from "./batchFiles.ts";

const batchSchema = z.object({
  id: z.string().min(1),
  processing_status: z.string(),
  request_counts: z.record(z.string(), z.number()).nullish(),
});

const resultSchema = z.object({
  custom_id: z.string(),
  result: z.union([
    z.object({ type: z.literal("succeeded"), message: z.unknown() }),
    z.object({
      type: z.literal("errored"),
      error: z.object({ error: z.object({ type: z.string(), message: z.string() }) }),
    }),
    z.object({ type: z.enum(["canceled", "expired"]) }),
  ]),
});

/** Errors of the service itself; all others are caused by the request. */
const transientErrors = new Set(["api_error", "overloaded_error", "rate_limit_error", "timeout_error"]);

/**
 * Anthropic's Message Batches API. A batch cannot have a label, so ours are recognized by the ids of their results.
 * Limits: https://platform.claude.com/docs/en/build-with-claude/batch-processing
 */
export function anthropicBatches(
  { env, ...options }: ClientOptions & { env: Readonly<Record<string, string | undefined>> },
  { build, read }: BatchForm<MessageCreateParamsNonStreaming>,
  { retries, delay }: { retries: number; delay: Delay },
): BatchService {
  const client = new Anthropic({ ...options, fetch: createBatchFetch(env), timeout: batchTimeoutMs });
  const { batches } = client.messages;
  const attempt = catchFaults(APIConnectionTimeoutError, APIConnectionError);
  return {
    limits: { requests: 100_000, bytes: 256_000_000 },
    keepsLabels: false,
    retries,
    delay,
    write: (custom_id, request) => ({ custom_id, params: build(request) }),
    read: ({ body }, request) => read(body, request),
    submit: (entries, _, signal) =>
      attempt(async () => {
        const requests = entries as BatchCreateParams.Request[];
        const created = readState(await batches.create({ requests }, { signal }));
        return "kind" in created ? created : created.id;
      }),
    list: (after, most, signal) =>
      attempt(() => takeNewer(batches.list({ limit: Math.min(most, 100) }, { signal }), readState, after, most)),
    retrieve: (id, signal) => attempt(async () => readState(await batches.retrieve(id, {}, { signal }))),
    readResults: (id, onResult, signal) =>
      attempt(async () => {
        // The URL in the batch is not used, because it could send the API key to another host.
        const path = `/v1/messages/batches/${encodeURIComponent(id)}/results`;
        const file = await client.get(path, { ...asFile, signal }).asResponse();
        return await readResultLines(file, (line) => {
          const { data } = resultSchema.safeParse(line);
          if (data) onResult(data.custom_id, readResult(data.result));
        });
      }),
    cancel: (id, signal) =>
      attempt(async () => {
        await batches.cancel(id, {}, { signal });
        return undefined;
      }),
  };
}

function readState(batch: unknown): BatchState | Fault {
  const { data } = batchSchema.safeParse(batch);
  if (!data) return transientFault("the reply is not a message batch");
  const counts = Object.values(data.request_counts ?? {});
  return {
    id: data.id,
    status: data.processing_status === "ended" ? "ended" : "running",
    ...(counts.length > 0 && { requests: counts.reduce((sum, count) => sum + count, 0) }),
  };
}

function readResult(result: z.infer<typeof resultSchema>["result"]): BatchResult {
  if (result.type === "succeeded") return { kind: "reply", body: result.message };
  if (result.type !== "errored") return { kind: result.type };
  const { type, message } = result.error.error;
  return { kind: "errored", message: `${type}: ${message}`, isTransient: transientErrors.has(type) };
}
