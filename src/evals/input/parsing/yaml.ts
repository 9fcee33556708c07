import {
  type Alias,
  Composer,
  type CST,
  type ErrorCode,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  type Pair,
  Parser,
  type Scalar,
  visit,
  type YAMLMap,
} from "yaml";
import { groupBy, once } from "../../base/collections.ts";
import { cut, quote } from "../../base/text/text.ts";
import { EvalsError, type Location, type Problem, usageError } from "../../base/types/errors.ts";
import { isMarked, type Json, type JsonObject, type Path, readWhole } from "../../base/types/json.ts";
import {
  createEmptyFileError,
  createLocator,
  getMaxDepth,
  locateProblem,
  type ParsedFile,
  type ParseOptions,
  reportDuplicateKey,
  reportNotFinite,
  reportTooDeep,
  type TextProblem,
} from "./json.ts";

/** The size of some 30,000 cases. A token costs more time and memory than in JSON; nothing ends the parser early. */
const maxTokens = 1_000_000;
/** More values, with aliases expanded, than that many tokens need. An alias bomb has far more. */
const maxValues = 1_000_000;
/** Every further one is most likely a consequence of these. */
const maxErrors = 20;

/**
 * Parses one YAML 1.2 document that holds plain JSON data; aliases are expanded. `file` is how places name the text.
 * Throws EvalsError for a text with too many tokens, and with the place of every syntax error (at most one per line),
 * or of everything that is not plain data.
 */
export function parseYaml(text: string, file: string, options: ParseOptions = {}): ParsedFile {
  const locate = createLocator(text, file);
  const maxDepth = getMaxDepth(options);
  const toProblem = (problem: TextProblem): Problem => {
    const located = locateProblem(problem, locate);
    return problem.isSyntax ? { ...located, excerpt: renderExcerpt(text, problem.offset, located.location) } : located;
  };
  const { root, problems } = composeNodes(text, file, maxDepth);
  // Of each line the first problem: one mistake often causes several errors, and only the first helps.
  const byLine = groupBy(problems.map(toProblem), ({ location }) => `${location?.line}`);
  if (problems.length > 0) throw new EvalsError([...byLine.values()].flatMap(([first]) => first ?? []));
  if (!root) throw createEmptyFileError(file);
  const tree = new YamlTree(root, maxDepth, options);
  const { value } = tree;
  const found = tree.problems.map(toProblem);
  if (tree.problems.some(({ fatal }) => fatal || options.lenient)) throw new EvalsError(found);
  return {
    file,
    value,
    problems: found.filter(({ severity }) => severity === "error"),
    warnings: found.filter(({ severity }) => severity === "warning"),
    location: (path, part = "value") => locate(tree.findOffset(path, part)),
  };
}

/** A value without quotes, as written and as read, its line from 0, and the comment and anchor beside it. */
export type PlainValue = {
  key: string;
  written: string;
  value: unknown;
  line: number;
  comment: string;
  anchor: string;
};

/** The values that are written without quotes; of a text that is not valid YAML, the first line at fault, from 0. */
export function listPlainValues(text: string): PlainValue[] | { invalidLine: number } {
  const locate = createLocator(text, "");
  const findLine = (offset: number) => (locate(offset).line ?? 1) - 1;
  const { root, problems } = composeNodes(text, "", getMaxDepth({}));
  const [problem] = problems;
  if (problem) return { invalidLine: findLine(problem.offset) };
  const values: PlainValue[] = [];
  const onScalar = (part: unknown, scalar: Scalar, path: readonly unknown[]) => {
    const { type, source: written = "", value, anchor = "", range } = scalar;
    if (part === "key" || !range || (type !== "PLAIN" && value !== null)) return;
    const [start, end] = range;
    const [, comment = ""] = /^[ \t]*(#.*)/.exec(text.slice(end, end + maxComment)) ?? [];
    const key = String(path.findLast(isPair)?.key ?? "");
    values.push({ key, written, value, line: findLine(start), comment, anchor });
  };
  if (root) visit(root, { Scalar: onScalar });
  return values;
}

/** More than a finding shows, and so little that a text of empty values is read in linear time. */
const maxComment = 1000;

type Composed = { root?: Node | undefined; problems: TextProblem[] };

/** Composes the node tree of a document; no `root` if the text has no value, or problems make it unusable. */
function composeNodes(text: string, file: string, maxDepth: number): Composed {
  const tokens = [...parseTokens(text, file)];
  // Checked before composing: the composer recurses, and a stack overflow there can crash the process.
  const deep = findTooDeep(tokens, maxDepth);
  if (deep) return { problems: [deep] };
  // `uniqueKeys` takes quadratic time; `YamlTree` finds duplicate keys instead.
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false, logLevel: "error" });
  // Composes no more than two, of any number.
  const [document, second] = composer.compose(tokens, true, text.length);
  if (second) {
    const hint = 'Write one document per file, without a "---" in between.';
    return { problems: [{ offset: second.range[0], message: "The file holds several YAML documents.", hint }] };
  }
  const errors = [...(document?.errors ?? []), ...(document?.warnings ?? [])];
  // The parser reports a line that is indented too far more than once.
  const first = new Map(errors.toReversed().map((error) => [error.pos[0], error]));
  const distinct = errors.filter((error) => first.get(error.pos[0]) === error).slice(0, maxErrors);
  const problems = distinct.map(({ code, pos: [offset], message }): TextProblem => {
    const hint = fixes[code];
    return { offset, message: `Invalid YAML: ${message.replace(/\.$/, "")}.`, ...(hint && { hint }), isSyntax: true };
  });
  return { root: document?.contents ?? undefined, problems };
}

