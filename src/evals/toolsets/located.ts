import { readFile } from "node:fs/promises";
import { type Document, isNode, LineCounter, parseDocument, visit } from "yaml";
import { messageOf, type Place, usageError } from "../errors.ts";

/** A file's content with the place of every value in it. */
export type Located = { value: unknown; place(path: readonly (string | number)[]): Place };

/**
 * Reads a JSON or YAML file (by its ending). JSON may carry comments and trailing commas, as editors' own configuration
 * files do; else it is held to its syntax. Throws EvalsError with line and column.
 */
export async function readLocated(file: string): Promise<Located> {
  const raw = await readFile(file, "utf8").catch((error: unknown) => {
    throw usageError(`this file cannot be read: ${messageOf(error)}`, "Paths in a suite file start from its folder.", {
      file,
    });
  });
  const json = !/\.ya?ml$/i.test(file);
  const text = json ? plainJson(raw) : raw;
  const lines = new LineCounter();
  let parsed: Document.Parsed | undefined;
  // A JSON file is parsed for its places only when one is asked for: the YAML parser takes many times as long.
  const document = () => {
    parsed ??= parseDocument(text, { lineCounter: lines, prettyErrors: false });
    return parsed;
  };
  const at = (offset: number): Place => {
    document();
    const { line, col } = lines.linePos(offset);
    return { file, line, column: col };
  };
  const place: Located["place"] = (path) => {
    for (let length = path.length; length > 0; length--) {
      const node = document().getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return at(node.range[0]);
    }
    return at(document().contents?.range?.[0] ?? 0);
  };
  if (json) {
    try {
      return { value: JSON.parse(text), place };
    } catch (error) {
      const { message, offset } = jsonSlip(messageOf(error), text, document());
      throw usageError(`this is not valid JSON: ${message}`, undefined, at(offset));
    }
  }
  const [error] = document().errors;
  if (error) throw usageError(`this is not valid YAML: ${error.message}`, undefined, at(error.pos[0]));
  return { value: document().toJS(), place };
}

// Strings come first in the patterns, so that what looks like a comment or a comma inside one is left alone.
const comments = /"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const trailingCommas = /"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g;

/** The text with comments and trailing commas made blank, so that every other character keeps its place. */
function plainJson(text: string): string {
  const blank = (match: string) => (match.startsWith('"') ? match : match.replace(/[^\n]/g, " "));
  return text
    .replace(/^\uFEFF/, " ")
    .replace(comments, blank)
    .replace(trailingCommas, blank);
}

/** Where JSON.parse failed. It tells the place of some errors only; for the others the YAML parser's view is taken. */
function jsonSlip(message: string, text: string, document: Document.Parsed): { message: string; offset: number } {
  const told = /^(.*) in JSON at position (\d+)/.exec(message);
  if (told?.[1] !== undefined) return { message: told[1], offset: Number(told[2]) };
  if (/Unexpected end/.test(message)) return { message: "it ends too early", offset: text.trimEnd().length };
  const [error] = document.errors;
  if (error) return { message: error.message, offset: error.pos[0] };
  let slip = { message, offset: 0 };
  visit(document, {
    Scalar: (_, { range }) => {
      const source = range ? text.slice(range[0], range[1]) : "";
      if (isJson(source)) return undefined;
      slip = { message: `unexpected ${JSON.stringify(source.slice(0, 40))}`, offset: range?.[0] ?? 0 };
      return visit.BREAK;
    },
  });
  return slip;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
