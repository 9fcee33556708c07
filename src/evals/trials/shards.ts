import { usageError } from "../types/errors.ts";
import type { RunManifest } from "../types/run.ts";
import type { Cell } from "../types/trial.ts";

/** One part of a run: the `index`-th of `count`, from 1. */
export type Shard = { index: number; count: number };

const mostShards = 1_000;

/** Reads `2/5`. Throws a usage error. */
export function parseShard(text: string): Shard {
  const [, index = 0, count = 0] = (/^(\d{1,4})\/(\d{1,4})$/.exec(text.trim()) ?? []).map(Number);
  if (index >= 1 && index <= count && count <= mostShards) return { index, count };
  throw usageError(
    `--shard: "${text}" is not a shard.`,
    `Write its number and how many there are, at most ${mostShards}, for example 1/3.`,
  );
}

/** The shard that a run is; undefined for a whole run. */
export function readShard({ flags: { shard } }: Pick<RunManifest, "flags">): Shard | undefined {
  return typeof shard === "string" ? parseShard(shard) : undefined;
}

/** Which shard, from 1, asks a cell, and which plays the check or the night of a suite on a model. */
export type Deal = {
  cell(cell: Omit<Cell, "attempt">): number;
  /** Whether a check or a night asks the cell: it asks again where a reply is a copy of an earlier one. */
  isDesigned(cell: Pick<Cell, "suite" | "case" | "model">): boolean;
  design(suite: string, model: string): number;
};

const key = (...parts: readonly string[]) => JSON.stringify(parts);

/**
 * Deals the plan of a run out to `count` shards, from its manifest alone. The cases of a trial are dealt out in turn, with
 * all arms of a case to the same shard. A check and a night belong to one shard whole, because which of their trials is
 * asked next depends on all before.
 */
export function dealShards({ suites, models }: RunManifest, count: number): Deal {
  const cases = new Map(
    suites.flatMap(({ name, cases }) => cases.map(({ id }) => key(name, id))).map((id, at) => [id, at]),
  );
  const designed = suites.flatMap(({ name, checks = [] }) => checks.map((plan) => ({ name, plan })));
  const places = new Map(designed.map(({ name, plan }, at) => [key(name, plan.model), at]));
  const nights = new Set<string>();
  const compared = new Set<string>();
  for (const { name, plan } of designed) {
    if (plan.kind === "compare") for (const { id } of plan.cases) compared.add(key(name, plan.model, id));
    else if (plan.kind === "unchanged" && plan.drift?.nightly) nights.add(key(name, plan.model));
  }
  const pick = (at: number) => (at % count) + 1;
  const design: Deal["design"] = (suite, model) => pick(places.get(key(suite, model)) ?? 0);
  const isDesigned: Deal["isDesigned"] = ({ suite, case: id, model }) =>
    nights.has(key(suite, model)) || compared.has(key(suite, model, id));
  return {
    design,
    isDesigned,
    cell: (cell) => {
      const { suite, case: id, model, trial } = cell;
      if (isDesigned(cell)) return design(suite, model);
      return pick((cases.get(key(suite, id)) ?? 0) + models.findIndex((one) => one.id === model) + trial - 1);
    },
  };
}
