import { once } from "./once.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Values that must not be written or printed, with their replacements. */
export type Secrets = {
  /** Adds a value under the name that replaces it in texts. Short values are ignored, because redacting them would hide words. */
  add(name: string, value: string): void;
  /** Adds the credentials of a URL, if it is one: password, user and parameters, unless they are plain words. */
  addUrl(name: string, url: string): void;
  /**
   * The text with every known value as `[redacted: <name>]`: plain, URL-encoded, escaped in JSON (also several times), in
   * HTML, in base64 and in hexadecimal.
   */
  redact(text: string): string;
  /** The text with every known value, in each of these forms, replaced by what `substitute` returns for its name and form. */
  replace(text: string, substitute: (name: string, form: string) => string): string;
};

/** Shorter values, and numbers shorter than `shortestNumber`, are not redacted. */
const shortest = 6;
const shortestNumber = 12;

const secretName =
  /(?:^|[_-])(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|AUTH|AUTHORIZATION|PAT)(?:$|[_-])/i;

/** Names of paths that end like names of secrets. `PWD` alone is the working directory of every shell. */
const placeName = /(?:PATH|FILE|DIR|SOCK)$|^PWD$/i;

/** Whether a variable or a header of this name holds a secret. */
export function isSecretName(name: string): boolean {
  const separated = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2");
  return secretName.test(separated) && !placeName.test(separated);
}

/**
 * The secrets of a process, by its environment: initially the variables that are named like secrets, and credentials in URLs.
 * Code that reads another one, such as a header of a server, adds it. The record and the streams are redacted with it.
 */
export const knownSecrets = (env: Env): Secrets => findSecrets(bases.get(env) ?? env);

/** The environments that others extend. */
const bases = new WeakMap<Env, Env>();

const findSecrets = once((env: Env): Secrets => {
  const secrets = createSecrets();
  for (const [name, value = ""] of Object.entries(env)) {
    if (isSecretName(name)) secrets.add(name, value);
    else if (/^[a-z]+:\/\/[^/\s]*@/i.test(value)) secrets.addUrl(name, value);
  }
  return secrets;
});

/**
 * Whether a value of a server's `env` or of a URL is worth hiding, whatever its name: not a word, a number or a path, which
 * texts may contain for other reasons.
 */
export const looksSecret = (value: string) =>
  value.length >= 8 &&
  !/^[a-z]{1,19}$/i.test(value) &&
  !/^[\d.:-]+$/.test(value) &&
  !/^(?:[~.]|\w:)?[/\\]|\s/.test(value);

export function createSecrets(): Secrets {
  const values = new Map<string, string>();
  let names: readonly string[] = [];
  let pattern: RegExp | undefined;
  const secrets: Secrets = {
    add(name, given) {
      // A backslash at the end could be the one that escapes what follows in JSON.
      const value = given.replace(/(?<!\\)\\+$/, "");
      const isNumber = /^\d+$/.test(value);
      if (value.length < (isNumber ? shortestNumber : shortest) || values.has(value)) return;
      // The name is a part of texts in JSON.
      values.set(value, name.replace(/["\\\p{Cc}]/gu, "_"));
      pattern = undefined;
    },
    addUrl(name, text) {
      if (!URL.canParse(text)) return;
      const { username, password, searchParams } = new URL(text);
      // A user such as "postgres", and a parameter such as "sslmode=require", are words of other texts too.
      for (const part of password === "" || looksSecret(username) ? [username, password] : [password]) {
        secrets.add(name, part);
        secrets.add(name, decodeOr(part));
      }
      for (const [key, value] of searchParams) if (isSecretName(key) || looksSecret(value)) secrets.add(name, value);
    },
    redact: (text) => secrets.replace(text, (name) => `[redacted: ${name}]`),
    replace(text, substitute) {
      if (values.size === 0) return text;
      if (!pattern) {
        const longestFirst = [...values].sort(([a], [b]) => b.length - a.length);
        names = longestFirst.map(([, name]) => name);
        pattern = new RegExp(longestFirst.map(([value]) => `(${listForms(value).join("|")})`).join("|"), "g");
      }
      return text.replace(pattern, (form: string, ...groups: unknown[]) => {
        return substitute(names[groups.findIndex((group) => group !== undefined)] ?? "", form);
      });
    },
  };
  return secrets;
}

/** The value without the secrets of a process: unlike a text made of it, it stays valid in its form. */
export function redactValue<T>(value: T, { env }: { env: Env }): T {
  const text = JSON.stringify(value);
  const redacted = knownSecrets(env).redact(text);
  return redacted === text ? value : (JSON.parse(redacted) as T);
}

/** The environment with further variables. It has the same secrets as before. */
export function extendEnv(env: Env, further: Readonly<Record<string, string>>): Env {
  const extended = { ...env, ...further };
  bases.set(extended, bases.get(env) ?? env);
  return extended;
}

function decodeOr(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Patterns for the forms in which a value comes back from servers and services. */
function listForms(value: string): string[] {
  // Buffer replaces lone surrogates, which cannot be encoded.
  const bytes = Buffer.from(value);
  const hex = bytes.toString("hex");
  return [spell(value), ignoreCase(hex), ...listBase64(bytes)];
}

/** Base64 and base64url at the three alignments that a value can have in a longer text, without the signs at its edges. */
function listBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const skipped = [0, 2, 3][before] ?? 0;
    const last = (before + bytes.length) % 3 === 0 ? 0 : 1;
    const form = encoded.slice(skipped, encoded.length - last);
    if (form.length < shortest) return [];
    return [
      spell(form)
        .replaceAll(spell("+"), `(?:-|${spell("+")})`)
        .replaceAll(spell("/"), `(?:_|${spell("/")})`),
    ];
  });
}

/** A pattern for a text, of which each character can be escaped. */
const spell = (text: string): string => [...text].map(spellCharacter).join("");

const entities: Readonly<Record<string, string>> = { '"': "quot", "&": "amp", "<": "lt", ">": "gt", "'": "apos" };
const controls: Readonly<Record<string, string>> = { "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t" };

/** A pattern for a character: as it is, or escaped in JSON (up to four times, as in a record of a JSON text), a URL or HTML. */
function spellCharacter(character: string): string {
  if (/[\w.-]/.test(character)) return escapePattern(character);
  const backslashes = "(?:(?<!\\\\)\\\\{1,15})";
  const code = character.codePointAt(0) ?? 0;
  const units = Array.from({ length: character.length }, (_, at) =>
    character.charCodeAt(at).toString(16).padStart(4, "0"),
  );
  const bytes = [...Buffer.from(character)].map((byte) => byte.toString(16).padStart(2, "0"));
  const [control, entity] = [controls[character], entities[character]];
  const forms = [
    character === "\\" ? "\\\\{1,16}" : `${backslashes}?${escapePattern(character)}`,
    units.map((unit) => `${backslashes}u${ignoreCase(unit)}`).join(""),
    bytes.map((byte) => `%${ignoreCase(byte)}`).join(""),
    `&#(?:0*${code}|[xX]0*${ignoreCase(code.toString(16))});`,
    ...(entity === undefined ? [] : [`&${entity};`]),
    ...(control === undefined ? [] : [`${backslashes}${control}`]),
    // Messages and tables show white space as one space.
    ...(/\s/.test(character) ? ["\\s", "\\+"] : []),
  ];
  return `(?:${forms.join("|")})`;
}

const ignoreCase = (hex: string) => hex.replace(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);

const escapePattern = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
