import { RE2JS } from "re2js";
import { limitTime, TimeLimitError } from "./watchdog.ts";

const patternMs = 100;

/** States of a pattern times characters of a text that RE2 passes in a few milliseconds, so that no limit is needed. */
const quickSteps = 20_000;

/** Thrown when a foreign pattern takes too long on a text. */
export class PatternError extends Error {}

/**
 * The patterns of foreign schemas, as ajv's option `code.regExp` takes them. RE2 matches in linear time, which is still long
 * for counted repetitions. What it does not support (look-ahead, look-behind, back-references), and what it does not compile
 * in 100 ms, is matched by the native engine. A match that takes more than 100 ms ends with PatternError. Throws SyntaxError
 * for what is not an ECMAScript pattern.
 */
export const foreignPatterns = Object.assign(
  (pattern: string, flags: string) => {
    const native = new RegExp(pattern, flags);
    let compiled: ((text: string) => boolean) | undefined;
    return {
      // Compiled when first used: ajv has patterns of its own that it rarely applies.
      test: (text: string) => {
        compiled ??= compileLinear(pattern) ?? limitMatch(native.source, (one) => native.test(one));
        return compiled(text);
      },
      // ajv distinguishes patterns by it; without it every pattern would be the first one.
      toString: () => `/${pattern}/${flags}`,
    };
  },
  { code: "foreignPatterns" },
);

function compileLinear(pattern: string): ((text: string) => boolean) | undefined {
  try {
    const linear = limitTime(patternMs, () => RE2JS.compile(RE2JS.translateRegExp(pattern)));
    const size = linear.programSize();
    const limited = limitMatch(pattern, (text) => linear.test(text));
    return (text) => (size * text.length <= quickSteps ? linear.test(text) : limited(text));
  } catch {
    return undefined;
  }
}

const limitMatch = (pattern: string, match: (text: string) => boolean) => (text: string) => {
  try {
    return limitTime(patternMs, () => match(text));
  } catch (error) {
    throw error instanceof TimeLimitError
      ? new PatternError(`the pattern ${JSON.stringify(pattern.slice(0, 80))} takes more than ${patternMs} ms`)
      : error;
  }
};
