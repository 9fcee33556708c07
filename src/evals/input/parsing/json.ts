import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseErrorCode,
  parseTree,
  printParseErrorCode,
  stripComments,
  visit,
} from "jsonc-parser";
import { EvalsError, type Location, messageOf, type Problem, usageError } from "../../base/types/errors.ts";
import { type Json, markWholes, type Path, parseExactJson } from "../../base/types/json.ts";

/** The content of a JSON or YAML file, with the position of every value in it. */
export type ParsedFile = {
  readonly file: string;
  readonly value: Json;
  /** Errors that leave the value usable, such as duplicate keys. */
  readonly problems: readonly Problem[];
  /** What was perhaps meant otherwise. */
  readonly warnings?: readonly Problem[];
  /** The place of the value at `path`, or of its key. If there is no such value, the nearest one that encloses it. */
  location(path: Path, part?: "key" | "value"): Location;
};

export type ParseOptions = {
  /** For files that other programs write: JSON may have comments, the last of several equal keys wins. */
  lenient?: boolean;
  /** Keep every digit of large whole numbers in lenient files, as in others. */
  exact?: boolean;
};

/** The maximum nesting depth: more than any file needs, and few enough levels for code that recurses over the value. */
export const getMaxDepth = ({ lenient }: ParseOptions): number => (lenient ? 500 : 100);

/** A problem in a text, by its offset. `fatal`: the value cannot be used. */
export type TextProblem = Pick<Problem, "message" | "hint"> &
  Partial<Pick<Problem, "severity">> & { offset: number; fatal?: boolean; isSyntax?: boolean };

/** Creates a function that converts offsets in a text to places. Lines are indexed when the first place is needed. */
export function createLocator(text: string, file: string): (offset: number) => Location {
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
export function locateProblem(problem: TextProblem, locate: (offset: number) => Location): Problem {
  const { offset, severity = "error", message, hint } = problem;
  return { severity, message, ...(hint && { hint }), location: locate(offset) };
}

/** The error for a file without a value. */
export function createEmptyFileError(file: string): EvalsError {
  return usageError("The file is empty.", "Write its content, or remove it.", { file });
}

/**
 * Parses JSON (RFC 8259) exactly as `JSON.parse` does; `file` is how places name the text. Throws EvalsError with the
 * place of the first syntax error, of nesting that is too deep, or of what is not plain data (`__proto__`, infinite
 * numbers).
 */
export function parseJson(text: string, file: string, options: ParseOptions = {}): ParsedFile {
  if (text.trim() === "") throw createEmptyFileError(file);
  const locate = createLocator(text, file);
  const toProblem = (problem: TextProblem) => locateProblem(problem, locate);
  const fail: Fail = (problems) => {
    throw new EvalsError(problems.map(toProblem));
  };
  const { value, problems } = options.lenient ? parseLenient(text, options, fail) : parseStrict(text, fail);
  let tree: Node | undefined;
  return {
    file,
    value,
    problems: problems.map(toProblem),
    location: (path, part) => {
      try {
        tree ??= parseTree(text, [], { allowTrailingComma: true });
      } catch {
        // The parser recurses: a text that is nested very deeply has no places.
      }
      return tree ? locate(findOffset(tree, path, part)) : { file };
    },
  };
}

/** The offset of the value at `path`, or of its key. If there is no such value, that of the nearest enclosing one. */
function findOffset(root: Node, path: Path, part: "key" | "value" = "value"): number {
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(root, path.slice(0, length));
    const isKey = part === "key" && length === path.length && node?.parent?.type === "property";
    if (node) return (isKey && node.parent ? node.parent : node).offset;
  }
  return root.offset;
}

type Parsed = { value: Json; problems: readonly TextProblem[] };
/** Throws that the text has no usable value. */
type Fail = (problems: readonly TextProblem[]) => never;

