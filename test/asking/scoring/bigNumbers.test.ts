import { expect, it } from "vitest";
import { readArguments } from "../../../src/evals/asking/protocols/protocol.ts";
import { compileMatcher, noJudge } from "../../../src/evals/asking/scoring/matchers.ts";
import { compileSchema } from "../../../src/evals/base/jsonSchema/validate.ts";
import { type Json, type JsonObject, parseExactJson, writeExactJson } from "../../../src/evals/base/types/json.ts";
import { joinResult } from "../../../src/evals/base/types/tool.ts";
import { parseJson } from "../../../src/evals/input/parsing/json.ts";
import { parseYaml } from "../../../src/evals/input/parsing/yaml.ts";
import { checkSuite } from "../../../src/evals/input/suites/validate.ts";
import { asciiJson, safeJson } from "../../../src/evals/reports/escape.ts";

const right = "1234567890123456789";
const wrong = "1234567890123456790"; // The same number to JavaScript.

it.each<[string, (digits: string) => Json]>([
  ["YAML", (digits) => parseYaml(`id: ${digits}`, "").value],
  ["JSON", (digits) => parseJson(`{"id": ${digits}}`, "").value],
])("an id in %s matches the same digits alone, whichever way they came", (_, read) => {
  const test = compileMatcher(read(right));
  const given = [`{"id":${right}}`, `{"id":${wrong}}`].flatMap((text) => [
    readArguments(text).arguments,
    readArguments(parseExactJson(text)).arguments,
  ]);
  expect(given.map((value) => test(value, "args", noJudge).met)).toEqual(["yes", "yes", "no", "no"]);
});

it.each<[Json, string]>([
  [{ $gte: 5 }, "yes"],
  [{ $lte: 5 }, "no"],
  [{ $type: "integer" }, "yes"],
  [{ $type: "string" }, "no"],
  [{ $matches: "^.?[0-9]+$" }, "no"],
  [{ $any: true }, "yes"],
])("it is a number to a matcher: %j", (matcher, met) => {
  expect(compileMatcher(matcher)(parseExactJson(right), "id", noJudge).met).toBe(met);
});

it("it is a number to a schema", () => {
  const validate = compileSchema({ type: "object", properties: { id: { type: "integer", minimum: 1 } } });
  if (typeof validate === "string") throw new Error(validate);
  expect(validate(parseExactJson(`{"id":${right}}`), "args")).toEqual({ kind: "valid" });
  expect(validate(parseExactJson(`{"id":-${right}}`), "args")).toMatchObject({ kind: "invalid" });
});

it("it is the same in another notation", () => {
  for (const notation of [`${right}.0`, "1.234567890123456789e18", "1234567890123456789e+0"]) {
    expect(parseExactJson(notation)).toBe(parseExactJson(right));
    expect(parseYaml(`id: ${notation}`, "").value).toEqual({ id: parseExactJson(right) });
  }
  expect(parseExactJson("[1e20, 1.5e3, 5e-1, -0.0]")).toEqual([1e20, 1500, 0.5, -0]);
  expect(readArguments('{"id": 1e400}')).toEqual({ argumentsText: '{"id": 1e400}' });
});

it("the record holds its digits", () => {
  const line = writeExactJson({ arguments: parseExactJson(`{"id":${right}}`) });
  expect(line).toBe(`{"arguments":{"id":${right}}}`);
  expect(parseExactJson(line)).toEqual({ arguments: parseExactJson(`{"id":${right}}`) });
});

it("a report and a result for a model show its digits", () => {
  const structuredContent = parseExactJson(`{"id":${right}}`) as JsonObject;
  expect(safeJson(structuredContent)).toBe(`{"id":${right}}\n`);
  expect(asciiJson(structuredContent)).toBe(`{"id":${right}}`);
  expect(joinResult({ content: [], structuredContent })).toBe(`{"id":${right}}`);
  const bound = { cases: [{ input: "Go", expect: { tool: "a", args: { id: { $gte: structuredContent.id } } } }] };
  expect(checkSuite(bound as Json).problems[0]?.message).toContain(`"$gte" must be a number, got ${right}`);
});

it("arguments that are too deep to be written are read all the same", () => {
  let deep: Json = 1;
  for (let level = 0; level < 20_000; level++) deep = { a: deep };
  const { arguments: read, argumentsText } = readArguments(deep);
  expect([read === deep, argumentsText]).toEqual([true, undefined]);
});
