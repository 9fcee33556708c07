import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findBfclProblem, parseKeepingFloats } from "../../../src/evals/asking/scoring/bfcl.ts";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import { isJsonObject, type JsonObject } from "../../../src/evals/base/types/json.ts";
import {
  type BfclCase,
  type BfclOutput,
  type BfclProbe,
  fromDialect,
  importCase,
  readOutput,
  rows,
} from "./bfcl-fixtures.ts";
import { call, caseOf, expectCalls, toolsetOf, turn } from "./make.ts";

const asJsonSchema = (schema: JsonObject): JsonObject => {
  const read = fromDialect(schema);
  return isJsonObject(read) ? read : {};
};

const readings = [
  ["as the leaderboard writes them", (schema: JsonObject) => schema, parseKeepingFloats],
  ["as JSON Schema", asJsonSchema, parseKeepingFloats],
  // What a suite file holds that was read as plain JSON: only one probe turns on an accepted 1.0 that is no 1.
  ["as JSON Schema, accepted floats unmarked", asJsonSchema, JSON.parse],
] as const;

describe.each(readings)("with tools and answers %s", (_name, schema, parse) => {
  test("every probe gets the official verdict and error type", () => {
    const probes = rows<BfclProbe>("checker_probes.jsonl", parse);
    const found = probes.map((probe) => {
      const x = { type: probe.param_type, ...(probe.items_type !== null && { items: { type: probe.items_type } }) };
      const parameters = { type: "dict", properties: { x }, required: probe.required ? ["x"] : [] };
      const args = parseKeepingFloats(probe.arguments_json);
      const problem = findBfclProblem(isJsonObject(args) ? args : {}, { x: probe.accepted }, schema(parameters));
      return { label: probe.label, valid: problem === undefined, error_type: problem?.rule ?? null };
    });
    const official = probes.map(({ label, valid, error_type }) => ({ label, valid, error_type }));
    const differing = found.filter((row, index) => JSON.stringify(row) !== JSON.stringify(official[index]));
    const lost = { label: "array<float>: ints given, accepted floats", valid: true, error_type: null };
    expect(differing).toEqual(parse === parseKeepingFloats ? [] : [lost]);
    expect(probes).toHaveLength(42);
  });

  test("every recorded output gets the official verdict, through the createGrader", () => {
    const cases = rows<BfclCase>("cases.jsonl", parse).filter((row) => row.expect === "call");
    const graders = new Map(cases.map((row) => [row.id, createGrader(...importCase(row, schema))]));
    const valid: Record<string, [number, number]> = {};
    const outputs = rows<BfclOutput>("outputs.jsonl");
    const differing = outputs.filter((output) => {
      const verdict = graders.get(output.id)?.([turn(...(readOutput(output.raw_output) ?? []))]);
      const key = `${output.model} ${output.variant}`;
      const [live, multiple] = valid[key] ?? [0, 0];
      const one = verdict?.grade === "pass" ? 1 : 0;
      valid[key] = output.category === "multiple" ? [live, multiple + one] : [live + one, multiple];
      return (verdict?.grade === "pass") !== output.upstream_checker_valid;
    });
    expect(differing.map(({ id, model, variant }) => `${id} ${model} ${variant}`)).toEqual([]);
    expect(outputs).toHaveLength(1500);
    expect(valid).toEqual({
      "gpt-4o-mini-2024-07-18 tool_docs=json": [121, 96],
      "gpt-4o-mini-2024-07-18 tool_docs=python": [106, 89],
      "gpt-4o-mini-2024-07-18 tool_docs=xml": [110, 91],
      "gpt-5-2025-08-07 tool_docs=json": [114, 88],
      "gpt-5-2025-08-07 tool_docs=python": [98, 88],
      "gpt-5-2025-08-07 tool_docs=xml": [101, 87],
    });
  });
});

