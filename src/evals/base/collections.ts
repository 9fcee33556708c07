/** The sum of a number of each item. */
export function sumOf<T>(items: Iterable<T>, read: (item: T) => number): number {
  let sum = 0;
  for (const item of items) sum += read(item);
  return sum;
}

/** Groups items by key, in the order in which the keys first occur. `Map.groupBy` does the same from Node 21 on. */
export function groupBy<T>(items: Iterable<T>, readKey: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = readKey(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** The words in lines, with single spaces between them. */
export function parseWords(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(" ")));
}

/** The value of a key in a map; a new one is made and added if there is none. */
export function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** The members of an object that have a value. */
export function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** Memoizes `make` per object, which must not change, for as long as the object lives. */
export function once<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const known = new WeakMap<Key, { made: Made }>();
  return (key) => {
    const kept = known.get(key);
    if (kept) return kept.made;
    const made = make(key);
    known.set(key, { made });
    return made;
  };
}

/**
 * Runs `work` over `items` with at most `concurrency` concurrent calls. Takes items one by one. When `signal` aborts,
 * takes no further item and waits for in-flight work. Rejects with the first error of `work`.
 */
export async function schedule<Item>(
  items: Iterable<Item>,
  concurrency: number,
  signal: AbortSignal,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failure: { error: unknown } | undefined;
  const worker = async () => {
    while (!signal.aborted && !failure) {
      const next = iterator.next();
      if (next.done) return;
      try {
        await work(next.value);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  if (failure) throw failure.error;
}
