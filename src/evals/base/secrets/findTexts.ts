import { getOrAdd } from "../collections.ts";

/** A part of a text that is one of the texts looked for: `at` is its number. */
export type Found = { from: number; to: number; at: number };

/**
 * The parts of a text that are one of the texts looked for; and, where `isEnd` says that a text is cut off at an index,
 * those that begin one, from `fewest` characters on. Those that overlap are one part. In order.
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
 * Builds the automaton of Aho and Corasick (Efficient string matching, CACM 18, 1975) for texts of at least three
 * characters, each with its number: its time is linear in what it reads, however many texts it looks for.
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

/** A step of folding: each match of the pattern is replaced by what `decode` makes of it. */
type Step = { pattern: RegExp; decode: (found: string) => string };

const mark = "(?:…|\\.\\.\\.)";
const percent = "%(?:25)*";
const further = `${percent}[89ab][\\da-f]`;
const escapes = [
  // Doubled in CSV and in YAML.
  `(?:\\\\*"){2,}|(?:\\\\*'){2,}`,
  // What a cut leaves of the next.
  `\\\\+(?:u\\{?[\\da-f]{0,5}|x[\\da-f]?)(?=${mark})`,
  // JSON, and `visible`; any other backslash only escapes what follows.
  "\\\\+(?:u\\{[\\da-f]{1,6}\\}|u[\\da-f]{4}|x[\\da-f]{2}|[bft])?",
  "&(?:amp;)*(?:\\\\*#(?:\\d{1,7}|x[\\da-f]{1,6})|amp|lt|gt|quot|apos);",
  `${percent}(?:[0-7][\\da-f]|[cd][\\da-f]${further}|e[\\da-f](?:${further}){2}|f[\\da-f](?:${further}){3})`,
].join("|");

/** A line break in a word, with the margin of what is shown; with `spaces`, all white space, also as in a form. */
const lineBreak = "(?:\\r|\\\\+r)?(?:\\n|\\\\+n)[ \\t│|]*|\\\\+r";
const anySpace = `${lineBreak}|[\\s\\x08+]+`;

const controls: Readonly<Record<string, string>> = { b: "\b", f: "\f", t: "\t" };
const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function decode(found: string): string {
  const last = found.charAt(found.length - 1);
  if (last === '"' || last === "'") return last;
  switch (found[0]) {
    case "\\": {
      const code = found.slice(found.lastIndexOf("\\") + 1).toLowerCase();
      const [digits] = /(?<=^u\{)[\da-f]+(?=\}$)|(?<=^u)[\da-f]{4}$|(?<=^x)[\da-f]{2}$/.exec(code) ?? [];
      return digits === undefined ? (controls[code] ?? "") : fromCode(digits, 16);
    }
    case "&": {
      const [name = ""] = /[^;&\\]+(?=;$)/.exec(found) ?? [];
      const [, hex, digits = ""] = /^#(x?)(.+)$/i.exec(name) ?? [];
      return hex === undefined ? (entities[name.toLowerCase()] ?? "") : fromCode(digits, hex === "" ? 10 : 16);
    }
    case "%":
      return decodeBytes(found);
    default:
      return "";
  }
}

function fromCode(digits: string, radix: number): string {
  const code = Number.parseInt(digits, radix);
  return code <= 0x10ffff ? String.fromCodePoint(code) : "";
}

const nestedPercent = new RegExp(`${percent}(?=[\\da-f]{2})`, "gi");

function decodeBytes(found: string): string {
  try {
    return decodeURIComponent(found.replace(nestedPercent, "%"));
  } catch {
    return found;
  }
}

const inWords: Step = { pattern: new RegExp(`${lineBreak}|${escapes}`, "gi"), decode };
const inTexts: Step = { pattern: new RegExp(`${anySpace}|${escapes}`, "gi"), decode };

/** What a cut leaves of other escapes. */
const beforeMark: Step = {
  pattern: new RegExp(`(?:(?:${percent}[\\da-f]{0,2}){1,3}|&(?:amp;)*#?\\w{0,8}|[\\ud800-\\udbff])(?=${mark})`, "gi"),
  decode: () => "",
};

const special = /[\\&%"'+\s\p{Cc}]/u;

/** Escapes of escapes, such as of HTML in JSON in a URL. */
const maxLevels = 4;

/** A text without escapes. `findSource` maps its ranges, in order, to those of the text as it was. */
type Folded = { text: string; findSource(ranges: readonly Range[]): Range[] };
/** From the first character to before the last one. */
type Range = { from: number; to: number };

/**
 * The text without the escapes of JSON, URLs, HTML, XML, CSV, YAML, Markdown and the terminal, in any combination, and
 * without line breaks; with `spaces` also without other white space. Takes linear time.
 */
export function foldEscapes(source: string, { spaces }: { spaces: boolean }): Folded {
  const done: { source: string; step: Step }[] = [];
  let text = source;
  /** Returns whether this has made what can be part of an escape, or joined what was apart. */
  const take = (step: Step): boolean => {
    let isOpen = false;
    const next = text.replace(step.pattern, (found) => {
      const made = step.decode(found);
      isOpen ||= made === "" || special.test(made);
      return made;
    });
    if (next === text) return false;
    done.push({ source: text, step });
    text = next;
    return isOpen;
  };
  for (let level = 0; level < maxLevels; level++) if (!take(spaces ? inTexts : inWords)) break;
  take(beforeMark);
  return {
    text,
    findSource: (ranges) => done.reduceRight((found, one) => unfold(one.source, one.step, found), [...ranges]),
  };
}

/** The ranges of a text, in order, as those of the text before a step. */
function unfold(source: string, { pattern, decode }: Step, ranges: readonly Range[]): Range[] {
  // The bounds of ranges that do not overlap are in order. An end is where the last character ends.
  const bounds = ranges.flatMap(({ from, to }) => [from, to - 1]);
  const found: number[] = [];
  let shift = 0;
  const map = (before: number, location: (bound: number, isEnd: boolean) => number) => {
    for (let bound = bounds[found.length]; bound !== undefined && bound < before; bound = bounds[found.length])
      found.push(location(bound, found.length % 2 === 1));
  };
  for (const match of source.matchAll(pattern)) {
    if (found.length === bounds.length) break;
    const [whole] = match;
    const [start, end] = [match.index, match.index + whole.length];
    const made = decode(whole).length;
    map(start - shift, (bound, isEnd) => bound + shift + Number(isEnd));
    map(start - shift + made, (_, isEnd) => (isEnd ? end : start));
    shift += whole.length - made;
  }
  map(Number.POSITIVE_INFINITY, (bound, isEnd) => bound + shift + Number(isEnd));
  return ranges.map((_, at) => ({ from: found[2 * at] ?? 0, to: found[2 * at + 1] ?? 0 }));
}
