import { getOrAdd } from "../getOrAdd.ts";

/** A part of a text that is one of the texts looked for: `at` is its number. */
export type Found = { from: number; to: number; at: number };

/**
 * The parts of a text that are one of the texts looked for; and, where `isEnd` says that a text is cut off at an index, those
 * that begin one, from `fewest` characters on. Those that overlap are one part. In order.
 */
export type Finder = (text: string, isEnd?: (text: string, at: number) => boolean) => Found[];

/** Fewer characters of a secret may stay: they say nothing about the rest, and other texts have them too. */
export const fewest = 4;

const radix = 65_536;
const hashUnits = (first: number, second: number, third: number) => (first * 961 + second * 31 + third) & (radix - 1);

/** A beginning of texts: one of them, by its number, and the longest of them that it ends with. */
type State = {
  depth: number;
  at: number;
  found: { length: number; at: number } | undefined;
  next: Map<number, State>;
  fail: State;
};

/**
 * Builds the automaton of Aho and Corasick (Efficient string matching, CACM 18, 1975) for texts of at least three characters,
 * each with its number: its time is linear in what it reads, however many texts it looks for.
 */
export function createFinder(texts: Iterable<{ text: string; at: number }>): Finder {
  const createState = (depth: number, at: number) => ({ depth, at, next: new Map<number, State>() }) as State;
  const root = createState(0, -1);
  root.fail = root;
  // Most places of a text can be left out by their first three characters.
  const starts = new Uint8Array(radix);
  for (const { text, at } of texts) {
    let state = root;
    for (let index = 0; index < text.length; index++)
      state = getOrAdd(state.next, text.charCodeAt(index), () => createState(index + 1, at));
    state.found ??= { length: text.length, at };
    starts[hashUnits(text.charCodeAt(0), text.charCodeAt(1), text.charCodeAt(2))] = 1;
  }
  const advance = (from: State, unit: number): State => {
    for (let state = from; ; state = state.fail) {
      const after = state.next.get(unit);
      if (after || state === root) return after ?? root;
    }
  };
  // The shorter ones first.
  const queue = [root];
  for (const state of queue)
    for (const [unit, after] of state.next) {
      after.fail = state === root ? root : advance(state.fail, unit);
      after.found ??= after.fail.found;
      queue.push(after);
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
  return (text, isEnd = () => false) => {
    const found: Found[] = [];
    let state = root;
    for (let index = skip(text, 0); index < text.length; index = state === root ? skip(text, index + 1) : index + 1) {
      const { depth } = state;
      if (depth >= fewest && isEnd(text, index)) addFound(found, { from: index - depth, to: index, at: state.at });
      state = advance(state, text.charCodeAt(index));
      if (state.found) addFound(found, { from: index + 1 - state.found.length, to: index + 1, at: state.found.at });
    }
    return found;
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
