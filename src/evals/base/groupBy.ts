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
