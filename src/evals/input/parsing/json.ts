import { getNodeValue, parseTree, visit } from "jsonc-parser";
import { EvalsError, messageOf, type Place, type Problem } from "../../base/types/errors.ts";
import type { Json, Path } from "../../base/types/json.ts";
import { countKeys, JsonPositions } from "./positions.ts";

/** The content of a JSON or YAML file, with the position of every value in it. */
export type ParsedFile = {
  readonly file: string;
  readonly value: Json;
  /** Errors that leave the value usable, such as duplicate keys. */
  readonly problems: readonly Problem[];
  /** The place of the value at `path`, or of its key. If there is no such value, the nearest one that encloses it. */
  place(path: Path, part?: "key" | "value"): Place;
};

export type ParseOptions = {
  /**
   * For files that other programs write, such as hosts' configuration: JSON may have comments and trailing commas, the
   * last of several equal keys wins, and values may be nested more deeply.
   */
  lenient?: boolean;
};

/** The maximum nesting depth: more than any file needs, and few enough levels for code that recurses over the value. */
export function getMaxDepth({ lenient }: ParseOptions): number {
  return lenient ? 500 : 100;
}

/** A problem in a text, by its offset. `fatal`: the value cannot be used. */
export type TextProblem = { offset: number; message: string; hint?: string; fatal?: boolean; isSyntax?: boolean };

/** Thrown when the text has no usable value. */
class SyntaxProblem extends Error {
  constructor(readonly problems: readonly TextProblem[]) {
    super("invalid JSON");
  }
}

