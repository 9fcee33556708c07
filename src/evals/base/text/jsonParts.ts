/** Each part takes a write, and is in memory while it is made. */
const partLength = 64 * 1024;

/**
 * What `JSON.stringify(value, null, indent)` returns, in parts: as one text, the record of a long run takes several
 * times the memory of its value. No text of the value is split over two parts. The value holds plain data. `depth`: how
 * many levels down the long lists are (the cases of a record are three levels below it); what is deeper is not split.
 */
export function stringifyInParts(value: unknown, { indent = 0, depth = 3 } = {}): Generator<string> {
  return joinPieces(listPieces(value, depth, { line: indent > 0 ? "\n" : "", indent: " ".repeat(indent) }));
}

/** Texts with `separator` between them, joined to parts of a size that is worth a write. */
export function* joinPieces(pieces: Iterable<string>, separator = ""): Generator<string> {
  let part = "";
  let between = "";
  for (const piece of pieces) {
    part += between + piece;
    between = separator;
    if (part.length < partLength) continue;
    yield part;
    part = "";
  }
  if (part !== "") yield part;
}

/** `line`: the line break before a closing bracket, with its indentation; `indent`: that of one level. */
type Layout = { line: string; indent: string };

function* listPieces(value: unknown, depth: number, layout: Layout): Generator<string> {
  if (typeof value !== "object" || value === null) return yield stringify(value, layout);
  const { line, indent } = layout;
  const inside = { line: line + indent, indent };
  const isList = Array.isArray(value);
  let before = isList ? "[" : "{";
  if (isList && depth === 0) {
    for (const text of stringifyElements(value, layout)) {
      yield `${before}${inside.line}${text}`;
      before = ",";
    }
  } else if (depth === 0) return yield stringify(value, layout);
  else
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined && !isList) continue;
      yield `${before}${inside.line}${isList ? "" : `${JSON.stringify(key)}:${indent === "" ? "" : " "}`}`;
      yield* listPieces(member, depth - 1, inside);
      before = ",";
    }
  yield before === "," ? `${line}${isList ? "]" : "}"}` : isList ? "[]" : "{}";
}

/** The texts of the elements of a list, many in each, because one at a time takes several times as long. */
function* stringifyElements(list: readonly unknown[], { line, indent }: Layout): Generator<string> {
  const [open, close] = [1 + line.length + indent.length, 1 + line.length];
  for (let at = 0, count = 1; at < list.length; ) {
    const text = stringify(list.slice(at, at + count), { line, indent });
    yield text.slice(open, -close);
    at += count;
    count = Math.max(1, Math.floor((partLength * count) / text.length));
  }
}

function stringify(value: unknown, { line, indent }: Layout): string {
  const json = JSON.stringify(value, null, indent) ?? "null";
  return line === "" ? json : json.replaceAll("\n", line);
}
