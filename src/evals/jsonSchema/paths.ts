import type { Json, JsonObject } from "../types/json.ts";
import { quoteWhole } from "../types/quote.ts";

/** A place inside a JSON value: the keys and indices that lead to it. */
export type Path = readonly (string | number)[];

/** A path in JSONPath syntax: `$.inputSchema.properties["the unit"].enum[0]`. Hidden characters in keys are escaped. */
export function jsonPath(path: Path): string {
  let text = "$";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else text += /^[A-Za-z_]\w*$/.test(step) ? `.${step}` : `[${quoteWhole(step)}]`;
  }
  return text;
}

/** Whether a `$ref` is a JSON pointer into its own document: `#` or `#/...`. */
export function isLocalPointer(ref: string): boolean {
  return ref === "#" || ref.startsWith("#/");
}

/** The value that a local `$ref` points to, with its path (RFC 6901, percent-decoded as a URI fragment is). */
export function resolvePointer(ref: string, root: JsonObject): { value: Json; path: string[] } | undefined {
  if (!isLocalPointer(ref)) return undefined;
  let value: Json = root;
  const path: string[] = [];
  for (const part of percentDecoded(ref).split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    const inside: boolean = typeof value === "object" && value !== null && Object.hasOwn(value, key);
    const next: Json | undefined = inside ? (value as JsonObject)[key] : undefined;
    if (next === undefined) return undefined;
    value = next;
    path.push(key);
  }
  return { value, path };
}

/** A percent-decoded text; the text itself where it is malformed. */
export function percentDecoded(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}
