import { RE2JS } from "re2js";
import { limitTime, TimeLimitError } from "../limitTime.ts";
import { messageOf } from "../types/errors.ts";
import type { Scorer, SearchDocument } from "./document.ts";
import { buildWordIndex } from "./keyword.ts";

/** The maximum length of a pattern in the tool search of Anthropic's API, in characters. */
export const maxPattern = 200;

const searchMs = 1_000;

/**
 * Regular expressions, like the tool search of APIs: the pattern is matched against the name, the hint, the description
 * and the parameter names, case-sensitively unless it starts with `(?i)`. APIs do not publish how they rank matches.
 * Here each alternative at the top level of the pattern (`a|b`) adds 1 to the score if it matches anywhere, and 1 more
 * if it matches the name. Patterns use RE2 syntax, without lookarounds and back-references. A pattern that takes more
 * than a second on all documents, which is possible with counted repetitions, is refused.
 */
export function buildRegexScorer(documents: readonly SearchDocument[]): Scorer {
  const names = buildMatcher(documents.map(({ name }) => name));
  const listRest = ({ hint = "", description, parameterNames }: SearchDocument) => [
    hint,
    description,
    ...parameterNames,
  ];
  const rest = buildMatcher(documents.map((document) => listRest(document).join("\n")));
  const score = (pattern: string): Float64Array | string => {
    const error = findSyntaxError(pattern);
    if (error !== undefined) return `Not a valid pattern: ${error}.`;
    const scores = new Float64Array(documents.length);
    for (const alternative of splitAlternatives(pattern)) {
      const inName = new Set(names(alternative));
      for (const at of inName) scores[at] = (scores[at] ?? 0) + 2;
      for (const at of rest(alternative)) if (!inName.has(at)) scores[at] = (scores[at] ?? 0) + 1;
    }
    return scores;
  };
  return (pattern) => {
    if (pattern === "") return "The pattern is empty.";
    if (pattern.length > maxPattern)
      return `The pattern has ${pattern.length} characters; at most ${maxPattern} are allowed.`;
    try {
      return limitTime(searchMs, () => score(pattern));
    } catch (error) {
      if (error instanceof TimeLimitError) return `The pattern takes more than ${searchMs / 1000} s.`;
      throw error;
    }
  };
}

/** Creates a function that returns the indices of the texts that a valid pattern matches. Plain words are looked up. */
function buildMatcher(texts: readonly string[]): (pattern: string) => Iterable<number> {
  const exact = buildWordIndex(texts.map((text) => text.split(/\s+/)));
  const lower = buildWordIndex(texts.map((text) => text.toLowerCase().split(/\s+/)));
  return (pattern) => {
    const [, flag, word] = /^(\(\?i\))?([\p{L}\p{N}_-]+)$/u.exec(pattern) ?? [];
    if (word !== undefined) return flag ? lower.findPiece(word.toLowerCase()) : exact.findPiece(word);
    const expression = RE2JS.compile(pattern);
    return texts.flatMap((text, at) => (expression.test(text) ? [at] : []));
  };
}

function findSyntaxError(pattern: string): string | undefined {
  // Skips compiling, which takes longer than searching for words.
  if (/^(\(\?i\))?[\p{L}\p{N}_|-]+$/u.test(pattern)) return undefined;
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Splits a valid pattern into its distinct top-level alternatives, each with the flags that it starts with. */
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
