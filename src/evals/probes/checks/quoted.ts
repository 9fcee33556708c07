import type { Json } from "../../types/json.ts";

/** A value as JSON, short enough for a message. */
export function quoted(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}
