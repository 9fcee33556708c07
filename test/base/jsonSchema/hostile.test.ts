import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import { compileSchema, type Validity } from "../../../src/evals/base/jsonSchema/validate.ts";
import { limitTime, TimeLimitError } from "../../../src/evals/base/limitTime.ts";
import type { Json, JsonObject } from "../../../src/evals/base/types/json.ts";
import { planProbes } from "../../../src/evals/inspection/probe/plan/plan.ts";
import { aTool } from "../../fakes/suite.ts";
import { probed } from "../../inspection/probe/plan/make.ts";
import {
  deepSchema,
  deepValue,
  evilPattern,
  evilText,
  exponentialSchema,
  nestedAlternatives,
  selfReference,
} from "../../torture/schemas.ts";

const validate = (schema: JsonObject, value: Json): Validity | string => {
  const compiled = compileSchema(schema);
  return typeof compiled === "string" ? compiled : compiled(value, "args");
};
const inText = (pattern: string) => ({ type: "object", properties: { text: { type: "string", pattern } } });

describe("foreign patterns", () => {
  test.each([
    ["that match", evilPattern, "abc.Def", "valid"],
    ["with look-ahead", "^(?=.*\\d).{3,}$", "ab1", "valid"],
    ["with look-ahead that fails", "^(?=.*\\d).{3,}$", "abc", "invalid"],
  ])("%s decide", (_, pattern, text, kind) => {
    expect(validate(inText(pattern), { text })).toMatchObject({ kind });
    expect(validate({ patternProperties: { [pattern]: { type: "string" } } }, { [text]: "x" })).toMatchObject({
      kind: "valid",
    });
  });

  test("that take too long leave the value unchecked, in properties and in names of properties", () => {
    const slow = evilPattern.replace("^", "^(?=a)");
    const why = "validating takes more than 1000 ms";
    expect(validate(inText(slow), { text: evilText })).toEqual({ kind: "unchecked", why });
    expect(validate({ patternProperties: { [slow]: true } }, { [evilText]: 1 })).toEqual({ kind: "unchecked", why });
  });

  test.each([
    ["that compile into a hundred thousand states", `^${"\\p{L}{0,900}".repeat(300)}$`, 3_000],
    ["of counted repetitions", `^${"a{0,90}".repeat(100)}b$`, 3_000],
    ["of counted repetitions within others", "^(?:(?:a{1,100}){1,10}){1,10}b$", 20_000],
  ])("%s end", (_, pattern, length) => {
    const text = "a".repeat(length);
    for (const schema of [inText(pattern), { patternProperties: { [pattern]: false } }])
      expect(["valid", "invalid", "unchecked"]).toContain((validate(schema, { text, [text]: 1 }) as Validity).kind);
  });

  test("that each take almost their time leave a long list unchecked", () => {
    const schema = { type: "array", items: { type: "string", pattern: "^(?=a)(?:(a+)+b|a*\\d*)$" } };
    const items = Array.from({ length: 2_000 }, (_, at) => `${"a".repeat(18)}${at}`);
    expect(validate(schema, items)).toMatchObject({ kind: "unchecked" });
  });

  test("are distinguished: each of many is applied", () => {
    const schema = { allOf: [{ pattern: "^a" }, { pattern: "b$" }, { pattern: "c" }] };
    expect(validate(schema, "acb")).toMatchObject({ kind: "valid" });
    for (const text of ["xcb", "acx", "ab"]) expect(validate(schema, text)).toMatchObject({ kind: "invalid" });
  });

  test("that ECMAScript refuses leave out themselves", () => {
    expect(validate(inText("(a"), {})).toEqual({ kind: "valid" });
  });
});

