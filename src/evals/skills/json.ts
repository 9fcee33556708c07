import { isMap, isScalar, isSeq, LineCounter, type Node } from "yaml";
import type { Place } from "../errors.ts";
import { parseJson as parseNodes, SyntaxFault } from "../parsing/json.ts";
import type { Json } from "../types/json.ts";

/** Deeper than any eval file, and shallow enough for everything that recurses over its data. */
const maxDepth = 64;

/** A JSON text as plain data, which can tell where an element of its lists and objects stands. */
export type LocatedJson = { value: Json; place(inside?: object, key?: string | number): Place };

/** Why a text is no JSON, and where. */
export type JsonFault = { message: string; hint?: string; place: Place };

type Offsets = { start: number; members: Map<string | number, number> };

/**
 * Reads strict JSON. Equal keys in one object are a fault too: taking the last would drop checks in silence. `file` is
 * how places name it.
 */
export function parseJson(text: string, file: string): LocatedJson | JsonFault {
  let lines: LineCounter | undefined;
  const placeAt = (offset: number): Place => {
    lines ??= lineCounter(text);
    const { line, col } = lines.linePos(offset);
    return { file, line, column: col };
  };
  const faulty = ({ message, hint, offset }: SyntaxFault): JsonFault => ({
    message: message.replace(/^not valid JSON: /, ""),
    ...(hint && { hint: `${hint.charAt(0).toUpperCase()}${hint.slice(1)}.` }),
    place: placeAt(offset),
  });
  const { root, faults } = parseNodes(text, maxDepth);
  const [fault] = faults;
  if (fault) return faulty(fault);
  if (!root) return faulty(new SyntaxFault(0, "the file is empty", 'write { "evals": [ ... ] } into it'));
  const offsets = new Map<object, Offsets>();
  try {
    const value = plain(root, offsets);
    const offset = (inside?: object, key?: string | number) => {
      const known = inside && offsets.get(inside);
      return known?.members.get(key ?? "") ?? known?.start ?? startOf(root);
    };
    return { value, place: (inside, key) => placeAt(offset(inside, key)) };
  } catch (error) {
    if (error instanceof SyntaxFault) return faulty(error);
    throw error;
  }
}

/** A node as data; where its elements stand is noted under the very objects of the data. */
function plain(node: unknown, offsets: Map<object, Offsets>): Json {
  if (isScalar(node)) return node.value as Json;
  const members = new Map<string | number, number>();
  if (isSeq(node)) {
    const items = node.items.map((item, index) => {
      members.set(index, startOf(item as Node));
      return plain(item, offsets);
    });
    offsets.set(items, { start: startOf(node), members });
    return items;
  }
  if (!isMap(node)) return null;
  const entries = node.items.map((pair): [string, Json] => {
    const key = String(isScalar(pair.key) ? pair.key.value : "");
    const start = startOf(pair.key as Node);
    if (members.has(key))
      throw new SyntaxFault(start, `the key "${key}" stands twice in one object`, "keep one of them");
    members.set(key, start);
    return [key, plain(pair.value, offsets)];
  });
  const value = Object.fromEntries(entries);
  offsets.set(value, { start: startOf(node), members });
  return value;
}

const startOf = (node: Node) => node.range?.[0] ?? 0;

function lineCounter(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) lines.addNewLine(end + 1);
  return lines;
}
