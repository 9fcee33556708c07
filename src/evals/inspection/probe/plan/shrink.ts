import { isJsonObject, type Json, type JsonObject } from "../../../base/types/json.ts";

/** Moves to the first simpler input that fails until there is none. `fails` returns "stop" to end the search. */
export async function shrink<T>(
  start: T,
  listSimpler: (from: T) => Iterable<T>,
  getKey: (input: T) => string,
  fails: (input: T) => Promise<boolean | "stop">,
): Promise<T> {
  const tried = new Set([getKey(start)]);
  let smallest = start;
  for (let found = true; found; ) {
    found = false;
    for (const candidate of listSimpler(smallest)) {
      const key = getKey(candidate);
      if (tried.has(key)) continue;
      tried.add(key);
      const failed = await fails(candidate);
      if (failed === "stop") return smallest;
      if (!failed) continue;
      smallest = candidate;
      found = true;
      break;
    }
  }
  return smallest;
}

/** Simpler objects: each member omitted except `held`, then each simplified. */
export function* simplifyObject(object: JsonObject, held?: string): Generator<JsonObject> {
  const names = Object.keys(object).filter((name) => name !== held);
  for (const name of names) yield Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));
  for (const name of names)
    for (const value of simplifyValue(object[name] ?? null))
      yield { ...object, ...Object.fromEntries([[name, value]]) };
}

function* simplifyValue(value: Json): Generator<Json> {
  if (typeof value === "string") yield* simplifyString(value);
  else if (typeof value === "number") yield* simplifyNumber(value);
  else if (value === true) yield false;
  else if (Array.isArray(value)) yield* simplifyArray(value);
  else if (isJsonObject(value)) yield* simplifyObject(value);
}

function* simplifyString(text: string): Generator<string> {
  const characters = [...text];
  for (const kept of shorten(characters)) yield kept.join("");
  yield "a".repeat(characters.length);
}

function* simplifyNumber(n: number): Generator<number> {
  if (n < 0) yield -n;
  if (!Number.isInteger(n)) yield Math.trunc(n);
  for (const step of halvings(Math.trunc(Math.abs(n)))) yield n - Math.sign(n) * step;
}

function* simplifyArray(items: readonly Json[]): Generator<Json[]> {
  yield* shorten(items);
  for (const [at, item] of items.entries())
    for (const value of simplifyValue(item)) yield items.toSpliced(at, 1, value);
}

/** The list without its last items, then without its first ones: without all, half, a quarter, ... down to one. */
export function* shorten<T>(items: readonly T[]): Generator<T[]> {
  const sizes = [...halvings(items.length)];
  for (const size of sizes) yield items.slice(0, items.length - size);
  for (const size of sizes) yield items.slice(size);
}

function* halvings(n: number): Generator<number> {
  for (let step = n; step >= 1; step = Math.floor(step / 2)) yield step;
}
