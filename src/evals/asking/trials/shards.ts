import { usageError } from "../../base/types/errors.ts";
import type { RunManifest } from "../../base/types/run.ts";
import type { Cell } from "../../base/types/trial.ts";

/** One part of a run. `index` counts from 1 to `count`. */
export type Shard = { index: number; count: number };

const maxShards = 1_000;

/** Parses a shard such as `2/5`. Throws a usage error for any other text. */
export function parseShard(text: string): Shard {
  const [, index = 0, count = 0] = (/^(\d{1,4})\/(\d{1,4})$/.exec(text.trim()) ?? []).map(Number);
  if (index >= 1 && index <= count && count <= maxShards) return { index, count };
  throw usageError(
    `--shard: "${text}" is not a shard.`,
    `Write its number and how many there are, at most ${maxShards}, for example 1/3.`,
  );
}

/** The shard that a manifest belongs to; undefined for a whole run. */
export function readShard({ flags: { shard } }: Pick<RunManifest, "flags">): Shard | undefined {
  return typeof shard === "string" ? parseShard(shard) : undefined;
}

/** Assigns cells and designs to shards, by their index from 1. */
export type ShardAssignment = {
  /** The shard that asks a cell. */
  cell(cell: Omit<Cell, "attempt">): number;
  /** Whether a check or a night asks the cell. These ask again when a reply is a copy of an earlier one. */
  isDesigned(cell: Pick<Cell, "suite" | "case" | "model">): boolean;
  /** The shard that runs the check or the night of a suite on a model. */
  design(suite: string, model: string): number;
};

const key = (...parts: readonly string[]) => JSON.stringify(parts);

/**
 * Distributes the plan of a run over `count` shards, from its manifest alone. Cases go to the shards in turn, all arms
 * of a case to the same shard. A check or a night belongs to one shard as a whole, because which trial it asks next
 * depends on all previous ones.
 */
export function assignShards({ suites, models }: RunManifest, count: number): ShardAssignment {
  const cases = new Map(
    suites.flatMap(({ name, cases }) => cases.map(({ id }) => key(name, id))).map((id, at) => [id, at]),
  );
  const designed = suites.flatMap(({ name, checks = [] }) => checks.map((plan) => ({ name, plan })));
  const locations = new Map(designed.map(({ name, plan }, at) => [key(name, plan.model), at]));
  const nights = new Set<string>();
  const compared = new Set<string>();
  for (const { name, plan } of designed) {
    if (plan.kind === "compare") for (const { id } of plan.cases) compared.add(key(name, plan.model, id));
    else if (plan.kind === "unchanged" && plan.drift?.nightly) nights.add(key(name, plan.model));
  }
  const pick = (at: number) => (at % count) + 1;
  const design: ShardAssignment["design"] = (suite, model) => pick(locations.get(key(suite, model)) ?? 0);
  const isDesigned: ShardAssignment["isDesigned"] = ({ suite, case: id, model }) =>
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
