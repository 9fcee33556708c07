import { LineCounter } from "yaml";
import { EvalsError, type Place, type Problem, usageError } from "../errors.ts";
import { parseJson, type SyntaxFault } from "../parsing/json.ts";
import { type Path, Tree } from "../parsing/tree.ts";
import type { Json } from "../types/json.ts";
import { parseYaml } from "./yaml.ts";

/** Deeper than any suite, and shallow enough for everything that recurses over its data. */
const maxDepth = 100;

/** A file read as plain JSON data, which can tell the place of each of its values. */
export type SuiteDocument = {
  readonly file: string;
  readonly data: Json;
  /** What is wrong and yet leaves the data readable: equal keys in one object. */
  readonly problems: readonly Problem[];
  /** Where the value at `path` stands, or its key; the nearest value around it when there is none at `path`. */
  place(path: Path, part?: "key" | "value"): Place;
};

/**
 * Reads the text of a suite file: strict JSON when its name ends with `.json`, else YAML 1.2.
 * Throws EvalsError with every problem when the text cannot be read as JSON data.
 */
export function parseDocument(text: string, file: string): SuiteDocument {
  const lines = lineCounter(text);
  const placeOf = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line, column: col };
  };
  const problem = ({ offset, message, hint }: SyntaxFault): Problem => {
    return { severity: "error", message, ...(hint && { hint }), place: placeOf(offset) };
  };
  const { root, faults } = file.endsWith(".json") ? parseJson(text, maxDepth) : parseYaml(text, maxDepth);
  if (faults.length > 0) throw new EvalsError(firstOfEachLine(faults.map(problem)));
  if (!root) throw usageError("the file is empty", "a suite holds `cases`", { file });
  const tree = new Tree(root, maxDepth);
  const problems = tree.faults.map((fault) => problem(fault));
  if (!tree.readable) throw new EvalsError(problems);
  return { file, data: tree.data, problems, place: (path, part = "value") => placeOf(tree.offset(path, part)) };
}

function lineCounter(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) lines.addNewLine(end + 1);
  return lines;
}

/** One slip often makes the parser stumble several times in the same line; only the first tells the author anything. */
function firstOfEachLine(problems: readonly Problem[]): Problem[] {
  const lines = new Set<number | undefined>();
  return problems.filter(({ place }) => !lines.has(place?.line) && lines.add(place?.line));
}
