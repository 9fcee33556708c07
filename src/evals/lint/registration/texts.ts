import { isJsonObject, type JsonObject } from "../../types/json.ts";
import type { Path } from "../rule.ts";

/** The texts of an entry in which hosts fill in variables: command, args, env, url and headers. */
export function* textsOf(entry: JsonObject): Iterable<{ text: string; at: Path }> {
  for (const key of ["command", "args", "env", "url", "headers"]) {
    const value = entry[key];
    if (typeof value === "string") yield { text: value, at: [key] };
    else if (Array.isArray(value) || isJsonObject(value))
      for (const [step, one] of Array.isArray(value) ? value.entries() : Object.entries(value))
        if (typeof one === "string") yield { text: one, at: [key, step] };
  }
}
