import { APIConnectionError, APIConnectionTimeoutError, type ClientOptions, OpenAI, toFile } from "openai";
import type { ChatCompletionCreateParamsNonStreaming } from "openai/resources/chat/completions";
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
  type BatchForm,
  batchTimeoutMs,
  catchFaults,
  createBatchFetch,
  readResultLines,
  takeNewer,
} from "./batchFiles.ts";

const endpoint = "/v1/chat/completions";
/** The key of a batch's metadata that holds its label. */
const labelKey = "tool_evals";

const text = z.string().nullish();
const batchSchema = z.object({
  id: z.string().min(1),
  status: z.string(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  errors: z.object({ data: z.array(z.object({ code: text, message: text })).nullish() }).nullish(),
  request_counts: z.object({ total: z.number() }).nullish(),
  output_file_id: text,
  error_file_id: text,
});

const resultSchema = z.object({
  custom_id: z.string(),
  response: z.object({ status_code: z.number(), request_id: text, body: z.unknown() }).nullish(),
  error: z.object({ code: text, message: text }).nullish(),
});

/**
 * OpenAI's batch API, which compatible services have too: a file of requests, a batch of it, and one file each of replies
 * and errors. Limits: https://platform.openai.com/docs/guides/batch
 */
export function openaiBatches(
  { env, ...options }: ClientOptions & { env: Readonly<Record<string, string | undefined>> },
  { build, read }: BatchForm<ChatCompletionCreateParamsNonStreaming>,
  { retries, delay }: { retries: number; delay: Delay },
): BatchService {
  const client = new OpenAI({ ...options, fetch: createBatchFetch(env), timeout: batchTimeoutMs });
  const attempt = catchFaults(APIConnectionTimeoutError, APIConnectionError);
  return {
    limits: { requests: 50_000, bytes: 200_000_000 },
    keepsLabels: true,
    retries,
    delay,
    write: (custom_id, request) => ({ custom_id, method: "POST", url: endpoint, body: build(request) }),
    read: ({ body, requestId }, request) =>
      read(requestId === undefined ? body : { ...Object(body), _request_id: requestId }, request),
    submit: (entries, label, signal) =>
      attempt(async () => {
        const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`);
        const file = await toFile(Buffer.from(lines.join("")), "requests.jsonl", { type: "application/jsonl" });
        const { id } = await client.files.create({ file, purpose: "batch" }, { signal });
        const metadata = { [labelKey]: label };
        const params = { input_file_id: id, endpoint, completion_window: "24h", metadata } as const;
        const created = readState(await client.batches.create(params, { signal }));
        return "kind" in created ? created : created.id;
      }),
    list: (after, most, signal) =>
      attempt(() => takeNewer(client.batches.list({ limit: Math.min(most, 100) }, { signal }), readState, after, most)),
    retrieve: (id, signal) => attempt(async () => readState(await client.batches.retrieve(id, { signal }))),
    readResults: (id, onResult, signal) =>
      attempt(async () => {
        const { data } = batchSchema.safeParse(await client.batches.retrieve(id, { signal }));
        if (!data) return transientFault("the reply is not a batch");
        for (const fileId of [data.output_file_id, data.error_file_id]) {
          if (!fileId) continue;
          const file = await client.files.content(fileId, { signal });
          const fault = await readResultLines(file, (line) => {
            const result = resultSchema.safeParse(line);
            if (result.data) onResult(result.data.custom_id, readResult(result.data));
          });
          if (fault) return fault;
        }
        return undefined;
      }),
    cancel: (id, signal) =>
      attempt(async () => {
        await client.batches.cancel(id, { signal });
        return undefined;
      }),
  };
}

/** The outcome of a request that is missing in the files of an ended batch, by the status of the batch. */
const absentIn: Readonly<Record<string, BatchState["absent"]>> = { expired: "expired", cancelled: "canceled" };

function readState(batch: unknown): BatchState | Fault {
  const { data } = batchSchema.safeParse(batch);
  if (!data) return transientFault("the reply is not a batch");
  const { id, status, metadata, errors, request_counts: counts } = data;
  const label = metadata?.[labelKey];
  const [problem] = errors?.data ?? [];
  const absent = absentIn[status];
  const isEnded = ["completed", "expired", "cancelled"].includes(status);
  return {
    id,
    status: status === "failed" ? "failed" : isEnded ? "ended" : "running",
    ...(problem && { problem: [problem.code, problem.message].filter(Boolean).join(": ") }),
    ...(counts && { requests: counts.total }),
    ...(typeof label === "string" && { label }),
    ...(absent && { absent }),
  };
}

function readResult({ response, error }: z.infer<typeof resultSchema>): BatchResult {
  if (error?.code === "batch_expired") return { kind: "expired" };
  if (error?.code && /^batch_cancell?ed$/.test(error.code)) return { kind: "canceled" };
  if (!response || error) {
    const message = [error?.code, error?.message].filter(Boolean).join(": ") || "no response and no error";
    return { kind: "errored", message, isTransient: true };
  }
  const { status_code: status, request_id: requestId, body } = response;
  if (status === 200) return { kind: "reply", body, ...(requestId && { requestId }) };
  const { error: reported } = Object(body) as { error?: { message?: unknown } };
  const message = `${status}: ${typeof reported?.message === "string" ? reported.message : "no message"}`;
  const isTransient = status < 400 || status >= 500 || [408, 409, 429].includes(status);
  return { kind: "errored", message, isTransient };
}
