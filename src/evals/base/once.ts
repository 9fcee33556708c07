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