describe("a schema that would not end", () => {
  test.each<[string, JsonObject, Json]>([
    ["that refers to itself", selfReference, "a"],
    ["whose root is itself", { $ref: "#" }, "a"],
    ["of exponential alternatives", exponentialSchema(24), "a"],
    ["of 800 levels", deepSchema(800), "a"],
    ["of 100,000 levels", deepSchema(100_000), "a"],
    ["of a huge pattern", { pattern: "a".repeat(6_000) }, "a"],
    [
      "of a long chain of references",
      {
        $defs: {
          ...Object.fromEntries(Array.from({ length: 1_999 }, (_, at) => [`d${at}`, { $ref: `#/$defs/d${at + 1}` }])),
          d1999: { type: "number" },
        },
        $ref: "#/$defs/d0",
      },
      "a",
    ],
  ])("%s is refused, or leaves the value unchecked or invalid", (_, schema, value) => {
    const found = validate(schema, value);
    expect(typeof found === "string" || found.kind !== "valid").toBe(true);
  });

  test("whose alternatives are nested in properties leaves a value unchecked", () => {
    const { schema, value } = nestedAlternatives(30);
    expect(validate(schema, value)).toEqual({ kind: "unchecked", why: "validating takes more than 1000 ms" });
  });

  test("on a value that is too deep for it leaves the value unchecked", () => {
    const tree = { type: "object", properties: { a: { $ref: "#" } } };
    expect(validate(tree, deepValue(20_000))).toEqual({ kind: "unchecked", why: "validating does not end" });
    expect(validate(tree, deepValue(50))).toEqual({ kind: "valid" });
  });

  test("does not throw, whatever it is", () => {
    const schema = fc.letrec((tie) => ({
      schema: fc.dictionary(
        fc.constantFrom("$ref", "allOf", "anyOf", "not", "properties", "items", "$defs", "type", "pattern", "if"),
        fc.oneof(
          { maxDepth: 4 },
          fc.constantFrom("#", "#/$defs/a", "#/allOf/0", "string", "(a+)+$", "#anchor"),
          fc.dictionary(fc.constantFrom("a", "b"), tie("schema"), { maxKeys: 2 }),
          fc.array(tie("schema"), { maxLength: 3 }),
          tie("schema"),
        ),
        { maxKeys: 4 },
      ),
    })).schema;
    fc.assert(
      fc.property(schema, fc.jsonValue(), (one, value) => {
        const made = validate(one as JsonObject, value as Json);
        expect(typeof made === "string" || ["valid", "invalid", "unchecked"].includes(made.kind)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

test("a value with errors without number is refused with the first fault alone", () => {
  const rules = Array.from({ length: 300 }, (_, at) => ({ type: "string", minLength: at }));
  const schema = { type: "object", properties: { list: { type: "array", items: { allOf: rules } } }, required: ["x"] };
  const list = Array.from({ length: 9_000 }, (_, at) => at % 10);
  expect(validate(schema, { list })).toMatchObject({ kind: "invalid", faults: [{ member: "x", kind: "missing" }] });
});

describe("a trial on a tool whose schema cannot be applied", () => {
  const slow = { type: "string", pattern: evilPattern.replace("^", "^(?=a)") };
  const properties = { text: slow, n: { type: "integer" } };
  const expect_ = (args: JsonObject, inputSchema: JsonObject = { type: "object", properties }) =>
    createGrader(
      {
        expect: {
          kind: "tool",
          call: { tools: ["write"], args },
          extras: false,
          argsMode: "partial",
          avoid: [],
        },
        expectedBehavior: [],
      },
      { hash: "list", tools: [aTool("write", { inputSchema })] },
    )([
      {
        text: "",
        stop: "calls",
        ms: 1,
        usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
        calls: [{ id: "1", tool: "write", arguments: { text: evilText, n: 1 } }],
      },
    ]);

  test("is decided by the rest of the case, with a note", () => {
    const unchecked = [expect.stringMatching(/^arguments of write: .* takes more than \d+ ms$/)];
    expect(expect_({ n: 1 })).toMatchObject({ grade: "pass", selection: "right-tool", unchecked });
    expect(expect_({ n: 2 })).toMatchObject({ grade: "fail", selection: "wrong-arguments", unchecked });
    expect(expect_({ n: 1 }, { type: "object", $dynamicRef: "#" })).toMatchObject({
      grade: "pass",
      unchecked: ["arguments of write: validating does not end"],
    });
  });
});

test("probes of a hostile pattern are planned in bounded time", () => {
  for (const pattern of [evilPattern, `${"(a|aa)+".repeat(8)}$`, "(?=a)b", `(${"a?".repeat(40)}){40}`]) {
    const schema = { type: "object", properties: { text: { type: "string", pattern } }, required: ["text"] };
    expect(planProbes(probed(schema), { seed: 1, runs: 3 })).toBeInstanceOf(Array);
  }
});

test("limited work ends, also inside of other limited work", () => {
  const forever = () => {
    for (;;);
  };
  expect(() => limitTime(20, forever)).toThrow(TimeLimitError);
  expect(limitTime(10_000, () => limitTime(5_000, () => 7))).toBe(7);
  expect(() => limitTime(10_000, () => limitTime(20, forever))).toThrow("it takes more than 20 ms");
  expect(() =>
    limitTime(10_000, () => {
      throw new RangeError("of its own");
    }),
  ).toThrow("of its own");
});
