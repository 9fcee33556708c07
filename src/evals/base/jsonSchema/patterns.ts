import { RE2JS } from "re2js";
import { cut } from "../text/text.ts";
import { limitTime, TimeLimitError } from "./watchdog.ts";

const patternMs = 100;

/** Up to this product of pattern states and text characters, RE2 takes milliseconds and needs no limit. */
const quickSteps = 20_000;

/** Thrown when an untrusted pattern takes too long on a text. */
export class PatternError extends Error {}

/**
 * Compiles the patterns of untrusted schemas, for ajv's option `code.regExp`. RE2 matches in linear time, which is
 * still slow for counted repetitions. The native engine matches what RE2 does not support (look-ahead, look-behind,
 * back-references) or does not compile within 100 ms. A match that takes more than 100 ms throws PatternError. Throws
 * SyntaxError if the pattern is not valid in ECMAScript.
 */
export const foreignPatterns = Object.assign(
  (pattern: string, flags: string) => {
    const native = new RegExp(pattern, flags);
    let compiled: ((text: string) => boolean) | undefined;
    return {
      // Compiled on first use, because ajv rarely applies its own patterns.
      test: (text: string) => {
        compiled ??= compileLinear(pattern) ?? limitMatch(native.source, (one) => native.test(one));
        return compiled(text);
      },
      // ajv caches patterns by this text.
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
      ? new PatternError(`the pattern ${JSON.stringify(cut(pattern, 80))} takes more than ${patternMs} ms`)
      : error;
  }
};
