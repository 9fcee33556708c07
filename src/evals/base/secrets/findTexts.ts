/** A part of a text that is one of the texts looked for: `at` is its number. */
export type Found = { from: number; to: number; at: number };

/** Looks for many texts at once, each of at least three characters. */
export type Finder = {
  /**
   * The parts of a text that are one of the texts; and, where `isEnd` says that a text is cut off at an index, those that
   * begin one, from `fewest` characters on. Those that overlap are one part. In order.
   */
  find(text: string, isEnd?: (text: string, at: number) => boolean): Found[];
  /**
   * Of what is between two places of a text, read backwards: the beginning of one of the texts, of `fewest` characters or more,
   * with which it ends; `margin` is how many further characters may follow it. The first of several.
   */
  findBackwards(text: string, from: number, to: number, margin: number): Found | undefined;
};

/** Fewer characters of a secret may stay: they say nothing about the rest, and other texts have them too. */
export const fewest = 4;

const radix = 65_536;
const hashUnits = (first: number, second: number, third: number) => (first * 961 + second * 31 + third) & (radix - 1);

/**
 * Builds the automaton of Aho and Corasick (Efficient string matching, CACM 18, 1975): time is linear in the text, however
 * many texts are looked for. `texts` has the number of each.
 */
export function createFinder(texts: Iterable<{ text: string; at: number }>): Finder {
  // Of each state, which is a beginning of texts: the longest other state that it ends with, its length, and whose it is.
  const [fail, depth, owner] = [[0], [0], [-1]];
  // The text that ends in a state, the longest of those; -1 if none does.
  const [ended, endLength] = [[-1], [0]];
  const next = new Map<number, number>();
  const origins: { state: number; parent: number; unit: number }[] = [];
  // Most places of a text can be left out by their first three characters.
  const starts = new Uint8Array(radix);
  for (const { text, at } of texts) {
    let state = 0;
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      let after = next.get(state * radix + unit);
      if (after === undefined) {
        after = depth.push(index + 1) - 1;
        owner.push(at);
        ended.push(-1);
        endLength.push(0);
        fail.push(0);
        next.set(state * radix + unit, after);
        origins.push({ state: after, parent: state, unit });
      }
      state = after;
    }
    if (ended[state] === -1) [ended[state], endLength[state]] = [at, text.length];
    starts[hashUnits(text.charCodeAt(0), text.charCodeAt(1), text.charCodeAt(2))] = 1;
  }
  const advance = (from: number, unit: number): number => {
    for (let state = from; ; state = fail[state] ?? 0) {
      const after = next.get(state * radix + unit);
      if (after !== undefined) return after;
      if (state === 0) return 0;
    }
  };
  for (const { state, parent, unit } of origins.sort((a, b) => (depth[a.state] ?? 0) - (depth[b.state] ?? 0))) {
    const shorter = parent === 0 ? 0 : advance(fail[parent] ?? 0, unit);
    fail[state] = shorter;
    if (ended[state] === -1) [ended[state], endLength[state]] = [ended[shorter] ?? -1, endLength[shorter] ?? 0];
  }
  /** The next place at which a text can begin. */
  const skip = (text: string, from: number): number => {
    let [first, second] = [text.charCodeAt(from), text.charCodeAt(from + 1)];
    for (let index = from; index + 2 < text.length; index++) {
      const third = text.charCodeAt(index + 2);
      if (starts[hashUnits(first, second, third)] !== 0) return index;
      first = second;
      second = third;
    }
    return text.length;
  };
  return {
    find(text, isEnd = () => false) {
      const found: Found[] = [];
      let state = 0;
      for (let index = skip(text, 0); index < text.length; index = state === 0 ? skip(text, index + 1) : index + 1) {
        const length = depth[state] ?? 0;
        if (length >= fewest && isEnd(text, index))
          addFound(found, { from: index - length, to: index, at: owner[state] ?? -1 });
        state = advance(state, text.charCodeAt(index));
        const at = ended[state] ?? -1;
        if (at >= 0) addFound(found, { from: index + 1 - (endLength[state] ?? 0), to: index + 1, at });
      }
      return found;
    },
    findBackwards(text, from, to, margin) {
      let begun: Found | undefined;
      let state = 0;
      for (let index = to - 1; index >= from; index--) {
        const [first, second, third] = [text.charCodeAt(index), text.charCodeAt(index - 1), text.charCodeAt(index - 2)];
        if (state === 0 && starts[hashUnits(first, second, third)] === 0) continue;
        state = advance(state, first);
        const length = depth[state] ?? 0;
        if (length >= fewest && index <= from + margin)
          begun = { from: index, to: index + length, at: owner[state] ?? -1 };
      }
      return begun;
    },
  };
}

/** Adds a part that ends after the others. Those that it overlaps become one with it, under the name of the longest. */
export function addFound(found: Found[], part: Found): void {
  let { from, to, at } = part;
  let longest = to - from;
  for (let last = found.at(-1); last !== undefined && last.to > from; last = found.at(-1)) {
    if (last.to - last.from > longest) [longest, at] = [last.to - last.from, last.at];
    [from, to] = [Math.min(last.from, from), Math.max(last.to, to)];
    found.pop();
  }
  found.push({ from, to, at });
}
