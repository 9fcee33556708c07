import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EvalsError } from "../../src/evals/errors.ts";
import { parseDocument } from "../../src/evals/suites/document.ts";

/** The data of a JSON text, or what is wrong with it. */
function read(text: string): unknown {
  try {
    return parseDocument(text, "s.json").data;
  } catch (error) {
    if (error instanceof EvalsError) return error;
    throw error;
  }
}

const complaintAbout = (text: string) => {
  const result = read(text);
  return result instanceof EvalsError ? result.message : "(accepted)";
};

const parses = (text: string) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** JSON texts without what is refused on purpose: `__proto__` as a key, and -0, which JSON writes as 0. */
const jsonText = fc
  .tuple(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom("", " ", "\t", "\r\n"))
  .map(([value, indent]) => JSON.stringify(value, null, indent))
  .filter((text) => !text.includes("__proto__"));

describe("strict JSON", () => {
  it("reads what JSON.parse reads, with the same result", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(read(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it("rejects what JSON.parse rejects, and nothing else, in damaged texts", () => {
    const damaged = fc
      .tuple(
        jsonText,
        fc.nat(),
        fc.nat({ max: 3 }),
        fc.constantFrom("", ",", "]", "}", '"', "\n", "'", "\\", "0", "-", ".", "e", ":", "//", " "),
      )
      .map(([text, at, cut, insert]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + insert + text.slice(place + cut);
      })
      .filter((text) => !text.includes("__proto__") && !/e\+?\d{3}/i.test(text));
    fc.assert(
      fc.property(damaged, (text) => {
        expect(complaintAbout(text).includes("not valid JSON")).toBe(text.trim() !== "" && !parses(text));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['{"cases": [],}', 's.json:1:13: error: not valid JSON: a comma before "}"\n  remove the comma'],
    ["[1,\n 2,\n]", 's.json:2:3: error: not valid JSON: a comma before "]"\n  remove the comma'],
    ['{"a": "one\ntwo"}', "s.json:1:11: error: not valid JSON: a raw line break inside a string\n  write it as \\n"],
    [
      "{\n  cases: []}",
      's.json:2:3: error: not valid JSON: expected a key, got "cases"\n  keys stand in double quotes',
    ],
    ["{'a': 1}", 's.json:1:2: error: not valid JSON: expected a key, got "\'"\n  keys stand in double quotes'],
    ['{"a": yes}', 's.json:1:7: error: not valid JSON: expected a value, got "yes"\n  text stands in double quotes'],
    ['{"a": 01}', 's.json:1:7: error: not valid JSON: expected a value, got "01"'],
    ['{"a": 1 "b": 2}', 's.json:1:9: error: not valid JSON: expected "," or "}", got """'],
    ['{"a" 1}', 's.json:1:6: error: not valid JSON: expected ":" after the key, got "1"'],
    [
      "[1, // one\n2]",
      's.json:1:5: error: not valid JSON: expected a value, got "/"\n  JSON has no comments: remove it',
    ],
    ['["a\\d"]', "s.json:1:4: error: not valid JSON: not an escape of JSON: \\d\n  a backslash is written \\\\"],
    [
      '["a\tb"]',
      "s.json:1:4: error: not valid JSON: a raw control character inside a string: U+0009\n  write it escaped",
    ],
    ['["a', "s.json:1:2: error: not valid JSON: a string without its closing quote"],
    ["[1\n", 's.json:2:1: error: not valid JSON: expected "," or "]", got the end of the file'],
    ["{} {}", 's.json:1:4: error: not valid JSON: text after the end: "{"'],
    ["cases: []", 's.json:1:1: error: not valid JSON: expected a value, got "cases"\n  text stands in double quotes'],
    ["[1e999]", "s.json:1:2: error: not a finite number"],
    ['{"__proto__": 1}', "s.json:1:2: error: `__proto__` cannot be a key"],
    [" \n", "s.json: error: the file is empty\n  a suite holds `cases`"],
  ])("says what is wrong with %j", (text, message) => {
    expect(complaintAbout(text)).toBe(message);
  });

  it("survives any depth", () => {
    const message = "s.json:1:101: error: nested more than 100 levels deep\n  flatten it";
    expect(complaintAbout("[".repeat(100_000))).toBe(message);
    expect(complaintAbout(`${"[".repeat(100)}${"]".repeat(100)}`)).toBe("(accepted)");
  });
});