describe("calls by the leaderboard's rules", () => {
  const schema = { type: "object", properties: { n: { type: "integer" }, s: { type: "string" } }, required: [] };
  const toolset = toolsetOf([
    { name: "math.add", inputSchema: schema },
    { name: "other", inputSchema: schema },
  ]);
  const grade = (accepted: readonly JsonObject[], made: readonly JsonObject[], name = "math_add") => {
    const expected = accepted.map((args) => ({ tools: ["math.add"], args }));
    const rules = { order: "any", argsMatch: "bfcl" } as const;
    const verdict = createGrader(
      caseOf(expectCalls(expected, rules)),
      toolset,
    )([turn(...made.map((args) => call(name, args)))]);
    return [verdict.grade, verdict.selection];
  };

  test("a dot in a listed name may be called as an underscore", () => {
    expect(grade([{ n: [1] }], [{ n: 1 }])).toEqual(["pass", "right-tool"]);
    expect(grade([{ n: [1] }], [{ n: 1 }], "math.add")).toEqual(["pass", "right-tool"]);
    expect(grade([{ n: [1] }], [{ n: 1 }], "mathadd")).toEqual(["fail", "unknown-tool"]);
    expect(grade([{ n: [1] }], [{ n: 1 }], "other")).toEqual(["fail", "wrong-tool"]);
  });

  test("equal counts in any order", () => {
    expect(grade([{ n: [1] }, { n: [2] }], [{ n: 2 }, { n: 1 }])).toEqual(["pass", "right-tool"]);
    expect(grade([{ n: [1] }], [{ n: 1 }, { n: 1 }])).toEqual(["fail", "several-calls"]);
    expect(grade([{ n: [1] }, { n: [2] }], [{ n: 2 }])).toEqual(["fail", "wrong-tool"]);
  });

  test("each expected call takes the first that fits and never goes back", () => {
    expect(grade([{ n: [1, 2] }, { n: [1] }], [{ n: 1 }, { n: 2 }])).toEqual(["fail", "wrong-arguments"]);
    expect(grade([{ n: [1] }, { n: [1, 2] }], [{ n: 1 }, { n: 2 }])).toEqual(["pass", "right-tool"]);
  });

  test("what the schema forbids is malformed, what only the answer lacks is wrong", () => {
    expect(grade([{ n: [1] }], [{ n: "1" }])).toEqual(["fail", "malformed-arguments"]);
    expect(grade([{ n: [1] }], [{ n: 1, z: 1 }])).toEqual(["fail", "malformed-arguments"]);
    expect(grade([{ n: [1] }], [{ n: 1, s: "x" }])).toEqual(["fail", "wrong-arguments"]);
    expect(grade([{ n: [1] }], [{}])).toEqual(["fail", "wrong-arguments"]);
    expect(grade([{ n: ["", 1] }], [{}])).toEqual(["pass", "right-tool"]);
  });

  test("arguments that are not JSON are no call on the leaderboard, and malformed here", () => {
    const expected = expectCalls([{ tools: ["other"], args: {} }], { order: "any", argsMatch: "bfcl" });
    const verdict = createGrader(caseOf(expected), toolset)([turn({ id: "1", tool: "other", argumentsText: "{n:" })]);
    expect(verdict).toEqual({
      grade: "fail",
      selection: "malformed-arguments",
      expected: "other",
      picked: "other",
      checks: [
        {
          what: "calls[1] other args (schema)",
          met: "no",
          why: "expected an object, got text that is not JSON: {n:",
        },
        { what: "extras", met: "yes" },
      ],
    });
  });
});

describe("parseKeepingFloats", () => {
  test("marks whole numbers that were written as floats, and nothing in strings", () => {
    const text = '{"a": 5.0, "b": [5, -1e2, 5.5, 1E400], "c 1.0": "say \\"2.0\\" 3.0"}';
    expect(parseKeepingFloats(text)).toEqual({
      a: { $float: 5 },
      b: [5, { $float: -100 }, 5.5, Number.POSITIVE_INFINITY],
      "c 1.0": 'say "2.0" 3.0',
    });
  });

  test("changes nothing but the marks", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const unmarked = JSON.stringify(parseKeepingFloats(text)).replace(/\{"\$float":([^}]+)\}/g, "$1");
        expect(JSON.parse(unmarked)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("throws on what is not JSON", () => {
    expect(() => parseKeepingFloats('{"a": 01.0}')).toThrow(SyntaxError);
    expect(() => parseKeepingFloats('{"a": "x}')).toThrow(SyntaxError);
  });
});
