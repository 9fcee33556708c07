import type { Json } from "../../../base/types/json.ts";
import type { Node } from "./syntax.ts";

/** A value that cannot be known without running the source, with the reason and the line. */
export class Unknown {
  constructor(
    readonly reason: string,
    readonly line: number,
  ) {}

  /** `http.get(...) is not run (line 3)` */
  get text(): string {
    return `${this.reason} (line ${this.line})`;
  }
}

/** A call of a library function that a format interprets: `Matcher.anyOf(1, 2)` has the name `Matcher.anyOf`. */
export class Marker {
  constructor(
    readonly name: string,
    readonly args: readonly Value[],
    readonly line: number,
  ) {}
}

/** A function of the source. */
export class Closure {
  constructor(
    readonly node: Node,
    readonly call: (args: readonly Value[]) => Value,
  ) {}
}

/** A function that a format provides. */
export class Native {
  constructor(
    readonly name: string,
    readonly call: (args: readonly Value[], line: number) => Value,
    readonly members: (name: string, line: number) => Value = () => undefined,
  ) {}
}

export type ObjectValue = { [key: string]: Value };
export type Value =
  | undefined
  | null
  | string
  | number
  | boolean
  | RegExp
  | Unknown
  | Marker
  | Closure
  | Native
  | Value[]
  | ObjectValue;

/**
 * A call of one of a format's functions that a source makes while it is loaded. `missed`: why it is not known whether
 * the call is made, and with which arguments.
 */
export type SourceCall = { name: string; args: readonly Value[]; line: number; missed?: string };

/** The line of each object that was evaluated from a literal. */
export const lines = new WeakMap<object, number>();

export function isObject(value: Value): value is ObjectValue {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

export const isFunction = (value: Value): value is Closure | Native =>
  value instanceof Closure || value instanceof Native;

/** The first unknown part of a value; undefined if all of it is known. */
export function findUnknown(value: Value): Unknown | undefined {
  if (value instanceof Unknown) return value;
  if (value instanceof Marker) return value.args.map(findUnknown).find(Boolean);
  if (Array.isArray(value)) return value.map(findUnknown).find(Boolean);
  return isObject(value) ? Object.values(value).map(findUnknown).find(Boolean) : undefined;
}

/** Why a value is not of the required form: `what` and the reason why a part of it is unknown, or else `misfit`. */
export function explainMisfit(value: Value, what: string, misfit: string): string {
  const unknown = findUnknown(value);
  return unknown ? `${what}${unknown.text}` : misfit;
}

/** Converts plain data to JSON like `JSON.stringify`, or says why the value is not plain data. */
export function toJson(value: Value): { json: Json } | { reason: string } {
  const unknown = findUnknown(value);
  if (unknown) return { reason: unknown.text };
  const found = describeOther(value);
  if (found !== undefined) return { reason: found };
  const text = JSON.stringify(value);
  return text === undefined ? { reason: "it is undefined" } : { json: JSON.parse(text) as Json };
}

function describeOther(value: Value): string | undefined {
  if (value instanceof Marker) return `${value.name}(...) is no plain data (line ${value.line})`;
  if (isFunction(value)) return "a function is no plain data";
  if (value instanceof RegExp) return `the regular expression ${value} is no plain data`;
  if (Array.isArray(value)) return value.map(describeOther).find(Boolean);
  return isObject(value) ? Object.values(value).map(describeOther).find(Boolean) : undefined;
}
