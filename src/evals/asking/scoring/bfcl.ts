import { showJson } from "../../base/text/text.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import { own } from "./match.ts";

/**
 * The rules of the Berkeley Function Calling Leaderboard for one call's arguments (bfcl_eval's `ast_checker`, Python),
 * ported to JSON with their quirks, because imported cases are compared with its figures.
 *
 * The rules distinguish 5.0 from 5, which `JSON.parse` does not. So an integer written as a float is represented as
 * `{ "$float": 5 }`, in arguments (`parseKeepingFloats`) and in accepted values, where importers may write it. An accepted
 * integer without the mark is an integer.
 */
export function parseKeepingFloats(text: string): Json {
  const tokens = /"(?:[^"\\]|\\.)*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  return JSON.parse(
    text.replace(tokens, (token) => {
      const whole = !token.startsWith('"') && /[.eE]/.test(token) && Number.isInteger(Number(token));
      return whole ? `{"$float":${token}}` : token;
    }),
  ) as Json;
}

/** The violated rule by its name in the leaderboard. `isMalformed`: the rule is about the schema, not the expected values. */
export type BfclProblem = { rule: BfclRule; isMalformed: boolean; why: string };
type BfclRule =
  | "simple_function_checker:missing_required"
  | "simple_function_checker:unexpected_param"
  | "simple_function_checker:missing_optional"
  | "type_error:simple"
  | "type_error:nested"
  | "value_error:string"
  | "value_error:list/tuple"
  | "value_error:list_dict_count"
  | "value_error:dict_key"
  | "value_error:dict_value"
  | "value_error:others";

type PythonType = "str" | "int" | "float" | "bool" | "list" | "dict" | "None";

/**
 * Finds the first problem with `args`; undefined when they are accepted. `accepted` is the possible answer,
 * {param: [accepted values]} with "" for "may be omitted"; `schema` is the tool's, in the leaderboard's dialect (dict,
 * float, tuple, any) or as JSON Schema (object, number, array, string).
 */
export function findBfclProblem(args: JsonObject, accepted: JsonObject, schema: JsonObject): BfclProblem | undefined {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  for (const name of items(schema.required)) {
    if (typeof name === "string" && !Object.hasOwn(args, name)) {
      return problem("simple_function_checker:missing_required", true, `args.${name}: required, got nothing`);
    }
  }
  for (const [name, value] of Object.entries(args)) {
    const property = own(properties, name);
    const answers = own(accepted, name);
    if (property === undefined || answers === undefined) {
      const why = `args.${name}: not expected, got ${showJson(plain(value))}`;
      return problem("simple_function_checker:unexpected_param", property === undefined, why);
    }
    const rule = paramRule(value, items(answers), isJsonObject(property) ? property : {});
    if (rule) {
      const why = `args.${name}: expected any of ${showJson(plain(answers))}, got ${showJson(plain(value))} (${rule})`;
      return problem(rule, rule.startsWith("type_error"), why);
    }
  }
  for (const [name, answers] of Object.entries(accepted)) {
    if (!Object.hasOwn(args, name) && !items(answers).includes("")) {
      const why = `args.${name}: expected any of ${showJson(plain(answers))}, got nothing`;
      return problem("simple_function_checker:missing_optional", false, why);
    }
  }
  return undefined;
}

function problem(rule: BfclRule, isMalformed: boolean, why: string): BfclProblem {
  return { rule, isMalformed, why };
}

/** Type first, then value. A value of the first accepted value's type passes as a "variable", and is compared exactly. */
function paramRule(given: Json, answers: readonly Json[], schema: JsonObject): BfclRule | undefined {
  const type = pythonTypeOf(schema.type);
  const itemType =
    type === "list" && isJsonObject(schema.items) && schema.items.type !== undefined
      ? pythonTypeOf(schema.items.type)
      : undefined;
  const value = type === "float" && typeOf(given) === "int" ? { $float: given } : given;
  const mistyped = typeRule(value, answers, type, itemType);
  if (mistyped) return mistyped;
  const first = firstType(answers);
  if (first !== undefined && first !== type) return among(value, answers) ? undefined : "value_error:others";
  if (type === "dict") return dictRule(value, answers);
  if (type === "list" && itemType === "dict") return dictListRule(items(value), answers);
  if (type === "list") return listRule(items(value), answers);
  if (type === "str") return among(normal(value), answers.map(normal)) ? undefined : "value_error:string";
  return among(value, answers) ? undefined : "value_error:others";
}

