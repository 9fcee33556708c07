import type { Json } from "../../../base/types/json.ts";

/** What a format asks of its sources. */
export type SourceRequest = {
  /**
   * Names of functions whose calls are recorded. Callbacks among their arguments are called once; a call of such a
   * callback's parameter is recorded under `<name>/callback`.
   */
  functions: readonly string[];
  /** Other names of libraries that are stubs in every import, such as `Matcher`. */
  stubs?: readonly string[];
  /** Regular expressions for the texts of functions, by name: the first group is an expression to evaluate. */
  expressions?: Readonly<Record<string, string>>;
  /** A constant of another file: `file` stands beside the file from which `importedName` is imported. */
  constant?: { importedName: string; file: string; name: string };
};

/** A value of a source that was run, as JSON; undefined is null. */
export type Value = null | string | number | boolean | Value[] | ObjectValue | Stub | FunctionValue | Unknown;
export type ObjectValue = { kind: "object"; members: { [name: string]: Value } };
/** A name of a module that is not run (`Matcher.anyOf`), or with `args` a call of it. */
export type Stub = { kind: "stub"; name: string; args?: Value[] };
/** `returned`: what a function without parameters returned. `expressions`: those that the format asks for. */
export type FunctionValue = {
  kind: "function";
  source: string;
  returned?: Value;
  expressions: Readonly<Record<string, Value[]>>;
};
/** A value that is not plain data, or could not be found. */
export type Unknown = { kind: "unknown"; reason: string };

export type SourceCall = { name: string; args: Value[]; line: number };

/** The recorded calls of one source. `failed`: why it did not run to its end. */
export type SourceRun = { calls: SourceCall[]; constant?: Value; failed?: string };

const isKind =
  <K extends string>(kind: K) =>
  (value: Value | undefined): value is Extract<Value, { kind: K }> =>
    typeof value === "object" && value !== null && !Array.isArray(value) && value.kind === kind;
export const isObject = isKind("object");
export const isStub = isKind("stub");
export const isFunction = isKind("function");
export const isUnknown = isKind("unknown");

/** Converts plain data to JSON, or says why the value is not plain data. */
export function toJson(value: Value): { json: Json } | { reason: string } {
  try {
    return { json: convert(value) };
  } catch (error) {
    if (error instanceof NotPlain) return { reason: error.message };
    throw error;
  }
}

class NotPlain extends Error {}

function convert(value: Value): Json {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(convert);
  if (value.kind === "object")
    return Object.fromEntries(Object.entries(value.members).map(([name, one]) => [name, convert(one)]));
  throw new NotPlain(explainOther(value));
}

/** What a value is that is not plain data. */
export function explainOther(value: Stub | FunctionValue | Unknown): string {
  if (value.kind === "unknown") return value.reason;
  return value.kind === "function" ? "a function is not plain data" : `${value.name} is of a module that is not run`;
}
