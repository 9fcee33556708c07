import { RE2JS } from "re2js";
import type { Scorer, SearchDocument } from "./document.ts";

/** The longest pattern that the tool search of Anthropic's API takes, in characters. */
export const maxPattern = 200;

/**
 * Regular expressions, in the shape of the tool search of APIs: the pattern is searched for in the name, the hint, the
 * description and the names of parameters, with case unless it starts with `(?i)`. APIs do not publish how they order what
 * matches. Here each alternative at the top level of the pattern (`a|b`) adds 1 to the score if it matches anywhere, and 1
 * more if it matches the name. Patterns are RE2: without lookarounds and back references, in linear time.
 */
export function buildRegexScorer(documents: readonly SearchDocument[]): Scorer {
  const entries = documents.map(({ name, hint = "", description, parameterNames }) => ({
    name: toSearchedText(name),
    rest: toSearchedText([hint, description, ...parameterNames].join("\n")),
  }));
  return (pattern) => {
    if (pattern === "") return "The pattern is empty.";
    if (pattern.length > maxPattern) {
      return `The pattern has ${pattern.length} characters; at most ${maxPattern} are allowed.`;
    }
    const error = findSyntaxError(pattern);
    if (error !== undefined) return `Not a valid pattern: ${error}.`;
    const scores = new Float64Array(documents.length);
    for (const matches of splitAlternatives(pattern).map(compile)) {
      for (const [at, { name, rest }] of entries.entries()) {
        const inName = matches(name);
        scores[at] = (scores[at] ?? 0) + (inName ? 2 : matches(rest) ? 1 : 0);
      }
    }
    return scores;
  };
}

type SearchedText = { text: string; lower: string };

function toSearchedText(text: string): SearchedText {
  return { text, lower: text.toLowerCase() };
}

function findSyntaxError(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Most patterns that models write are words with `|` between them: these are searched for as text, which is faster. */
function compile(pattern: string): (searched: SearchedText) => boolean {
  const [, flag, literal] = /^(\(\?i\))?([\p{L}\p{N}_ -]+)$/u.exec(pattern) ?? [];
  if (literal !== undefined && flag === undefined) return ({ text }) => text.includes(literal);
  if (literal !== undefined) return ({ lower }) => lower.includes(literal.toLowerCase());
  const expression = RE2JS.compile(pattern);
  return ({ text }) => expression.test(text);
}

/**
 * The distinct alternatives at the top level of a valid pattern: it is split at each `|` outside of groups, classes and
 * escapes. Each gets the flags that the pattern starts with. A pattern with flags elsewhere is not split.
 */
function splitAlternatives(pattern: string): string[] {
  const [flags = ""] = /^\(\?[a-zA-Z]+\)/.exec(pattern) ?? [];
  const rest = pattern.slice(flags.length);
  if (/\(\?[a-zA-Z-]+\)/.test(rest)) return [pattern];
  const alternatives = [flags];
  let depth = 0;
  for (const [token] of rest.matchAll(tokens)) {
    if (token === "(") depth++;
    if (token === ")") depth--;
    if (token === "|" && depth === 0) alternatives.push(flags);
    else alternatives[alternatives.length - 1] += token;
  }
  return [...new Set(alternatives)];
}

/** A quoted text, an escape, a class, or a single character of a pattern. */
const tokens = /\\Q[\s\S]*?(?:\\E|$)|\\[\s\S]|\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*\]|[\s\S]/g;