/** The usual fixes of errors. */
const fixes: { readonly [code in ErrorCode]?: string } = {
  BAD_INDENT: "Close brackets and braces, and start all keys of one object in the same column.",
  BLOCK_AS_IMPLICIT_KEY: 'Put text with ": " in quotes, and start all keys of one object in the same column.',
  MULTILINE_IMPLICIT_KEY: "Write a colon after the key, or put the text in quotes.",
  MISSING_CHAR: "Close quotes on their line, and brackets; start items with a hyphen.",
  TAB_AS_INDENT: "Indent with spaces.",
  BAD_SCALAR_START: "Put the text in quotes.",
  BAD_DQ_ESCAPE: "Write a backslash as \\\\.",
  UNEXPECTED_TOKEN: "Put all of the text in quotes of the other kind.",
};

/** Throws EvalsError if there are more than `maxTokens`. */
function* parseTokens(text: string, file: string): Generator<CST.Token> {
  const parser = new Parser();
  let found = 0;
  for (const token of new Lexer().lex(text)) {
    const hint = "Write it as JSON. The cases of a suite can also be in a file in CSV or JSON Lines.";
    if (++found > maxTokens)
      throw usageError("The file has more than 1,000,000 YAML tokens, which take long to read.", hint, { file });
    yield* parser.next(token);
  }
  yield* parser.end();
}

/** The tokens of a document or collection, keys included. */
function listInnerTokens(token: CST.Token): CST.Token[] {
  if (token.type === "document") return token.value ? [token.value] : [];
  if (!("items" in token)) return [];
  return token.items.flatMap(({ key, value }) => [...(key ? [key] : []), ...(value ? [value] : [])]);
}

function findTooDeep(tokens: readonly CST.Token[], maxDepth: number): TextProblem | undefined {
  const open = tokens.map((token) => ({ token, depth: 0 }));
  for (let next = open.pop(); next; next = open.pop()) {
    const { token, depth } = next;
    if (depth > maxDepth) return reportTooDeep("offset" in token ? token.offset : 0, maxDepth);
    for (const inner of listInnerTokens(token)) open.push({ token: inner, depth: depth + 1 });
  }
  return undefined;
}

/** Renders the line of a place with its number and a mark below the column; a long line is cut around the mark. */
function renderExcerpt(text: string, offset: number, location: Location | undefined): string {
  const { line = 1, column = 1 } = location ?? {};
  const from = Math.max(0, column - 1 - 50);
  const start = offset - (column - 1) + from;
  const [shown = ""] = text.slice(start, start + 70).split("\n");
  return `${line} | ${shown.replaceAll("\t", " ").trimEnd()}\n${" ".repeat(String(line).length)} | ${" ".repeat(column - 1 - from)}^`;
}

