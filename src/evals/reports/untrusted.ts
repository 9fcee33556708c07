import { escaped, visible } from "../types/visible.ts";

// Tool names, model text and server messages come from outside. Nothing of them may move a cursor, hide, or break a
// file format, so what cannot be seen is written out as an escape that can.

/**
 * Untrusted text as one visible line: line breaks and tabs become a space, every other invisible character an escape
 * such as `\x1b` or `\u{202e}`. The result is legal in XML and holds no terminal sequence. Idempotent.
 */
export function plain(text: string): string {
  return visible(text.replace(/[\t\n\v\f\r]+/g, " "));
}

const asciiFor: Readonly<Record<string, string>> = {
  "…": "...",
  "·": "-",
  "–": "-",
  "−": "-",
  "─": "-",
  "→": "->",
  "×": "x",
  "≥": ">=",
  "✓": "ok",
  "✗": "FAIL",
};

/** `plain`, and ASCII only: the reports' own signs get a spelling, all else an escape. */
export function plainAscii(text: string): string {
  return plain(text).replace(/[^ -~]/gu, (sign) => asciiFor[sign] ?? escaped(sign));
}
