/** The forms in which a query spells out a value. */
export type LiteralKind = "quoted" | "url" | "email" | "date" | "path" | "number";

/** A value that stands in the query as it is, in the order of appearance. */
export type Literal = { kind: LiteralKind; text: string };

const patterns: readonly [LiteralKind, RegExp][] = [
  ["quoted", /"([^"]+)"|“([^”]+)”|`([^`]+)`|(?<![\p{L}\p{N}])'([^']+)'(?![\p{L}\p{N}])/u],
  ["url", /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]*[^\s"'<>.,;:!?)\]]/i],
  ["email", /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/],
  ["date", /\b\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?\b/],
  // With a slash, or a name with an ending. "e.g.", "and/or" and "3.5" are neither.
  [
    "path",
    /(?<![\w.])(?!and\/or\b|n\/a\b)(?:~|\.{1,2}|[\w.-]+)?\/[\w./-]*[\w/-]|(?<![\w.])[\w-]*[A-Za-z_][\w-]*\.(?!g\b)[A-Za-z]\w{0,9}\b/,
  ],
  ["number", /(?<![\w.])-?\d+(?:\.\d+)?(?![\w]|\.\d)/],
];
const anyLiteral = new RegExp(patterns.map(([kind, { source }]) => `(?<${kind}>${source})`).join("|"), "giu");

/** The literals of a query, and the query without them: what is left are the words that say what to do. */
export function literalsOf(query: string): { literals: Literal[]; rest: string } {
  const literals: Literal[] = [];
  const rest = query.replace(anyLiteral, (...match) => {
    const groups = match.at(-1) as Record<LiteralKind, string | undefined>;
    const found = patterns.find(([kind]) => groups[kind] !== undefined);
    const text = match[0] as string;
    if (found) literals.push({ kind: found[0], text: found[0] === "quoted" ? text.slice(1, -1) : text });
    return " ";
  });
  return { literals, rest };
}
