/**
 * A batch as its service reports it. `failed`: the service refused it whole, so that nothing of it was asked. `label` is
 * what it was submitted under, where the service keeps one; `absent` is what became of requests that its results lack.
 */
export type BatchState = {
  id: string;
  status: "running" | "ended" | "failed";
  problem?: string;
  requests?: number;
  label?: string;
  absent?: "expired" | "canceled";
};

/** What a batch brought for one request. Only a reply is paid for. */
export type BatchResult =
  | { kind: "reply"; body: unknown; requestId?: string }
  | { kind: "errored"; message: string; isTransient: boolean }
  | { kind: "expired" | "canceled" };
