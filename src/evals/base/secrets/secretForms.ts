/**
 * A form in which a secret comes back from servers and services, as a pattern for each of its characters: plain, URL-encoded,
 * escaped in JSON (also several times), in Markdown, in HTML, in base64 or in hexadecimal.
 */
export type SecretForm = readonly string[];

/** Shorter forms in base64 are those of other texts, too. */
const shortestForm = 6;

/** The forms of a value. */
export function listForms(value: string): SecretForm[] {
  // Buffer replaces lone surrogates, which cannot be encoded.
  const bytes = Buffer.from(value);
  return [spell(value), [...bytes.toString("hex")].map(ignoreCase), ...listBase64(bytes)];
}

/** Base64 and base64url at the three alignments that a value can have in a longer text, without the signs at its edges. */
function listBase64(bytes: Buffer): SecretForm[] {
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const skipped = [0, 2, 3][before] ?? 0;
    const last = (before + bytes.length) % 3 === 0 ? 0 : 1;
    const form = encoded.slice(skipped, encoded.length - last);
    return form.length < shortestForm ? [] : [[...form].map(spellBase64)];
  });
}

function spellBase64(sign: string): string {
  const urlSafe = { "+": "-", "/": "_" }[sign];
  return urlSafe === undefined ? sign : `(?:${urlSafe}|${spellCharacter(sign)})`;
}

/** Each character can be escaped. White space that belongs together is one piece, since messages show it as one space. */
function spell(text: string): SecretForm {
  const pieces = text.match(/\s+|\S/gu) ?? [];
  return pieces.map((piece, at) => {
    const prefix = pieces[at - 1] === "\\" ? "\\\\{0,15}" : backslashes;
    if (!/\s/.test(piece)) return spellCharacter(piece, prefix);
    return `(?:${[...piece].map((one) => spellCharacter(one, prefix)).join("")}|\\s{1,40}|\\+)`;
  });
}

const entities: Readonly<Record<string, string>> = { '"': "quot", "&": "amp", "<": "lt", ">": "gt", "'": "apos" };
const controls: Readonly<Record<string, string>> = { "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t" };

/**
 * Backslashes of an escaped character, up to those of four times. From the first one on, since each start would be tried
 * with all that follow; after a backslash of the secret, which can be escaped itself, from anywhere.
 */
const backslashes = "(?<!\\\\)\\\\{1,15}";

/** A pattern for a character: as it is, or escaped in JSON, a URL or HTML. */
function spellCharacter(character: string, prefix = backslashes): string {
  if (/[A-Za-z0-9]/.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  // Only Markdown escapes these.
  if (/[_.-]/.test(character)) return `(?:\\\\{0,4}${escapePattern(character)}|&#${code};)`;
  const hex = code.toString(16);
  const units = Array.from({ length: character.length }, (_, at) =>
    character.charCodeAt(at).toString(16).padStart(4, "0"),
  );
  const bytes = [...Buffer.from(character)].map((byte) => byte.toString(16).padStart(2, "0"));
  const [control, entity] = [controls[character], entities[character]];
  const forms = [
    ...(character === "\\" ? [] : [escapePattern(character)]),
    character === "\\" ? "\\\\{1,16}" : `${prefix}${escapePattern(character)}`,
    units.map((unit) => `${prefix}u${ignoreCase(unit)}`).join(""),
    // As `visible` writes it.
    `${prefix}${code <= 0xff ? `x${ignoreCase(hex.padStart(2, "0"))}` : `u\\{${ignoreCase(hex)}\\}`}`,
    bytes.map((byte) => `%${ignoreCase(byte)}`).join(""),
    `&#(?:0*${code}|[xX]0*${ignoreCase(hex)});`,
    ...(entity === undefined ? [] : [`&${entity};`]),
    ...(control === undefined ? [] : [`${prefix}${control}`]),
    // Doubled in CSV and in YAML.
    ...(character === '"' || character === "'" ? [`${character}${character}`] : []),
  ];
  // The longest first: one that begins another would leave its rest.
  return `(?:${forms.reverse().join("|")})`;
}

const ignoreCase = (hex: string) => hex.replace(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);

const escapePattern = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
