/**
 * The candidate that was most likely meant by `name`, for "did you mean": the first one with the smallest optimal
 * string alignment distance (restricted Damerau-Levenshtein), ignoring case. If even that one differs in more than two
 * fifths of the longer name, the only one that contains all words of `name`, such as `read_file` for `read`.
 */
export function nearest(name: string, given: Iterable<string>): string | undefined {
  const candidates = [...given];
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const allowed = Math.max(1, Math.floor(0.4 * Math.max(name.length, candidate.length)));
    if (Math.abs(name.length - candidate.length) > allowed) continue;
    const found = distance(name.toLowerCase(), candidate.toLowerCase());
    if (found <= allowed && found < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { candidate, distance: found };
  }
  return best?.candidate ?? findExtended(name, candidates);
}

/** `Did you mean "read_file"?` with the nearest candidate, or `otherwise` if none is near. */
export function didYouMean<T extends string | undefined>(name: string, candidates: Iterable<string>, otherwise: T) {
  const near = nearest(name, candidates);
  return near === undefined ? otherwise : `Did you mean "${near}"?`;
}

/** The only candidate that has all words of the name. */
function findExtended(name: string, candidates: readonly string[]): string | undefined {
  const words = splitName(name);
  if (name.length < 3) return undefined;
  const found = candidates.filter((one) => {
    const own = new Set(splitName(one));
    return words.every((word) => own.has(word));
  });
  return found.length === 1 ? found[0] : undefined;
}

/** Splits a name in any style (`maxResults`, `max_results`, `max-results`) into lower-case words. */
export function splitName(name: string): readonly string[] {
  const spaced = name.slice(0, 200).replace(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, "$1$3 $2$4");
  return spaced
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}

/** The number of insertions, deletions, substitutions and swaps of adjacent characters from `a` to `b`. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(swapped ? Math.min(least, (beforeLast[j - 2] ?? 0) + 1) : least);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
