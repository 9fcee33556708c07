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

/** A line break inside of a word, with the margin of what is shown; with `spaces`, all white space, also as in a form. */
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

/** A text without escapes, and where its parts were. `findSource` maps ranges, in order, to those of the text as it was. */
export type Folded = { text: string; findSource(ranges: readonly Range[]): Range[] };
/** From the first character to before the last one. */
type Range = { from: number; to: number };

/**
 * The text without the escapes of JSON, URLs, HTML, XML, CSV, YAML, Markdown and the terminal, in any combination, and without
 * line breaks; with `spaces` also without other white space. Two texts that differ in these alone are the same then. Takes
 * linear time.
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
  const map = (before: number, place: (bound: number, isEnd: boolean) => number) => {
    for (let bound = bounds[found.length]; bound !== undefined && bound < before; bound = bounds[found.length])
      found.push(place(bound, found.length % 2 === 1));
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
