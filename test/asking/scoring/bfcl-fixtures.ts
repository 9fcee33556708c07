import { readFileSync } from "node:fs";
import { parseKeepingFloats } from "../../../src/evals/asking/scoring/bfcl.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../src/evals/base/types/json.ts";
import type { Case } from "../../../src/evals/base/types/suite.ts";
import type { Toolset } from "../../../src/evals/base/types/tool.ts";
import type { Call } from "../../../src/evals/base/types/trial.ts";
import { caseOf, expectCalls, toolsetOf } from "./make.ts";

export type BfclCase = {
  id: string;
  category: string;
  expect: "call" | "no_call" | "any_call";
  tools: { name: string; parameters: JsonObject }[];
  possible_answer: Record<string, JsonObject>[] | null;
};
export type BfclOutput = {
  id: string;
  category: string;
  model: string;
  variant: string;
  raw_output: string;
  upstream_checker_valid: boolean;
};
export type BfclProbe = {
  label: string;
  param_type: string;
  items_type: string | null;
  required: boolean;
  accepted: Json[];
  arguments_json: string;
  valid: boolean;
  error_type: string | null;
};

const folder = new URL("../../fixtures/bfcl/", import.meta.url);

/** The rows of a fixture, read with floats marked or as plain JSON. */
export function rows<Row>(file: string, parse: (line: string) => unknown = JSON.parse): Row[] {
  const lines = readFileSync(new URL(file, folder), "utf8").trim().split("\n");
  return lines.map((line) => parse(line) as Row);
}

/** What a case of the leaderboard is here; `schema` reads a tool's parameters. */
export function importCase(row: BfclCase, schema: (parameters: JsonObject) => JsonObject): [Case, Toolset] {
  const calls = (row.possible_answer ?? []).flatMap((answer) =>
    Object.entries(answer).map(([tool, args]) => ({ tools: [tool], args })),
  );
  const tools = row.tools.map(({ name, parameters }) => ({ name, inputSchema: schema(parameters) }));
  return [caseOf(expectCalls(calls, { order: "any", argsMatch: "bfcl" })), toolsetOf(tools)];
}

const dialect: Readonly<Record<string, string>> = { dict: "object", float: "number", tuple: "array", any: "string" };

/** The JSON Schema reading of the leaderboard's dialect. */
export function fromDialect(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(fromDialect);
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).map(([key, value]) => {
    if (key === "type" && typeof value === "string") return [key, dialect[value] ?? value] as const;
    return [key, fromDialect(value)] as const;
  });
  return Object.fromEntries(entries);
}

/** The calls in a model's text; undefined when it is not one of the known shapes. */
export function readOutput(text: string): Call[] | undefined {
  let parsed: Json;
  try {
    parsed = parseKeepingFloats(text);
  } catch {
    return undefined;
  }
  const calls = (Array.isArray(parsed) ? parsed : [parsed]).map((item) => isJsonObject(item) && readCall(item));
  return calls.every((call) => call !== false) ? calls : undefined;
}

function readCall(item: JsonObject): Call | false {
  const named = item.function_name ?? item.name;
  const given = item.parameters ?? item.arguments;
  if (typeof named === "string" && isJsonObject(given)) return recorded(named, given);
  const [only, ...others] = Object.entries(item);
  if (!only || others.length > 0 || !isJsonObject(only[1])) return false;
  return recorded(only[0], only[1]);
}

/** As a model's file records a call: the text of its arguments, and what plain JSON makes of it. */
function recorded(tool: string, marked: JsonObject): Call {
  const argumentsText = JSON.stringify(marked).replace(/\{"\$float":(-?\d+)\}/g, "$1.0");
  return { id: "1", tool, arguments: JSON.parse(argumentsText) as Json, argumentsText };
}
