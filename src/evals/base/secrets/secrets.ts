import { once } from "../once.ts";
import { recordWords } from "../text/recordWords.ts";
import { createCutSecrets } from "./cutSecrets.ts";
import { listForms, type SecretForm } from "./secretForms.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Values that must not be written or printed, with their replacements. */
export type Secrets = {
  /** Adds a value under the name that replaces it in texts. Short values are ignored, because redacting them would hide words. */
  add(name: string, value: string): void;
  /** Adds the credentials of a URL, if it is one: password, user and parameters, unless they are plain words. */
  addUrl(name: string, url: string): void;
  /**
   * The text with every known value as `[redacted: <name>]`, in each form of `listForms`, and with what a limit has left of
   * one. JSON, and each part of it, stays JSON.
   */
  redact(text: string): string;
  /** The text with every known value, in each of these forms, replaced by what `substitute` returns for its name and form. */
  replace(text: string, substitute: (name: string, form: string) => string): string;
};

/** Shorter values, and numbers shorter than `shortestNumber`, are not redacted. */
const shortest = 6;
const shortestNumber = 12;
/** Of a secret of several lines. */
const shortestLine = 16;

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
export const knownSecrets = once((env: Env): Secrets => {
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
  let compiled: Compiled | undefined;
  const secrets: Secrets = {
    add(name, given) {
      // A backslash at the end could be the one that escapes what follows in JSON.
      const value = given.replace(/(?<!\\)\\+$/, "");
      const isNumber = /^\d+$/.test(value);
      if (value.length < (isNumber ? shortestNumber : shortest) || values.has(value)) return;
      if (recordWords.includes(value) || "[redacted: ".includes(value)) return;
      // The name is a part of texts in JSON.
      values.set(value, name.replace(/["\\\p{Cc}]/gu, "_"));
      compiled = undefined;
      for (const part of listParts(value)) secrets.add(name, part);
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
    redact(text) {
      if (values.size === 0) return text;
      compiled ??= compile(values);
      const { replace, hideCut } = compiled;
      const mark = (name: string) => (name === "" ? "[redacted]" : `[redacted: ${name}]`);
      const hide = (part: string) => hideCut(replace(part, mark), mark);
      const hidden = hide(text);
      return hidden === text ? text : (replaceInJson(text, hide) ?? hidden);
    },
    replace(text, substitute) {
      if (values.size === 0) return text;
      compiled ??= compile(values);
      return compiled.replace(text, substitute);
    },
  };
  return secrets;
}

type Substitute = (name: string, form: string) => string;
type Compiled = {
  replace(text: string, substitute: Substitute): string;
  hideCut(text: string, mark: (name: string) => string): string;
};

function compile(values: ReadonlyMap<string, string>): Compiled {
  const longestFirst = [...values].sort(([a], [b]) => b.length - a.length);
  const forms = longestFirst.map(([value]) => listForms(value));
  const patterns = compilePatterns(forms);
  // The name of a variable can be the value of another one.
  const names = longestFirst.map(([, name]) => (patterns.some(({ pattern }) => name.search(pattern) >= 0) ? "" : name));
  const cutSecrets = createCutSecrets(forms.flatMap((all, at) => all.map((form) => ({ form, at }))));
  return {
    replace: (text, substitute) =>
      patterns.reduce(
        (rest, { pattern, first }) =>
          rest.replace(pattern, (form: string, ...groups: unknown[]) => {
            return substitute(names[first + groups.findIndex((group) => group !== undefined)] ?? "", form);
          }),
        text,
      ),
    hideCut: (text, mark) => cutSecrets(text, (at) => mark(names[at] ?? "")),
  };
}

/** V8 does not optimize patterns of more than 20 KiB, which are then a hundred times as slow. */
const longestPattern = 16 * 1024;

/** Patterns with a group for each secret, and the number of the secret that the first group is for. */
function compilePatterns(forms: readonly (readonly SecretForm[])[]): { pattern: RegExp; first: number }[] {
  const patterns: { source: string; first: number }[] = [];
  for (const [at, all] of forms.entries()) {
    const group = `(${all.map((form) => form.join("")).join("|")})`;
    const last = patterns.at(-1);
    if (last && last.source.length + group.length < longestPattern) last.source += `|${group}`;
    else patterns.push({ source: group, first: at });
  }
  return patterns.map(({ source, first }) => ({ pattern: new RegExp(source, "g"), first }));
}

/**
 * The secrets in a value that holds others: the text in quotes, which some readers of `.env` files keep, values of a JSON
 * object such as the key file of a service, and lines of a key.
 */
function listParts(value: string): string[] {
  const quoted = /^(["'])(.+)\1$/s.exec(value)?.[2];
  if (quoted !== undefined) return [quoted];
  if (/^\s*[{[]/.test(value)) {
    const parts: string[] = [];
    const read = (key: string, part: unknown) => {
      if (typeof part === "string" && (isSecretName(key) || looksSecret(part))) parts.push(part);
      return part;
    };
    try {
      JSON.parse(value, read);
      return parts;
    } catch {}
  }
  const lines = value.trim().split(/\s*\n\s*/);
  return lines.length > 1 ? lines.filter((line) => line.length >= shortestLine && looksSecret(line)) : [];
}

const token = /"((?:[^"\\]|\\.)*)"|[^\s{}[\],:]+/g;
const literal = /^(?:-?\d[\d.eE+-]*|true|false|null)$/;

/**
 * Replaces in the texts of JSON, or of a part of it, so that it stays JSON: a secret can look like its syntax, or be a number.
 * Undefined if the text is not JSON.
 */
function replaceInJson(text: string, replace: (text: string) => string): string | undefined {
  let isJson = true;
  const replaced = text.replace(token, (whole: string, inside: string | undefined) => {
    if (inside !== undefined) return `"${replace(inside)}"`;
    isJson &&= literal.test(whole);
    const safe = replace(whole);
    return safe === whole ? whole : `"${safe}"`;
  });
  return isJson ? replaced : undefined;
}

/** The value without the secrets of a process: unlike a text made of it, it stays valid in its form. */
export function redactValue<T>(value: T, { env }: { env: Env }): T {
  const text = JSON.stringify(value);
  const redacted = knownSecrets(env).redact(text);
  return redacted === text ? value : (JSON.parse(redacted) as T);
}

function decodeOr(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
