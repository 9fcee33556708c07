import { readFile } from "node:fs/promises";
import { EvalsError, type Place } from "../../errors.ts";
import type { Path } from "../../jsonSchema/paths.ts";
import type { Located } from "../../toolsets/located.ts";
import { JsonOffsets } from "./jsonOffsets.ts";

/**
 * A JSON or YAML file with the place of every value; `file` is how places name it. As `readLocated`, but much faster at
 * finding the places of strict JSON, for which that takes the YAML parser.
 */
export async function readPlaced(path: string, file: string): Promise<Located> {
  const strict = /\.ya?ml$/i.test(path) ? undefined : await readStrict(path, file);
  if (strict) return strict;
  const { readLocated } = await import("../../toolsets/located.ts");
  const located = await readLocated(path).catch((error: unknown) => {
    throw error instanceof EvalsError ? renamed(error, file) : error;
  });
  return { value: located.value, place: (at) => ({ ...located.place(at), file }) };
}

/** A file of strict JSON; undefined for one that is not, or that cannot be read: the other reader says why. */
async function readStrict(path: string, file: string): Promise<Located | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  let find: ((at: Path) => Place) | undefined;
  const place = (at: Path) => {
    find ??= jsonPlaces(text, file);
    return find(at);
  };
  return { value, place };
}

function jsonPlaces(text: string, file: string): (at: Path) => Place {
  const offsets = new JsonOffsets(text);
  const starts = [0];
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) starts.push(end + 1);
  return (at) => {
    const offset = offsets.of(at);
    let [line, past] = [0, starts.length];
    while (past - line > 1) {
      const middle = (line + past) >> 1;
      if ((starts[middle] ?? 0) <= offset) line = middle;
      else past = middle;
    }
    return { file, line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

function renamed({ problems, exitCode }: EvalsError, file: string): EvalsError {
  return new EvalsError(
    problems.map((problem) => ({ ...problem, ...(problem.place && { place: { ...problem.place, file } }) })),
    exitCode,
  );
}
