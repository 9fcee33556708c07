/**
 * A batch as its service reports it. `failed`: the service refused it, so none of its requests was sent to a model. `label`
 * is the label of its submission, if the service keeps one; `absent` is the outcome of requests that its results lack.
 */
export type BatchState = {
  id: string;
  status: "running" | "ended" | "failed";
  problem?: string;
  requests?: number;
  label?: string;
  absent?: "expired" | "canceled";
};

/** The result of one request in a batch. Only a reply is paid for. */
export type BatchResult =
  | { kind: "reply"; body: unknown; requestId?: string }
  | { kind: "errored"; message: string; isTransient: boolean }
  | { kind: "expired" | "canceled" };
