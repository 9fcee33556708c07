import type { Path } from "../parsing/tree.ts";
import type { Json } from "../types/json.ts";

/** Something wrong with the value (or the key) at `path`, before it is known where in the file that stands. */
export type Fault = {
  path: Path;
  part?: "key" | "value";
  severity?: "error" | "warning";
  /** A warning that `evals lint` gives by a rule of its own. */
  linted?: true;
  message: string;
  hint?: string | undefined;
};

/** How messages name a path: its last key, with the list for an item. */
export function label(path: Path): string {
  const last = path.at(-1);
  if (last === undefined) return "the suite";
  if (typeof last === "string") return `\`${last}\``;
  const list = path.findLast((step) => typeof step === "string");
  const indices = path.slice(path.lastIndexOf(list ?? "") + 1);
  return `\`${list ?? ""}${indices.map((index) => `[${index}]`).join("")}\``;
}

/** How messages show what was found instead of what was expected. */
export function shown(value: Json | undefined): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}..."` : text;
}

/** The value at `path`, undefined when there is none. */
export function valueAt(value: Json, path: Path): Json | undefined {
  let found: Json | undefined = value;
  for (const step of path) {
    if (Array.isArray(found)) found = typeof step === "number" ? found[step] : undefined;
    else if (typeof found === "object" && found !== null)
      found = Object.hasOwn(found, step) ? found[String(step)] : undefined;
    else return undefined;
  }
  return found;
}
