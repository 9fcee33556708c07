/** For each left item the right item it is paired with, undefined where it found none. */
export type Pairing = readonly (number | undefined)[];

/**
 * The largest pairing of `left` items with `right` items along the edges, by augmenting paths (Kuhn's algorithm, so that
 * an early choice never blocks a later one). It starts from `seed`, and every left item that is paired there stays paired.
 */
export function pairUp(
  left: number,
  right: number,
  edge: (left: number, right: number) => boolean,
  seed: Pairing = [],
): Pairing {
  const partner: (number | undefined)[] = Array.from({ length: left }, (_, index) => seed[index]);
  const takenBy: (number | undefined)[] = Array.from({ length: right });
  for (const [index, other] of partner.entries()) if (other !== undefined) takenBy[other] = index;

  const augment = (from: number, seen: Set<number>): boolean => {
    for (let to = 0; to < right; to++) {
      if (seen.has(to) || !edge(from, to)) continue;
      seen.add(to);
      const holder = takenBy[to];
      if (holder !== undefined && !augment(holder, seen)) continue;
      takenBy[to] = from;
      partner[from] = to;
      return true;
    }
    return false;
  };
  for (let from = 0; from < left; from++) if (partner[from] === undefined) augment(from, new Set());
  return partner;
}

/** True when every left item has its own right item. */
export function complete(pairing: Pairing): boolean {
  return pairing.every((other) => other !== undefined);
}