/** A node tree as JSON data, with the offset of every value. */
class YamlTree {
  readonly value: Json;
  readonly problems: TextProblem[] = [];
  #targets: ReadonlyMap<Alias, Node> | undefined;
  /** The members of an object on the way to a place that was asked for, by key: the first of several equal ones. */
  readonly #listMembers = once(
    ({ items }: YAMLMap): ReadonlyMap<string | undefined, Pair> =>
      new Map(items.toReversed().map((pair) => [readKey(pair.key), pair])),
  );
  #values = 0;
  #isBroken = false;

  constructor(
    private readonly root: Node,
    private readonly maxDepth: number,
    private readonly options: ParseOptions,
  ) {
    this.value = this.#read(root, 0);
  }

  findOffset(path: Path, part: "key" | "value"): number {
    let node: unknown = this.root;
    let offset = getStart(node) ?? 0;
    for (const [i, step] of path.entries()) {
      const found = this.#findChild(this.#follow(node), step);
      if (!found) return offset;
      const wantsKey = part === "key" && i === path.length - 1;
      offset = (wantsKey ? undefined : getStart(found.value)) ?? getStart(found.key) ?? offset;
      node = found.value;
    }
    return offset;
  }

  #findChild(node: unknown, step: string | number): { key?: unknown; value: unknown } | undefined {
    if (isSeq(node) && typeof step === "number")
      return step < node.items.length ? { value: node.items[step] } : undefined;
    if (!isMap(node)) return undefined;
    return this.#listMembers(node).get(String(step));
  }

  #follow(node: unknown): unknown {
    if (!isAlias(node)) return node;
    this.#targets ??= findAliasTargets(this.root);
    return this.#targets.get(node);
  }

  #read(node: unknown, depth: number): Json {
    if (this.#isBroken) return null;
    if (++this.#values > maxValues)
      return this.#refuse(node, "The file holds more than 1,000,000 values (aliases expanded).");
    if (depth > this.maxDepth) {
      const limit = `more than ${this.maxDepth} levels deep`;
      return this.#refuse(node, `The value is nested ${limit}, or an alias is inside its own anchor.`);
    }
    if (node === null) return null;
    if (isAlias(node)) {
      const target = this.#follow(node);
      if (target) return this.#read(target, depth + 1);
      return this.#refuse(node, `There is no anchor &${node.source} before this alias.`);
    }
    if (isSeq(node)) return node.items.map((item) => this.#read(item, depth + 1));
    if (isMap(node)) return this.#readMap(node.items, depth);
    return isScalar(node) ? this.#readScalar(node, node.value) : this.#refuse(node, "This is not a JSON value.");
  }

  #readScalar(node: Node, value: unknown): Json {
    const { source = "", type, comment = "" } = node as Scalar;
    const { lenient = false, exact = !lenient } = this.options;
    // Most comments begin with a space.
    if (!lenient && typeof value === "string" && type === "PLAIN" && /^\S/.test(comment ?? "")) {
      const message = `YAML reads ${quote(`#${cut(comment ?? "", 40)}`)} as a comment, so the text ends before it.`;
      const hint = "Put the whole text in quotes. If it is a comment, put a space after the #.";
      this.problems.push({ offset: getStart(node) ?? 0, message, hint, severity: "warning" });
    }
    if (value === null || typeof value === "boolean" || typeof value === "string") return value;
    if (typeof value !== "number") return this.#refuse(node, "This is not a JSON value.");
    const read = exact && !Number.isSafeInteger(value) ? readWhole(source.replace(/^\+/, "")) : value;
    if (isMarked(read)) return read;
    if (Number.isFinite(value)) return value;
    this.#isBroken = true;
    this.problems.push(reportNotFinite(getStart(node) ?? 0));
    return null;
  }

  #readMap(pairs: readonly Pair[], depth: number): JsonObject {
    const seen = new Set<string>();
    const members = pairs.map(({ key, value }): [string, Json] => {
      const name = readKey(this.#follow(key));
      if (name === undefined) this.#refuse(key, "A key must be text.");
      else if (name === "__proto__") this.#refuse(key, '"__proto__" cannot be a key.');
      else if (seen.has(name)) this.problems.push(reportDuplicateKey(getStart(key) ?? 0, name));
      else seen.add(name);
      return [name ?? "", this.#read(value, depth + 1)];
    });
    return Object.fromEntries(members);
  }

  /** Stops reading: the value is incomplete, so checking it further would report misleading problems. */
  #refuse(node: unknown, message: string): null {
    this.#isBroken = true;
    this.problems.push({ offset: getStart(node) ?? 0, message, fatal: true });
    return null;
  }
}

function findAliasTargets(root: Node): Map<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(root, {
    Node(_, node) {
      const target = isAlias(node) ? anchors.get(node.source) : undefined;
      if (isAlias(node) && target) targets.set(node, target);
      else if ("anchor" in node && node.anchor) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

/** Converts a scalar key to text as it is written, because keys are text in JSON; undefined for other keys. */
function readKey(key: unknown): string | undefined {
  if (key === null) return "";
  if (!isScalar(key)) return undefined;
  return typeof key.value === "string" ? key.value : (key.source ?? String(key.value));
}

/** The offset at which a node starts; undefined for an empty value (`key:`), which has no position. */
function getStart(node: unknown): number | undefined {
  const range = isNode(node) ? node.range : undefined;
  return range && range[0] < range[1] ? range[0] : undefined;
}
