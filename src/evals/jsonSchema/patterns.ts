import { RE2JS } from "re2js";
import { limitTime, TimeLimitError } from "./watchdog.ts";

const patternMs = 100;

/** Thrown when a foreign pattern takes too long on a text. */
export class PatternError extends Error {}

/**
 * The patterns of foreign schemas, as ajv's option `code.regExp` takes them. RE2 matches in linear time. What it does not
 * support (look-ahead, look-behind, back-references) is matched by the native engine for at most 100 ms, then `test` throws
 * PatternError. Throws SyntaxError for what is not an ECMAScript pattern.
 */
export const foreignPatterns = Object.assign(
  (pattern: string, flags: string) => {
    const native = new RegExp(pattern, flags);
    let compiled: ((text: string) => boolean) | undefined;
    return {
      // Compiled when first used: ajv has patterns of its own that it rarely applies.
      test: (text: string) => {
        compiled ??= compileLinear(pattern) ?? ((one) => testNatively(native, one));
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
    const linear = RE2JS.compile(RE2JS.translateRegExp(pattern));
    return (text) => linear.test(text);
  } catch {
    return undefined;
  }
}

function testNatively(native: RegExp, text: string): boolean {
  try {
    return limitTime(patternMs, () => native.test(text));
  } catch (error) {
    throw error instanceof TimeLimitError
      ? new PatternError(`the pattern ${JSON.stringify(native.source.slice(0, 80))} takes more than ${patternMs} ms`)
      : error;
  }
}
