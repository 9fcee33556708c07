import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EvalsError } from "../../../src/evals/base/types/errors.ts";
import { writeExactJson } from "../../../src/evals/base/types/json.ts";
import { type ParsedFile, type ParseOptions, parseJson } from "../../../src/evals/input/parsing/json.ts";

/** The file of a JSON text, or the messages of its errors. */
function read(text: string, options?: ParseOptions): ParsedFile | string {
  try {
    return parseJson(text, "s.json", options);
  } catch (error) {
    if (error instanceof EvalsError) return error.message;
    throw error;
  }
}

const getValue = (text: string, options?: ParseOptions) => {
  const result = read(text, options);
  return typeof result === "string" ? result : result.value;
};

const complaintAbout = (text: string, options?: ParseOptions) => {
  const result = read(text, options);
  return typeof result === "string" ? result : "(accepted)";
};

const parses = (text: string) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** JSON texts without `__proto__` as a key, which is refused on purpose. */
const jsonText = fc
  .tuple(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom("", " ", "\t", "\r\n"))
  .map(([value, indent]) => JSON.stringify(value, null, indent))
  .filter((text) => !text.includes("__proto__"));

/** Every path into a value, with the value there. */
function* paths(value: unknown, path: (string | number)[] = []): Generator<[(string | number)[], unknown]> {
  yield [path, value];
  if (Array.isArray(value)) for (const [i, item] of value.entries()) yield* paths(item, [...path, i]);
  else if (typeof value === "object" && value !== null)
    for (const [key, member] of Object.entries(value)) yield* paths(member, [...path, key]);
}

function offsetOf(text: string, { line = 1, column = 1 }: { line?: number; column?: number }): number {
  const before = text.split("\n").slice(0, line - 1);
  return before.reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
}

/** The text is that of the value: it starts with it, white space aside. */
const startsWith = (text: string, value: unknown) => {
  const flat = (one: string) => one.replace(/[\s]+/g, "");
  return flat(text).startsWith(flat(JSON.stringify(value)));
};