/** Creates a function that converts offsets in a text to places. Lines are indexed when the first place is needed. */
export function createLocator(text: string, file: string): (offset: number) => Place {
  let starts: number[] | undefined;
  return (offset) => {
    starts ??= listLineStarts(text);
    let [line, end] = [0, starts.length];
    while (end - line > 1) {
      const middle = (line + end) >> 1;
      if ((starts[middle] ?? 0) <= offset) line = middle;
      else end = middle;
    }
    return { file, line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

function listLineStarts(text: string): number[] {
  const starts = [0];
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) starts.push(end + 1);
  return starts;
}

/** Converts a problem in a text to an error with its place. */
export function locateProblem({ offset, message, hint }: TextProblem, locate: (offset: number) => Place): Problem {
  return { severity: "error", message, ...(hint && { hint }), place: locate(offset) };
}

/** The error for a file without a value. */
export function createEmptyFileError(file: string): EvalsError {
  return new EvalsError({
    severity: "error",
    message: "The file is empty.",
    hint: "Write its content, or remove it.",
    place: { file },
  });
}

/**
 * Parses JSON (RFC 8259) exactly as `JSON.parse` does; `file` is how places name the text. Throws EvalsError with the
 * place of the first syntax error, of nesting that is too deep, or of what is not plain data (`__proto__`, infinite
 * numbers).
 */
export function parseJson(text: string, file: string, options: ParseOptions = {}): ParsedFile {
  if (text.trim() === "") throw createEmptyFileError(file);
  const locate = createLocator(text, file);
  try {
    const { value, problems } = options.lenient ? parseLenient(text) : parseStrict(text);
    const positions = new JsonPositions(text);
    return {
      file,
      value,
      problems: problems.map((problem) => locateProblem(problem, locate)),
      place: (path, part) => locate(positions.find(path, part)),
    };
  } catch (error) {
    if (error instanceof SyntaxProblem) throw new EvalsError(error.problems.map((one) => locateProblem(one, locate)));
    throw error;
  }
}

type Parsed = { value: Json; problems: readonly TextProblem[] };

function parseStrict(text: string): Parsed {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    checkJson(text, {});
    throw new SyntaxProblem([{ offset: 0, message: `Invalid JSON: ${messageOf(error)}.` }]);
  }
  const problems = isPlain(value, text) ? [] : checkJson(text, {});
  const fatal = problems.filter((problem) => problem.fatal);
  if (fatal.length > 0) throw new SyntaxProblem(fatal);
  return { value, problems };
}

/**
 * Whether a parsed text has no problem, which takes less time than `checkJson`. If it has duplicate keys, the value has
 * fewer keys than the text.
 */
function isPlain(value: Json, text: string): boolean {
  const maxDepth = getMaxDepth({});
  let keys = 0;
  const isValid = (one: Json, depth: number): boolean => {
    if (typeof one === "number") return Number.isFinite(one);
    if (typeof one !== "object" || one === null) return true;
    if (depth >= maxDepth) return false;
    if (Array.isArray(one)) return one.every((item) => isValid(item, depth + 1));
    const members = Object.entries(one);
    keys += members.length;
    return members.every(([key, member]) => key !== "__proto__" && isValid(member, depth + 1));
  };
  return isValid(value, 0) && keys === countKeys(text);
}

function parseLenient(text: string): Parsed {
  try {
    return { value: JSON.parse(text) as Json, problems: [] };
  } catch {
    checkJson(text, { lenient: true });
    return { value: parseWithComments(text), problems: [] };
  }
}

/** Goes through a string so that a key `__proto__` becomes an ordinary member, as in `JSON.parse`. */
function parseWithComments(text: string): Json {
  const root = parseTree(text, [], { allowTrailingComma: true });
  return root ? (JSON.parse(JSON.stringify(getNodeValue(root))) as Json) : null;
}

/** What the grammar allows next. */
type Expected = "key" | "colon" | "value" | "separator";

/** Lists the problems of a JSON text. Throws SyntaxProblem for the first syntax error or nesting that is too deep. */
function checkJson(text: string, { lenient = false }: ParseOptions): TextProblem[] {
  const maxDepth = getMaxDepth({ lenient });
  const problems: TextProblem[] = [];
  /** The objects (as the keys seen so far) and arrays that enclose the current offset. */
  const open: (Set<string> | "array")[] = [];
  let expected: Expected = "value";

  const begin = (offset: number, container: Set<string> | "array") => {
    open.push(container);
    if (open.length > maxDepth) throw new SyntaxProblem([reportTooDeep(offset, maxDepth)]);
    expected = container === "array" ? "value" : "key";
  };
  const end = (offset: number) => {
    // Also called at the end of a text without the closing bracket; `onError` follows.
    if (offset === text.length) return;
    open.pop();
    expected = "separator";
  };
  const getOpenObject = () => {
    const innermost = open.at(-1);
    return innermost === "array" ? undefined : innermost;
  };

  visit(
    text,
    {
      onObjectBegin: (offset) => begin(offset, new Set()),
      onArrayBegin: (offset) => begin(offset, "array"),
      onObjectEnd: end,
      onArrayEnd: end,
      onObjectProperty: (name, offset) => {
        const keys = getOpenObject();
        if (keys?.has(name)) problems.push(reportDuplicateKey(offset, name));
        if (name === "__proto__") problems.push({ offset, message: `"__proto__" cannot be a key.`, fatal: true });
        keys?.add(name);
        expected = "colon";
      },
      onSeparator: (mark) => {
        expected = mark === ":" || !getOpenObject() ? "value" : "key";
      },
      onLiteralValue: (value, offset) => {
        if (typeof value === "number" && !Number.isFinite(value)) problems.push(reportNotFinite(offset));
        expected = "separator";
      },
      onError: (_code, offset) => {
        const close = open.length === 0 ? undefined : getOpenObject() ? "}" : "]";
        throw new SyntaxProblem([explainSyntax(text, offset, expected, { close, lenient })]);
      },
    },
    { disallowComments: !lenient, allowTrailingComma: lenient },
  );
  return problems;
}

export function reportTooDeep(offset: number, maxDepth: number): TextProblem {
  return {
    offset,
    message: `The value is nested more than ${maxDepth} levels deep.`,
    hint: "Flatten it.",
    fatal: true,
  };
}

export function reportDuplicateKey(offset: number, name: string): TextProblem {
  return { offset, message: `"${name}" appears twice in this object.`, hint: "Remove one of them." };
}

export function reportNotFinite(offset: number): TextProblem {
  return { offset, message: "The number is not finite.", hint: "Write a smaller number.", fatal: true };
}

/** Explains a syntax error: what was expected, what is there instead, and the usual fix. */
function explainSyntax(
  text: string,
  at: number,
  expected: Expected,
  { close, lenient }: { close: "}" | "]" | undefined; lenient: boolean },
): TextProblem {
  const invalid = (offset: number, what: string, hint?: string) => {
    return { offset, message: `Invalid JSON: ${what}.`, ...(hint && { hint }) };
  };
  if (/^\/[/*]/.test(text.slice(at, at + 2)))
    return lenient
      ? invalid(at, "comment without an end", "Close it with */.")
      : invalid(at, "comments are not allowed", "Remove the comment.");
  if (text[at] === '"' && !/["\\]/.test(text[at - 1] ?? "")) {
    const broken = explainString(text, at);
    if (broken) return invalid(...broken);
  }
  // Go back to the start of the word: the scanner reads `01` as two numbers.
  const isWord = /[\w.+-]/.test(text[at] ?? "");
  const before = isWord ? (/[\w.+-]*$/.exec(text.slice(Math.max(0, at - 20), at))?.[0].length ?? 0) : 0;
  const offset = at - before;
  const found = describeToken(text, offset);
  if (before > 0) return invalid(offset, `expected a value, got ${found}`);
  const comma = /,[ \t\r\n]*$/.exec(text.slice(0, at));
  if (close && text[at] === close && comma) return invalid(comma.index, `comma before "${close}"`, "Remove the comma.");
  switch (expected) {
    case "key":
      return invalid(at, `expected a key, got ${found}`, "Put keys in double quotes.");
    case "colon":
      return invalid(at, `expected ":" after the key, got ${found}`);
    case "value":
      return invalid(at, `expected a value, got ${found}`, hintForValue(text[at] ?? ""));
    case "separator":
      return close
        ? invalid(at, `expected "," or "${close}", got ${found}`)
        : invalid(at, `unexpected text after the end: ${found}`);
  }
}

function hintForValue(char: string): string | undefined {
  if (char === "#") return "Remove the comment: JSON has none.";
  return /[\p{L}'`]/u.test(char) ? "Put text in double quotes." : undefined;
}

/** Where and why a string is malformed; undefined if it is well-formed. */
function explainString(text: string, start: number): [offset: number, what: string, hint?: string] | undefined {
  // Matches runs of plain characters, because a repeated single character overflows the stack on a long string.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these inside strings.
  const wellFormed = /"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\x00-\x1f]*)*/y;
  wellFormed.lastIndex = start;
  wellFormed.test(text);
  const at = wellFormed.lastIndex;
  switch (text[at]) {
    case '"':
      return undefined;
    case undefined:
      return [start, "string without a closing quote"];
    case "\\":
      return [at, `unknown escape ${text.slice(at, at + 2)} in a string`, "Write a backslash as \\\\."];
    case "\n":
    case "\r":
      return [at, "line break inside a string", "Write it as \\n."];
    default:
      return [at, `control character ${describeToken(text, at)} inside a string`, "Write it as an escape."];
  }
}

/** Describes the text at an offset for a message: a word, a character, or the code of an invisible character. */
function describeToken(text: string, at: number): string {
  const code = text.codePointAt(at);
  if (code === undefined) return "the end of the file";
  if (code <= 0x20 || code === 0x7f) return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  if (text[at] === '"') return "a string";
  const [word] = text.slice(at, at + 20).match(/^[\w.+-]+/) ?? [];
  return `"${word ?? String.fromCodePoint(code)}"`;
}
