import { isWithin, type QueryResult, type RankerResult, type RecallDepth, recallDepths } from "./evaluate.ts";

/** What must be among the first `depth` results: a share of the expected tools, or (`rank`) all of them. */
export type Threshold =
  | { kind: "recall"; depth: RecallDepth; least: number; text: string }
  | { kind: "rank"; depth: number; text: string };

/** Reads `recall@5=0.9`, `recall@5=90%` or `rank=5`; undefined for anything else. */
export function parseThreshold(text: string): Threshold | undefined {
  const [, at, value = "", sign] = /^recall@(\d+)=(\d*\.?\d+)(%?)$/.exec(text) ?? [];
  const depth = recallDepths.find((known) => known === Number(at));
  const least = Number(value) / (sign ? 100 : 1);
  if (depth !== undefined && least > 0 && least <= 1) return { kind: "recall", depth, least, text };
  const rank = Number(/^rank=([1-9]\d{0,5})$/.exec(text)?.[1]);
  return rank >= 1 ? { kind: "rank", depth: rank, text } : undefined;
}

/** Why a search does not reach a threshold, as the end of a sentence; undefined if it does. */
export function findShortfall(
  threshold: Threshold,
  { ranker, recall }: RankerResult,
  queries: readonly QueryResult[],
): string | undefined {
  if (threshold.kind === "recall") {
    const reached = recall[threshold.depth];
    if (reached >= threshold.least) return undefined;
    return `recall@${threshold.depth} is ${reached.toFixed(2)}, below ${threshold.least.toFixed(2)}`;
  }
  const late = queries.filter((query) => query.ranks[ranker]?.some((rank) => !isWithin(rank, threshold.depth)));
  if (late.length === 0) return undefined;
  const asked = queries.filter((query) => query.ranks[ranker]).length;
  const where = threshold.depth === 1 ? "at rank 1" : `at rank ${threshold.depth} or better`;
  return `${late.length} of ${asked} queries do not find every expected tool ${where}`;
}
