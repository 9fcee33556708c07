// Imports nothing: it is loaded with every command, `--version` included.

const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Noncharacter_Code_Point}]/gu;

/** The text with every invisible character escaped, such as `\x1b` or `\u{202e}`. Idempotent. */
export function visible(text: string): string {
  return text.replace(invisible, escaped);
}

/** One character as an escape sequence. */
export function escaped(sign: string): string {
  const code = sign.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  return code <= 0xff ? `\\x${hex.padStart(2, "0")}` : `\\u{${hex}}`;
}
