// Imports nothing: it is loaded with every command, `--version` included.

/** Invisible characters, and the first one of `##vso[`, `##[error]` and the like, which CI systems obey anywhere in a line. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Noncharacter_Code_Point}]|#(?=#[a-z]*\[)/giu;

/** The text with every invisible character and every such command escaped, as in `\x1b` or `\u{202e}`. Idempotent. */
export function visible(text: string): string {
  return text.replace(unsafe, escaped);
}

/**
 * Untrusted text as one visible line: line breaks and tabs become a space, every other invisible character an escape
 * such as `\x1b` or `\u{202e}`. The result is legal in XML and holds no terminal sequence. Idempotent.
 */
export function plain(text: string): string {
  return visible(text.replace(/[\t\n\v\f\r]+/g, " "));
}

/** Lines to print. Each stays one line, whatever it quotes, and none is a workflow command. */
export function printableLines(...lines: readonly string[]): string {
  return inert(`${lines.map(plain).join("\n")}\n`);
}

/** The text without workflow commands at the start of a line, which GitHub Actions obeys, also indented. */
export function inert(text: string): string {
  return text.replace(/^([^\S\r\n\u2028\u2029]*):(?=:)/gm, "$1\\x3a");
}

/** One character as an escape sequence. */
export function escaped(sign: string): string {
  const code = sign.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  return code <= 0xff ? `\\x${hex.padStart(2, "0")}` : `\\u{${hex}}`;
}