describe("strict JSON", () => {
  it("returns the same value as JSON.parse", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(getValue(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it("rejects damaged texts exactly when JSON.parse does", () => {
    const damaged = fc
      .tuple(
        jsonText,
        fc.nat(),
        fc.nat({ max: 3 }),
        fc.constantFrom("", ",", "]", "}", '"', "\n", "'", "\\", "0", "-", ".", "e", ":", "//", "/*", "\u00a0", " "),
      )
      .map(([text, at, cut, insert]) => {
        const location = at % (text.length + 1);
        return text.slice(0, location) + insert + text.slice(location + cut);
      })
      .filter((text) => !text.includes("__proto__") && !/e\+?\d{3}/i.test(text));
    fc.assert(
      fc.property(damaged, (text) => {
        expect(complaintAbout(text).includes("Invalid JSON")).toBe(text.trim() !== "" && !parses(text));
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    '{"cases": [],}',
    "[1,\n 2,\n]",
    '{"a": "one\ntwo"}',
    "{\n  cases: []}",
    "{'a': 1}",
    '{"a": yes}',
    '{"a": 01}',
    '{"a": 1 "b": 2}',
    '{"a" 1}',
    "[1, // one\n2]",
    '["a\\d"]',
    '["a\tb"]',
    '["a',
    "[1\n",
    "{} {}",
    "cases: []",
    "[1e999]",
    '{"__proto__": 1}',
    " \n",
  ])("explains what is wrong with %j", (text) => {
    expect(complaintAbout(text)).toMatchSnapshot();
  });

  it("reports equal keys, and keeps the last", () => {
    const file = parseJson('{"a": 1,\n "a": 2}', "s.json");
    expect(file.value).toEqual({ a: 2 });
    expect(file.problems).toEqual([
      {
        severity: "error",
        message: '"a" appears twice in this object.',
        hint: "Remove one of them.",
        location: { file: "s.json", line: 2, column: 2 },
      },
    ]);
  });

  it("limits the depth", () => {
    const message = "s.json:1:101: error: The value is nested more than 100 levels deep.\n  Flatten it.";
    expect(complaintAbout("[".repeat(100_000))).toBe(message);
    expect(complaintAbout(`${"[".repeat(101)}${"]".repeat(101)}`)).toBe(message);
    expect(complaintAbout(`${"[".repeat(100)}${"]".repeat(100)}`)).toBe("(accepted)");
  });
});

describe("the place of a value", () => {
  it.each([{}, { lenient: true }])("is that of the value or its key, for every path (%j)", (options) => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const { value, location } = parseJson(text, "s.json", options);
        for (const [path, found] of paths(value)) {
          const key = path.at(-1);
          expect(text.slice(offsetOf(text, location(path)))).toSatisfy((rest: string) => startsWith(rest, found));
          if (typeof key === "string")
            expect(text.slice(offsetOf(text, location(path, "key")))).toSatisfy((rest: string) =>
              startsWith(rest, key),
            );
        }
      }),
      { numRuns: 200 },
    );
  });

  it("is that of the nearest enclosing value if there is no such value", () => {
    const text = '{ "a": [ 1, { "b\\"": "}" } ], "c": "x\\\\" }';
    const { location } = parseJson(text, "s.json");
    const at = (...path: (string | number)[]) => text.slice(offsetOf(text, location(path))).slice(0, 5);
    expect([at(), at("a", 9), at("a", 1, 'b"'), at("a", 1, "z", "y"), at("c", "d")]).toEqual([
      text.slice(0, 5),
      "[ 1, ",
      '"}" }',
      '{ "b\\',
      '"x\\\\"',
    ]);
  });
});

describe("lenient JSON", () => {
  const lenient = { lenient: true };

  it("reads whatever strict JSON reads, even if damaged", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(getValue(text, lenient)).toEqual(JSON.parse(text));
      }),
    );
  });

  it("accepts comments and trailing commas, and keeps what looks like them in strings", () => {
    const text = '{ // "a": 0\n "a": ["// no, /* no */", 1,], /* b */ "b": ",]",\n}';
    expect(getValue(text, lenient)).toEqual({ a: ["// no, /* no */", 1], b: ",]" });
    const file = parseJson(text, "s.json", lenient);
    expect(file.location(["a", 1])).toEqual({ file: "s.json", line: 2, column: 27 });
  });

  it.each(['{ // "\n "a": [9007199254740993, "9", 1e3], }', '{ "a": [9007199254740993, "9", 1e3] }'])(
    "keeps every digit on request, as strict JSON does: %j",
    (text) => {
      const { value } = parseJson(text, "s.json", { ...lenient, exact: true });
      expect(writeExactJson(value)).toBe('{"a":[9007199254740993,"9",1000]}');
      expect(getValue(text, lenient)).toEqual({ a: [9007199254740992, "9", 1000] });
    },
  );

  it("makes an ordinary member of __proto__, and keeps the last of equal keys", () => {
    expect(Object.keys(getValue('{"__proto__": {"a": 1}, /**/ "b": 1, "b": 2}', lenient) as object)).toEqual([
      "__proto__",
      "b",
    ]);
    expect(getValue('{"b": 1, "b": 2,}', lenient)).toEqual({ b: 2 });
  });

  it.each([
    ...['{"a": 1,, }', '{"a": 1 /* b }', '{\n  "a": 1\n  "b": 2\n}', "{\n  'a': 1\n}", "{\n  a: 1\n}", '{"a": yes}'],
    ...['{"a": 010}', '{\n  "a": [1', "{}\n{}", '{"a": "x\ny"}', ""],
  ])("explains what is wrong with %j", (text) => {
    expect(complaintAbout(text, lenient)).toMatchSnapshot();
  });

  it("reads deep values, with their places unless they are very deep", () => {
    const nest = (depth: number) => `{"a": ${"[".repeat(depth)}${"]".repeat(depth)}}`;
    const locateIn = (text: string) => parseJson(text, "s.json", lenient).location(["a", 0, 0]);
    expect(locateIn(nest(1_000))).toEqual({ file: "s.json", line: 1, column: 9 });
    const text = nest(100_000);
    expect(locateIn(text)).toEqual({ file: "s.json" });
    expect(complaintAbout(`${text},`, lenient)).toContain("nested more than 500 levels deep");
  });
});
