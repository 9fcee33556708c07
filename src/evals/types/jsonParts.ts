/** Each part takes a write, and is in memory while it is made. */
const partLength = 64 * 1024;
/** The list of cases of a record is two levels inside of it. Values below that level are in one piece. */
const levels = 4;

/**
 * What `JSON.stringify(value, null, indent)` returns, in parts: as one text, the record of a long run takes several times
 * the memory of its value. No text of the value is split over two parts. The value holds plain data.
 */
export function stringifyInParts(value: unknown, indent = 0): Generator<string> {
  return listParts(value, levels, { line: indent > 0 ? "\n" : "", indent: " ".repeat(indent) });
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

function* listParts(value: unknown, depth: number, { line, indent }: Layout): Generator<string> {
  if (!isParted(value, depth)) return yield stringify(value, { line, indent });
  const inside = { line: line + indent, indent };
  const [open = "", close = ""] = Array.isArray(value) ? "[]" : "{}";
  let part = open;
  let isEmpty = true;
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined && !Array.isArray(value)) continue;
    const name = Array.isArray(value) ? "" : `${JSON.stringify(key)}:${indent === "" ? "" : " "}`;
    part += `${isEmpty ? "" : ","}${inside.line}${name}`;
    isEmpty = false;
    // A generator for each value would take longer than its text.
    const texts = isParted(member, depth - 1) ? listParts(member, depth - 1, inside) : [stringify(member, inside)];
    for (const text of texts) {
      part += text;
      if (part.length < partLength) continue;
      yield part;
      part = "";
    }
  }
  yield isEmpty ? `${open}${close}` : `${part}${line}${close}`;
}

const isParted = (value: unknown, depth: number): value is object =>
  depth > 0 && typeof value === "object" && value !== null;

function stringify(value: unknown, { line, indent }: Layout): string {
  const json = JSON.stringify(value, null, indent) ?? "null";
  return line === "" ? json : json.replaceAll("\n", line);
}
