// Imports nothing: it is loaded with every command, `--version` included.

const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Noncharacter_Code_Point}]/gu;

/** The text with every invisible character escaped, such as `\x1b` or `\u{202e}`. Idempotent. */
export function visible(text: string): string {
  return text.replace(invisible, escaped);
}

/**
 * The text without workflow commands: GitHub Actions obeys `::error::` at the start of a printed line, also of an indented
 * one, and `##[error]` anywhere in it. The first character of a command is escaped.
 */
export function inert(text: string): string {
  return text.replace(/^([^\S\r\n\u2028\u2029]*):(?=:)/gm, "$1\\x3a").replaceAll("##[", "\\x23#[");
}

/** One character as an escape sequence. */
export function escaped(sign: string): string {
  const code = sign.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  return code <= 0xff ? `\\x${hex.padStart(2, "0")}` : `\\u{${hex}}`;
}