function parseStrict(text: string, fail: Fail): Parsed {
  const problems = checkJson(text, {}, fail);
  const fatal = problems.filter((problem) => problem.fatal);
  if (fatal.length > 0) fail(fatal);
  try {
    return { value: parseExactJson(text), problems };
  } catch (error) {
    return fail([{ offset: 0, message: `Invalid JSON: ${messageOf(error)}.` }]);
  }
}

function parseLenient(text: string, { exact = false }: ParseOptions, fail: Fail): Parsed {
  try {
    return { value: exact ? parseExactJson(text) : (JSON.parse(text) as Json), problems: [] };
  } catch {
    checkJson(text, { lenient: true }, fail);
    const root = parseTree(exact ? markWholes(stripComments(text)) : text, [], { allowTrailingComma: true });
    // Goes through a string so that a key `__proto__` becomes an ordinary member, as in `JSON.parse`.
    return { value: root ? (JSON.parse(JSON.stringify(getNodeValue(root))) as Json) : null, problems: [] };
  }
}

/** Lists the problems of a JSON text. Fails for the first syntax error or nesting that is too deep. */
function checkJson(text: string, { lenient = false }: ParseOptions, fail: Fail): TextProblem[] {
  const maxDepth = getMaxDepth({ lenient });
  const problems: TextProblem[] = [];
  /** The objects (as the keys seen so far) and arrays that enclose the current offset. */
  const open: (Set<string> | "array")[] = [];
  const begin = (offset: number, container: Set<string> | "array") => {
    open.push(container);
    if (open.length > maxDepth) fail([reportTooDeep(offset, maxDepth)]);
  };
  const end = () => void open.pop();
  visit(
    text,
    {
      onObjectBegin: (offset) => begin(offset, new Set()),
      onArrayBegin: (offset) => begin(offset, "array"),
      onObjectEnd: end,
      onArrayEnd: end,
      onObjectProperty: (name, offset) => {
        const keys = open.at(-1);
        if (typeof keys !== "object") return;
        if (keys.has(name)) problems.push(reportDuplicateKey(offset, name));
        if (name === "__proto__") problems.push({ offset, message: `"__proto__" cannot be a key.`, fatal: true });
        keys.add(name);
      },
      onLiteralValue: (value, offset) => {
        if (typeof value === "number" && !Number.isFinite(value)) problems.push(reportNotFinite(offset));
      },
      onError: (code, offset) => fail([explainSyntax(code, offset)]),
    },
    { disallowComments: !lenient, allowTrailingComma: lenient },
  );
  return problems;
}

export function reportTooDeep(offset: number, maxDepth: number): TextProblem {
  const message = `The value is nested more than ${maxDepth} levels deep.`;
  return { offset, message, hint: "Flatten it.", fatal: true };
}

export function reportDuplicateKey(offset: number, name: string): TextProblem {
  return { offset, message: `"${name}" appears twice in this object.`, hint: "Remove one of them." };
}

export function reportNotFinite(offset: number): TextProblem {
  return { offset, message: "The number is not finite.", hint: "Write a smaller number.", fatal: true };
}

/** The usual fixes of syntax errors, by the parser's names of the errors. */
const fixes: Readonly<Record<string, string>> = {
  InvalidSymbol: "Put keys and text in double quotes.",
  PropertyNameExpected: "Put keys in double quotes, and no comma after the last member.",
  ValueExpected: "Put text in double quotes, and no comma after the last item.",
  CommaExpected: "Separate members and items by commas.",
  InvalidCommentToken: "Remove the comment.",
  UnexpectedEndOfString: "Close the string on its line; write a line break as \\n.",
  InvalidEscapeCharacter: "Write a backslash as \\\\.",
  InvalidCharacter: "Write the character as an escape.",
  UnexpectedEndOfComment: "Close it with */.",
};

/** `Invalid JSON: comma expected.` */
function explainSyntax(code: ParseErrorCode, offset: number): TextProblem {
  const name = printParseErrorCode(code);
  const words = name.replace(/(?<=[a-z])[A-Z]/g, " $&").toLowerCase();
  const hint = fixes[name];
  return { offset, message: `Invalid JSON: ${words}.`, ...(hint !== undefined && { hint }) };
}
