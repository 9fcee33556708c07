import type { CST, YAMLError, YAMLWarning } from "yaml";
import type { TextProblem } from "./json.ts";

/** Explains an error of the YAML parser, at the place where the author has to change the text, with the usual fix. */
export function explainYamlError(
  { code, pos: [at], message }: YAMLError | YAMLWarning,
  text: string,
  unclosed: Unclosed,
): TextProblem {
  const invalid = (offset: number, what: string, hint?: string): TextProblem => {
    return { offset, message: `Invalid YAML: ${what.replace(/\.$/, "")}.`, ...(hint && { hint }), isSyntax: true };
  };
  const lineEnd = findLineEnd(text, at);
  const rest = text.slice(at, lineEnd);
  const quote = /(["'])[ \t]*$/.exec(text.slice(text.lastIndexOf("\n", at - 1) + 1, at))?.[1];
  if (/^Missing closing/.test(message)) {
    const open = unclosed.string ?? at;
    const quote = text[open];
    return invalid(open, "text without a closing quote", `Close it with ${quote} on the same line.`);
  }
  if (/^Flow (map|sequence)/.test(message)) {
    const open = unclosed.collection ?? at;
    const [what, close] = text[open] === "{" ? ["object", "}"] : ["list", "]"];
    return invalid(open, `${what} without a closing "${close}"`, `Close it with "${close}".`);
  }
  switch (code) {
    case "BLOCK_AS_IMPLICIT_KEY":
      return /:(\s|$)/.test(rest)
        ? invalid(at, 'a second ": " in one line', hintToQuote(text, at, rest))
        : invalid(skipSpace(text, lineEnd), "a line that is indented too far", sameColumn);
    case "BAD_INDENT":
      return invalid(skipSpace(text, at), "keys of one object in different columns", sameColumn);
    case "MULTILINE_IMPLICIT_KEY":
      return invalid(at, 'a key without ":"', `Write "${rest.trim()}:", or put the text in quotes.`);
    case "TAB_AS_INDENT":
      return invalid(at, "a tab as indentation", "Indent with spaces.");
    case "BAD_SCALAR_START":
      return invalid(at, `text that starts with "${text[at]}"`, hintToQuote(text, at, rest));
    case "BAD_DQ_ESCAPE":
      return invalid(at, `the unknown escape ${text.slice(at, at + 2)}`, "Write a backslash as \\\\.");
    case "UNEXPECTED_TOKEN":
      if (quote !== undefined)
        return invalid(
          at,
          "text after the closing quote",
          quote === '"'
            ? `Put all of it in '...', or write a quote inside of "..." as \\".`
            : `Put all of it in "...", or write a quote inside of '...' as ''.`,
        );
      break;
    case "MISSING_CHAR":
      if (/^Sequence item without/.test(message))
        return invalid(
          skipSpace(text, at),
          "a line that is neither a key of the item above nor a new item",
          'Start the keys of an item in the column of its first key, and items with "- ".',
        );
  }
  return invalid(at, message);
}

const sameColumn = "Start all keys of one object in the same column.";

const findLineEnd = (text: string, at: number) => {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
};

const skipSpace = (text: string, from: number) => from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0);

/** `Put the text in quotes: input: "Read: me".` */
function hintToQuote(text: string, at: number, rest: string): string {
  // A longer key would not be quoted in a hint.
  const before = text.slice(Math.max(text.lastIndexOf("\n", at - 1) + 1, at - 200), at);
  const key = /[^\s:{,-][^:{,]*:\s*$/.exec(before)?.[0].trimEnd() ?? "";
  const isShort = rest.length <= 60 && !/["\\]/.test(rest) && key !== "";
  return isShort ? `Put the text in quotes: ${key} "${rest.trim()}".` : "Put the text in quotes.";
}

/** The offsets of the last string, and of the last list or object in brackets, that is not closed. */
export type Unclosed = { string?: number; collection?: number };

export function findUnclosed(tokens: readonly CST.Token[]): Unclosed {
  const found: Unclosed = {};
  for (const token of walkTokens(tokens)) {
    const isString = token.type === "double-quoted-scalar" || token.type === "single-quoted-scalar";
    // The condition of the parser, which does not look for escapes.
    if (isString && (token.source.length === 1 || token.source.at(-1) !== token.source[0])) found.string = token.offset;
    if (token.type === "flow-collection" && !token.end.some(({ source }) => source === "]" || source === "}"))
      found.collection = token.offset;
  }
  return found;
}

/** All tokens, outer ones first. Recursion is safe because the depth was checked before. */
function* walkTokens(tokens: readonly CST.Token[]): Generator<CST.Token> {
  for (const token of tokens) {
    yield token;
    yield* walkTokens(listInnerTokens(token));
  }
}

/** The tokens of a document or collection, keys included. */
export function listInnerTokens(token: CST.Token): CST.Token[] {
  if (token.type === "document") return token.value ? [token.value] : [];
  if (!("items" in token)) return [];
  return token.items.flatMap(({ key, value }) => [...(key ? [key] : []), ...(value ? [value] : [])]);
}
