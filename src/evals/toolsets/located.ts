import { readFile } from "node:fs/promises";
import { LineCounter, type Node, parseDocument } from "yaml";
import { messageOf, type Place, usageError } from "../errors.ts";
import { parseJson } from "../parsing/json.ts";
import { Tree } from "../parsing/tree.ts";

/** A file's content with the place of every value in it. */
export type Located = { value: unknown; place(path: readonly (string | number)[]): Place };

/** Deeper than anything that is meant to be read: in a file that is deeper, places name its beginning alone. */
const maxDepth = 1_000;

/**
 * Reads a JSON or YAML file (by its ending). JSON may carry comments and trailing commas, as editors' own configuration
 * files do; else it is held to its syntax. `name` is what messages call the file. Throws EvalsError with line and column.
 */
export async function readLocated(file: string, name = file): Promise<Located> {
  const raw = await readFile(file, "utf8").catch((error: unknown) => {
    throw usageError(
      `this file cannot be read: ${messageOf(error)}`,
      "Check the path; one in a suite file starts from its folder.",
      {
        file: name,
      },
    );
  });
  return /\.ya?ml$/i.test(file) ? locatedYaml(raw, name) : locatedJson(plainJson(raw), name);
}

function locatedYaml(text: string, file: string): Located {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error)
    throw usageError(`this is not valid YAML: ${error.message}`, undefined, placeIn(file, lines, error.pos[0]));
  return { value: document.toJS(), place: placesOf(file, lines, () => document.contents ?? undefined) };
}

function locatedJson(text: string, file: string): Located {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) lines.addNewLine(end + 1);
  try {
    return { value: JSON.parse(text), place: placesOf(file, lines, () => parseJson(text, maxDepth).root) };
  } catch (error) {
    // JSON.parse tells the place of some errors only.
    const [fault] = parseJson(text, Number.POSITIVE_INFINITY).faults;
    const hint = fault?.hint && `${fault.hint.charAt(0).toUpperCase()}${fault.hint.slice(1)}.`;
    const what =
      fault?.message.replace(/^not valid JSON: /, "") ?? (text.trim() === "" ? "it is empty" : messageOf(error));
    throw usageError(`this is not valid JSON: ${what}`, hint, placeIn(file, lines, fault?.offset ?? 0));
  }
}

function placeIn(file: string, lines: LineCounter, offset: number): Place {
  const { line, col } = lines.linePos(offset);
  return { file, line, column: col };
}

/** The nodes of a file are read only when a place is asked for: that takes many times as long as its values. */
function placesOf(file: string, lines: LineCounter, read: () => Node | undefined): Located["place"] {
  let tree: Tree | undefined;
  let isRead = false;
  return (path) => {
    if (!isRead) {
      const root = read();
      tree = root && new Tree(root, maxDepth);
      isRead = true;
    }
    return placeIn(file, lines, tree?.offset(path, "value") ?? 0);
  };
}

// Strings come first in the patterns, so that what looks like a comment or a comma inside one is left alone.
// A string is one run of plain characters after another: a step for each character of a long one overflows the stack.
const comments = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const trailingCommas = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"|,(?=\s*[}\]])/g;

/** The text with comments and trailing commas made blank, so that every other character keeps its place. */
function plainJson(text: string): string {
  const blank = (match: string) => (match.startsWith('"') ? match : match.replace(/[^\n]/g, " "));
  return text
    .replace(/^\uFEFF/, " ")
    .replace(comments, blank)
    .replace(trailingCommas, blank);
}