function typeRule(
  value: Json,
  answers: readonly Json[],
  type: PythonType,
  itemType: PythonType | undefined,
): "type_error:simple" | "type_error:nested" | undefined {
  if (typeOf(value) !== type) return typeOf(value) === firstType(answers) ? undefined : "type_error:simple";
  if (itemType === undefined) return undefined;
  // An accepted value that is not a list, such as "", allows any items; the values are compared later.
  const fits = answers.some(
    (answer) =>
      !Array.isArray(answer) || items(value).every((item) => typeRule(item, answer, itemType, undefined) === undefined),
  );
  return fits ? undefined : "type_error:nested";
}

function listRule(value: readonly Json[], answers: readonly Json[]): BfclRule | undefined {
  const lists = answers.map((answer) => items(answer).map(normal));
  return among(value.map(normal), lists) ? undefined : "value_error:list/tuple";
}

function dictRule(value: Json, answers: readonly Json[]): BfclRule | undefined {
  let rule: BfclRule = "value_error:dict_key";
  for (const answer of answers) {
    if (!isJsonObject(answer) || !isJsonObject(value)) continue;
    const found = oneDictRule(value, answer);
    if (!found) return undefined;
    rule = found;
  }
  return rule;
}

function oneDictRule(value: JsonObject, answer: JsonObject): BfclRule | undefined {
  const missing = Object.keys(answer).some((key) => !Object.hasOwn(value, key) && !items(answer[key]).includes(""));
  if (missing) return "value_error:dict_key";
  for (const [key, member] of Object.entries(value)) {
    if (!Object.hasOwn(answer, key)) return "value_error:dict_key";
    if (!among(normal(member), items(answer[key]).map(normal))) return "value_error:dict_value";
  }
  return undefined;
}

function dictListRule(value: readonly Json[], answers: readonly Json[]): BfclRule | undefined {
  let rule: BfclRule = "value_error:list_dict_count";
  for (const answer of answers) {
    const wanted = items(answer);
    if (wanted.length !== value.length) {
      rule = "value_error:list_dict_count";
      continue;
    }
    const found = value.map((item, index) => dictRule(item, wanted.slice(index, index + 1))).find(Boolean);
    if (!found) return undefined;
    rule = found;
  }
  return rule;
}

/** Iterates as Python does: the items of a list, the characters of a string, and nothing for any other value. */
function items(value: Json | undefined): readonly Json[] {
  if (Array.isArray(value)) return value;
  return typeof value === "string" ? [...value] : [];
}

/** Strings without ASCII space and , . / - _ * ^, in lower case, with " for '. Other values are unchanged, including nested strings. */
function normal(value: Json): Json {
  if (typeof value !== "string") return value;
  return value
    .replace(/[ ,./\-_*^]/g, "")
    .toLowerCase()
    .replaceAll("'", '"');
}

function pythonTypeOf(schemaType: Json | undefined): PythonType {
  if (schemaType === "integer") return "int";
  if (schemaType === "float" || schemaType === "number") return "float";
  if (schemaType === "boolean") return "bool";
  if (schemaType === "array" || schemaType === "tuple") return "list";
  return schemaType === "dict" || schemaType === "object" ? "dict" : "str";
}

function typeOf(value: Json): PythonType {
  if (value === null) return "None";
  if (typeof value === "string") return "str";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  if (Array.isArray(value)) return "list";
  return markedFloat(value) === undefined ? "dict" : "float";
}

function firstType(answers: readonly Json[]): PythonType | undefined {
  const first = answers.find((answer) => answer !== "");
  return first === undefined ? undefined : typeOf(first);
}

function markedFloat(value: JsonObject): number | undefined {
  return typeof value.$float === "number" && Object.keys(value).length === 1 ? value.$float : undefined;
}

/** The value with 5 for {$float: 5}, for messages. */
function plain(value: Json): Json {
  if (Array.isArray(value)) return value.map(plain);
  if (!isJsonObject(value)) return value;
  return (
    markedFloat(value) ?? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)] as const))
  );
}

function among(value: Json, answers: readonly Json[]): boolean {
  return answers.some((answer) => pythonEquals(value, answer));
}

/** Python's ==: true is 1, 1.0 is 1, at any depth. */
function pythonEquals(a: Json, b: Json | undefined): boolean {
  if (b === undefined) return false;
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined || right !== undefined) return left === right;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => pythonEquals(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => pythonEquals(a[key] ?? null, own(b, key)));
}

function numberOf(value: Json): number | undefined {
  if (typeof value === "boolean") return Number(value);
  if (typeof value === "number") return value;
  return isJsonObject(value) ? markedFloat(value) : undefined;
}
