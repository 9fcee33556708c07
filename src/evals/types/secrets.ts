import { once } from "./once.ts";

/** The environment variables of a process. */
type Env = Readonly<Record<string, string | undefined>>;

/** Values that must not be written or printed, with their replacements. */
export type Secrets = {
  /** Adds a value under the name that replaces it in texts. Short values are ignored, because redacting them would hide words. */
  add(name: string, value: string): void;
  /** Adds user, password and query of a URL, if it is one. */
  addUrl(name: string, url: string): void;
  /** The text with every known value as `[redacted: <name>]`: plain, URL-encoded, in JSON, in base64 and in hexadecimal. */
  redact(text: string): string;
};

/** Shorter values, and numbers shorter than `shortestNumber`, are not redacted. */
const shortest = 6;
const shortestNumber = 12;

const secretName = /(?:^|[_-])(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD|CREDENTIALS?|AUTH|PAT)(?:$|[_-])/i;

/** Names of paths that end like names of secrets. `PWD` alone is the working directory of every shell. */
const placeName = /(?:PATH|FILE|DIR|SOCK)$|^PWD$/i;

/** Whether a variable or a header of this name holds a secret. */
export const isSecretName = (name: string) => secretName.test(name) && !placeName.test(name);

/**
 * The secrets of a process, by its environment: initially the variables that are named like secrets, and credentials in URLs.
 * Code that reads another one, such as a header of a server, adds it. The record and the streams are redacted with it.
 */
export const knownSecrets = once((env: Env): Secrets => {
  const secrets = createSecrets();
  for (const [name, value = ""] of Object.entries(env)) {
    if (isSecretName(name)) secrets.add(name, value);
    else if (/^[a-z]+:\/\/[^/\s]*@/i.test(value)) secrets.addUrl(name, value);
  }
  return secrets;
});

/**
 * Whether a value of a server's `env` is worth hiding, whatever its name: not a word, a number or a path, which texts may
 * contain for other reasons.
 */
export const looksSecret = (value: string) =>
  value.length >= 8 && !/^[a-z]+$/i.test(value) && !/^[\d.:-]+$/.test(value) && !/^(?:[~.]|\w:)?[/\\]|\s/.test(value);

export function createSecrets(): Secrets {
  const forms = new Map<string, string>();
  let pattern: RegExp | undefined;
  const secrets: Secrets = {
    add(name, value) {
      const isNumber = /^\d+$/.test(value);
      if (value.length < (isNumber ? shortestNumber : shortest) || forms.has(value)) return;
      for (const form of listForms(value)) if (form.length >= shortest && !forms.has(form)) forms.set(form, name);
      const longestFirst = [...forms.keys()].sort((a, b) => b.length - a.length);
      pattern = new RegExp(longestFirst.map(escapePattern).join("|"), "g");
    },
    addUrl(name, text) {
      if (!URL.canParse(text)) return;
      const { username, password, searchParams } = new URL(text);
      for (const part of [username, password]) {
        secrets.add(name, part);
        secrets.add(name, decodeOr(part));
      }
      for (const value of searchParams.values()) secrets.add(name, value);
    },
    redact: (text) => (pattern ? text.replace(pattern, (form) => `[redacted: ${forms.get(form)}]`) : text),
  };
  return secrets;
}

function decodeOr(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The forms in which a value comes back from servers and services. */
function listForms(value: string): string[] {
  // Buffer replaces lone surrogates, which cannot be encoded.
  const encoded = encodeURIComponent(Buffer.from(value).toString());
  return [
    value,
    encoded,
    encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    JSON.stringify(value).slice(1, -1),
    Buffer.from(value).toString("hex"),
    ...listBase64(value),
  ];
}

/** Base64 and base64url at the three alignments that a value can have in a longer text, without the signs at its edges. */
function listBase64(value: string): string[] {
  const bytes = Buffer.from(value);
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const skipped = [0, 2, 3][before] ?? 0;
    const last = (before + bytes.length) % 3 === 0 ? 0 : 1;
    const form = encoded.slice(skipped, encoded.length - last);
    return [form, form.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

const escapePattern = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
