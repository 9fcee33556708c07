import { escaped, plain } from "../base/text/display.ts";
import { stringifyInParts } from "../base/text/jsonParts.ts";
import { unmarkWholes, writeExactJson } from "../base/types/json.ts";

// Tool names, model text and server messages come from outside. They must not move a cursor, hide text or break a file
// format, so invisible characters are written as visible escapes.

const asciiFor: Readonly<Record<string, string>> = {
  "…": "...",
  "·": "-",
  "─": "-",
  "≥": ">=",
  "✓": "ok",
  "✗": "FAIL",
};

/** `plain` in ASCII: the reports' own symbols are spelled out, all other characters escaped. */
export function plainAscii(text: string): string {
  return plain(text).replace(/[^ -~]/gu, (sign) => asciiFor[sign] ?? escaped(sign));
}

/** A value as JSON of the same meaning, with characters escaped that a terminal or a CI system might interpret. */
export function safeJson(value: unknown, indent = 0): string {
  return `${visibleJson(writeExactJson(value, indent))}\n`;
}

/** The same in parts, for large values. */
export function* safeJsonParts(value: unknown, indent = 0): Generator<string> {
  for (const part of stringifyInParts(value, { indent })) yield visibleJson(unmarkWholes(part));
  yield "\n";
}

/** The same for existing JSON, in which ASCII control characters are already escaped. */
export function visibleJson(json: string): string {
  return json.replace(/[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]|#(?=#[a-z]*\[)/giu, jsonEscapes);
}

/** JSON in printable ASCII that parses to the same value: safe on a terminal, and safe to copy. */
export function asciiJson(value: unknown, indent?: number): string {
  return writeExactJson(value, indent).replace(/[^\n -~]|#(?=#[a-z]*\[)/gi, jsonEscapes);
}

function jsonEscapes(sign: string): string {
  return Array.from({ length: sign.length }, (_, at) => jsonEscape(sign.charCodeAt(at))).join("");
}

const jsonEscape = (unit: number) => `\\u${unit.toString(16).padStart(4, "0")}`;

/** A piece of HTML or XML that is already escaped. */
export class Markup {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

type Part = string | number | undefined | Markup | readonly Markup[];

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Template tag for HTML and XML: escapes interpolated values unless they are `Markup`; undefined is empty. */
export function markup(pieces: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(pieces.map((piece, at) => (at === 0 ? piece : safe(parts[at - 1]) + piece)).join(""));
}

function safe(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Markup) return part.source;
  if (typeof part === "object") return part.map(safe).join("");
  return plain(String(part)).replace(/[&<>"']/g, (sign) => entities[sign] ?? sign);
}
