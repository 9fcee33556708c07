/**
 * A function that makes a value for a key once and keeps the last `max` of them, the oldest leaving first. For what is
 * derived from a toolset, under the toolset's hash: a run has few, but a suite whose cases bring their own has thousands.
 */
export function remembered<V>(max: number): (key: string, make: () => V) => V {
  const kept = new Map<string, V>();
  return (key, make) => {
    const known = kept.get(key);
    if (known !== undefined) return known;
    const made = make();
    if (kept.size >= max) for (const oldest of kept.keys()) if (kept.delete(oldest)) break;
    kept.set(key, made);
    return made;
  };
}
