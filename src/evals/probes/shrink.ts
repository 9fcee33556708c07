import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";

/**
 * The smallest input found on which something still fails, by going from one failing input to the first simpler one that
 * fails too. Each input is tried once. `fails` answers "stop" when it may not try any more.
 */
export async function shrink<T>(
  start: T,
  simpler: (from: T) => Iterable<T>,
  keyOf: (input: T) => string,
  fails: (input: T) => Promise<boolean | "stop">,
): Promise<T> {
  const tried = new Set([keyOf(start)]);
  let smallest = start;
  for (let found = true; found; ) {
    found = false;
    for (const candidate of simpler(smallest)) {
      const key = keyOf(candidate);
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

/** Simpler objects: each member but `held` left out, then each made simpler. */
export function* simplerObjects(object: JsonObject, held?: string): Generator<JsonObject> {
  const names = Object.keys(object).filter((name) => name !== held);
  for (const name of names) yield Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));
  for (const name of names)
    for (const value of simpler(object[name] ?? null)) yield { ...object, ...Object.fromEntries([[name, value]]) };
}

function* simpler(value: Json): Generator<Json> {
  if (typeof value === "string") yield* simplerStrings(value);
  else if (typeof value === "number") yield* simplerNumbers(value);
  else if (value === true) yield false;
  else if (Array.isArray(value)) yield* simplerArrays(value);
  else if (isJsonObject(value)) yield* simplerObjects(value);
}

function* simplerStrings(text: string): Generator<string> {
  const signs = [...text];
  for (const kept of shorter(signs)) yield kept.join("");
  yield "a".repeat(signs.length);
}

function* simplerNumbers(n: number): Generator<number> {
  if (n < 0) yield -n;
  if (!Number.isInteger(n)) yield Math.trunc(n);
  for (const step of halvings(Math.trunc(Math.abs(n)))) yield n - Math.sign(n) * step;
}

function* simplerArrays(items: readonly Json[]): Generator<Json[]> {
  yield* shorter(items);
  for (const [at, item] of items.entries()) for (const value of simpler(item)) yield items.toSpliced(at, 1, value);
}

/** Without a part of each size at the end, then at the beginning: all of it first, one item last. */
export function* shorter<T>(items: readonly T[]): Generator<T[]> {
  const sizes = [...halvings(items.length)];
  for (const size of sizes) yield items.slice(0, items.length - size);
  for (const size of sizes) yield items.slice(size);
}

function* halvings(n: number): Generator<number> {
  for (let step = n; step >= 1; step = Math.floor(step / 2)) yield step;
}
