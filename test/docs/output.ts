/** What differs from one run to the next, and what stands for it when two outputs are compared. */
const volatile: readonly [RegExp, string][] = [
  [/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}/g, "<run>"],
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d\.\d{3})?( UTC|Z)/g, "<time>"],
  [/\d{4}-\d\d-\d\d(?=")/g, "<day>"],
  [/\b\d+(\.\d+)? (ms|s)\b/g, "<duration>"],
  [/\bseed \d+/g, "seed <n>"],
  [/\bcommit [0-9a-f]{12}\b|\bcommit none\b/g, "commit <hash>"],
  [/\bNode \d+\.\d+\.\d+/g, "Node <version>"],
];

const normalize = (line: string): string =>
  volatile.reduce((text, [pattern, label]) => text.replaceAll(pattern, label), line.trimEnd());

/** The line with durations in one piece: where it breaks depends on their width. */
const joinUsage = (lines: readonly string[]): string[] => {
  const joined: string[] = [];
  for (const line of lines) {
    const last = joined.at(-1);
    if (last?.startsWith("Usage: ") && line.startsWith("  "))
      joined.splice(-1, 1, `${last.trimEnd()} ${line.trimStart()}`);
    else joined.push(line);
  }
  return joined;
};

/** The lines of an output, without blank ones at its end. */
export const linesOf = (text: string): string[] => text.trimEnd().split("\n");

/** Runs of lines between the lines `...`, which stand for any number of lines. */
function segmentsOf(shown: readonly string[]): string[][] {
  const segments: string[][] = [[]];
  for (const line of shown) {
    if (line.trim() === "...") segments.push([]);
    else segments.at(-1)?.push(line);
  }
  return segments;
}

/** Whether `printed` is what a page shows, apart from volatile parts and from the lines that `...` stands for. */
export function isShown(shown: readonly string[], printed: readonly string[]): boolean {
  const segments = segmentsOf(joinUsage(shown).map(normalize));
  const lines = joinUsage(printed).map(normalize);
  const startsAt = (segment: readonly string[], at: number) => segment.every((line, i) => lines[at + i] === line);
  let from = 0;
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    let at = index > 0 && isLast ? Math.max(from, lines.length - segment.length) : from;
    while (index > 0 && !isLast && at + segment.length <= lines.length && !startsAt(segment, at)) at++;
    if (!startsAt(segment, at) || at + segment.length > lines.length) return false;
    from = at + segment.length;
  }
  return segments.length > 1 || from === lines.length;
}

/**
 * The lines to show instead of `shown` for what is printed now: as many lines between `...` as before, starting at the
 * line that is most like the first one was. Lines that differ in volatile parts only stay as they are.
 */
export function refresh(shown: readonly string[], printed: readonly string[]): string[] {
  if (isShown(shown, printed)) return [...shown];
  const segments = segmentsOf(shown);
  let from = 0;
  return segments.flatMap((segment, index) => {
    const isLast = index === segments.length - 1;
    if (index > 0 && isLast && segment.length === 0) return ["..."];
    if (index > 0) from = isLast ? Math.max(from, printed.length - segment.length) : closest(segment, printed, from);
    const length = segments.length === 1 ? printed.length : segment.length;
    const lines = printed.slice(from, from + length);
    from += length;
    const kept = lines.map((line, i) => {
      const old = segment[i];
      return old !== undefined && normalize(old) === normalize(line) ? old : line;
    });
    return index > 0 ? ["...", ...kept] : kept;
  });
}

/** Where in `printed`, from `from` on, the line is that shares most words with the first line of `segment`. */
function closest(segment: readonly string[], printed: readonly string[], from: number): number {
  const wordsOf = (line: string) => new Set(normalize(line).match(/[\p{L}\p{N}_<>]+/gu) ?? []);
  const wanted = wordsOf(segment[0] ?? "");
  let best = { at: from, score: -1 };
  for (let at = from; at < printed.length; at++) {
    const words = wordsOf(printed[at] ?? "");
    const shared = [...wanted].filter((word) => words.has(word)).length;
    const score = shared / Math.max(1, wanted.size + words.size - shared);
    if (score > best.score) best = { at, score };
  }
  return best.at;
}
