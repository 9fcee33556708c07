/**
 * `make`, made once for each object and kept as long as that lives: many rules ask for the same of one tool. The object
 * must not change.
 */
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
