import { once } from "../collections.ts";
import { addFound, createFinder, type Finder, type Found, fewest, foldEscapes } from "./findTexts.ts";
import { isReference, isSecretName, listParts, looksRandom, looksSecret, readMembers } from "./recognize.ts";

/** The words that records consist of. They are not redacted, since nothing could read a record without them. */
export const recordWords = `
abstained acceptedAt added additionalProperties additive always annotations answered arguments argumentsText attempt
baseline boolean broken budget built-in built-in-used builtIn builtIns cacheReadTokens cacheWriteTokens cached
call-as-text cancelled changed checks checksum chosen chosen-without-search command commit compare content correlation
costUsd cut-off default deferred denial denied description design destructiveHint deterministic discovery dispatched
dispatchers distractor distractors drifted edited evidence execute executed execution expected
expectedTools experiment exposure exposures failOn failure families figure finishedAt firstRequestBytes format
found-not-chosen furtherFaults harness hidden idempotentHint improve inconclusive inputSchema inputTokens instructions
integer invented isError isMore isPlacebo isolate judging leftOut likely listChange loaded malformed-arguments margin
maxTurns maximum mergedFrom message mimeType minimum missing models neighbor nightly nights no-call
not-found not-gradable not-searched number object omitted openWorldHint orderSeed origin others outcome outputSchema
outputTokens over-triggered ownName ownOrders parameter parameters paraphrases partial passRate passed pattern picked
placebo properties queries ranker read-only readOnlyHint reason reasons redacted refused regressed released removed
renamed repliedBy requestId requests required resent reservedUsd responseId result right-tool screen search searches
selection server servers settings several-calls shownAs skills skipped startedAt static status string
structuredContent submissions substituted suites surface surfaces timeout toolErrors toolset toolsets totals trials
unchanged unchecked unknown unknown-tool unlisted unmatched unreviewed unwanted userTurn variants verdict wanted
wordings wrong-arguments wrong-result wrong-tool wrong-type wrong-value
`;

type Env = Readonly<Record<string, string | undefined>>;

/** Shorter values, and numbers shorter than `shortestNumber`, are not redacted. */
const shortest = 6;
const shortestNumber = 12;

/**
 * The secrets of a process, by its environment: initially the variables that are named like secrets, and those with
 * credentials in URLs and headers. Code that reads another one, such as a header of a server, adds it. The record and
 * the streams are redacted with it.
 */
export const knownSecrets = once((env: Env) => {
  const secrets = createSecrets();
  for (const [name, value = ""] of Object.entries(env)) secrets.addVariable(name, value);
  return secrets;
});

const fold = (text: string) => foldEscapes(text, { spaces: true }).text;

/** Values that must not be written or printed, with their replacements. */
export function createSecrets() {
  const values = new Map<string, string>();
  let finder: ReturnType<typeof createSecretFinder> | undefined;
  const find = (text: string) => {
    if (values.size === 0) return [];
    finder ??= createSecretFinder([...values.keys()]);
    return finder(text);
  };
  let names: string[] | undefined;
  /** The name of a variable can be the value of another one. */
  const nameOf = (at: number) => {
    names ??= [...values.values()].map((name) => (find(name).length > 0 ? "" : name));
    return names[at] ?? "";
  };
  const mark = (name: string) => (name === "" ? "[redacted]" : `[redacted: ${name}]`);
  const replace = (text: string, substitute: (name: string, form: string) => string): string => {
    let result = "";
    let done = 0;
    for (const { from, to, at } of find(text)) {
      result += text.slice(done, from) + substitute(nameOf(at), text.slice(from, to));
      done = to;
    }
    return result + text.slice(done);
  };
  const hide = (text: string) => replace(text, mark);
  const secrets = {
    /** Adds a value under the name that replaces it, and its parts, unless it is so short that it hides words. */
    add(name: string, given: string): void {
      // A backslash at the end could be the one that escapes what follows in JSON.
      const value = given.trim().replace(/(?<!\\)\\+$/, "");
      const folded = fold(value);
      if (folded.length < (/^\d+$/.test(value) ? shortestNumber : shortest) || values.has(value)) return;
      if (recordWords.includes(value) || fold("[redacted: ").includes(folded) || isReference(value)) return;
      // The name is a part of texts in JSON.
      values.set(value, name.replace(/["\\\p{Cc}]/gu, "_"));
      finder = undefined;
      names = undefined;
      for (const part of listParts(value)) secrets.add(name, part);
    },
    /** Adds the credentials of a URL: password, user, parameters and parts of its path that are no plain words. */
    addUrl(name: string, text: string): void {
      const { user, password, path, parameters } = readUrl(text);
      for (const part of [password, ...(looksRandom(user) ? [user] : [])]) {
        secrets.add(name, part);
        secrets.add(name, decodePercent(part));
      }
      for (const part of path.split("/")) if (part.length >= shortestPart && looksRandom(part)) secrets.add(name, part);
      for (const [key, value] of parameters) if (isSecretName(key) || looksRandom(value)) secrets.add(name, value);
    },
    /** Adds a value that is named like a secret, or what is secret in it; of a server's, all that looks random. */
    addVariable(name: string, value: string, { isServer = false } = {}): void {
      const isUrl = /^[a-z][a-z\d+.-]*:\/\//i.test(value);
      if (!isUrl && (isSecretName(name) || (isServer && looksSecret(value) && looksRandom(value))))
        secrets.add(name, value);
      else secrets.addText(name, value);
    },
    /** Adds what is secret in a text by its form: credentials of URLs, members of JSON, `name: value`, `name=value`. */
    addText(name: string, text: string): void {
      if (text.length > longestText) return;
      for (const [url] of text.matchAll(address)) secrets.addUrl(name, url);
      for (const { key, text: value } of readMembers(text) ?? []) {
        if (isSecretName(key)) secrets.add(key, value);
        else secrets.addText(name, value);
      }
      for (const [, own = "", scheme = "", value = ""] of text.matchAll(pair))
        if (isSecretName(own) && looksSecret(value)) secrets.add(own, scheme + value);
    },
    /** Adds what is secret in a command line: as in texts, flags and headers named like secrets, and tokens. */
    addArguments(words: readonly string[]): void {
      for (const [at, word] of words.entries()) {
        secrets.addText("argument", word);
        const flag = /^--?([\w-]+)$/.exec(words[at - 1] ?? "")?.[1];
        const header = /^([\w-]+):\s*(.+)$/s.exec(word);
        if (flag !== undefined && isSecretName(flag) && looksSecret(word)) secrets.add(flag, word);
        else if (header?.[1] && header[2] && /^(?:header|H)$/.test(flag ?? ""))
          secrets.addHeaders({ [header[1]]: header[2] });
        else if (!/[/\\]/.test(word) && looksRandom(word))
          secrets.add(flag ?? "argument", word.replace(/^--?[\w-]+=/, ""));
      }
    },
    /** Adds what is secret in this program's own command line: as in texts, and in the command lines in it. */
    addCommandLine(words: readonly string[]): void {
      for (const word of words) {
        secrets.addText("argument", word);
        if (/\s/.test(word)) secrets.addArguments(word.split(/\s+/));
      }
    },
    /** Adds the headers of requests, except those that say nothing. */
    addHeaders(headers: Readonly<Record<string, string>>): void {
      for (const [name, value] of Object.entries(headers)) {
        // Without the scheme: `Bearer <token>`.
        const bare = value.slice(value.indexOf(" ") + 1);
        // Most names of headers are made up, so their values decide.
        const isSecret = isSecretName(name) || (!harmlessHeader.test(name) && looksSecret(bare));
        for (const one of isSecret ? [value, bare] : []) secrets.add(name, one);
      }
    },
    /**
     * The text with every known value as `[redacted: <name>]`: plain, in base64, in hexadecimal, in any combination of
     * escapes of `foldEscapes`, also cut or broken. JSON and its parts stay JSON.
     */
    redact(text: string): string {
      const hidden = hide(text);
      return hidden === text ? text : (replaceInJson(text, hide) ?? hidden);
    },
    /** The text with every known value, in each of these forms, replaced by what `substitute` returns. */
    replace,
  };
  return secrets;
}

/** Headers whose values are those of other requests, too. */
const harmlessHeader =
  /^(?:accept|content|user-agent|origin|referer|host|cache-control|connection|mcp-(?:protocol-version|session-id)$|x-requested-with)/i;

/** A part of the path of a URL. */
const shortestPart = 16;

/** A longer text, such as a file in a variable, is not searched for credentials. */
const longestText = 64 * 1024;

const address = /[a-z][a-z\d+.-]{0,30}:\/{1,2}[^\s"'<>]+/gi;
const pair = /([\w-]{1,60})\s{0,8}[=:]\s{0,8}((?:bearer|basic|token)\s{1,8})?([^\s,;&"'{}]+)/gi;

type UrlParts = { user: string; password: string; path: string; parameters: readonly (readonly [string, string])[] };

function readUrl(text: string): UrlParts {
  if (URL.canParse(text)) {
    const { username: user, password, pathname: path, searchParams, hash } = new URL(text);
    return { user, password, path, parameters: [...searchParams, ...new URLSearchParams(hash.slice(1))] };
  }
  // A list of hosts, as MongoDB has it, or a password that is not encoded.
  const [, user = "", password = ""] = /^[a-z][a-z\d+.-]*:\/{1,2}([^:@\s]*):(.*)@/i.exec(text) ?? [];
  return { user, password, path: "", parameters: [] };
}

/** Percent-decodes a text; returns it unchanged if it is malformed. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const token = /"((?:[^"\\]|\\.)*)"|[^\s{}[\],:]+/g;
const literal = /^(?:-?\d[\d.eE+-]*|true|false|null)$/;

/** Replaces in the texts of JSON, or of a part of it, so that it stays JSON. Undefined if the text is not JSON. */
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

/** Whether a value has a secret of a process in it, so that it may not be written to a file. */
export const holdsSecret = (value: unknown, io: { env: Env }) => redactValue(value, io) !== value;

/** Shorter forms in base64 are those of other texts, too. */
const shortestForm = 6;

/** What a cut can leave of an escape after its mark. */
const restOfEscape = /^[\\\w%;{}\udc00-\udfff]{0,8}/;

/**
 * Returns a function that finds these values in a text, in order: plain, in base64, in hexadecimal, in any combination
 * of the escapes of `foldEscapes`; their start before the mark of a cut, their end after it, and what a line break
 * parts. `at` is the number of the value. Takes time in proportion to the text, however many values there are.
 */
function createSecretFinder(values: readonly string[]): (text: string) => Found[] {
  const spaces = values.some((value) => /\s/.test(value));
  const forms = values.flatMap((value, at) => {
    const folded = listForms(value).map((form) => foldEscapes(form, { spaces }).text);
    return [...new Set([value, ...folded])].filter((text) => text.length >= fewest).map((text) => ({ text, at }));
  });
  const reach = Math.max(...forms.map(({ text }) => text.length));
  const finder = createFinder(forms);
  let reversed: Finder | undefined;
  const findEnds = (text: string) => {
    reversed ??= createFinder(forms.map(({ text: form, at }) => ({ text: reverse(form), at })));
    return findAfterMarks(text, reversed, reach);
  };
  /** White space inside of a value that has none is a line break, and never a space between words. */
  const isWhole = (text: string, { from, to, at }: Found) =>
    !spaces || /\s/.test(values[at] ?? "") || !/[^\S\n]/.test(text.slice(from, to).replace(/\s*\n[\s│|]*/g, ""));
  return (text) => {
    const folded = foldEscapes(text, { spaces });
    const inside = mergeFound([...finder(folded.text, isMark), ...findEnds(folded.text)]);
    const ranges = folded.findSource(inside);
    const found = ranges.map((range, index) => ({ ...range, at: inside[index]?.at ?? 0 }));
    // What is before a value can look like an escape of its first characters.
    const plain = folded.text === text ? [] : finder(text);
    return mergeFound([...found, ...plain].filter((one) => isWhole(text, one)).map((one) => withEscape(text, one)));
  };
}

/** The part with the backslash that escapes its first character, without which JSON would not stay JSON. */
function withEscape(text: string, found: Found): Found {
  let from = found.from;
  while (text[from - 1] === "\\") from--;
  return { ...found, from: found.from - ((found.from - from) % 2) };
}

function mergeFound(all: Found[]): Found[] {
  const merged: Found[] = [];
  for (const one of all.sort((a, b) => a.to - b.to)) addFound(merged, one);
  return merged;
}

/** The forms of a value that are no escapes: as bytes are written, and as names are made of a text. */
function listForms(value: string): string[] {
  // Buffer replaces lone surrogates, which cannot be encoded.
  const bytes = Buffer.from(value);
  const hex = bytes.toString("hex");
  const slug = value.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");
  return [value, slug, hex, hex.toUpperCase(), ...listBase64(bytes)];
}

/** Base64 and base64url at the three alignments of a value in a longer text, without the signs at its edges. */
function listBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const skipped = [0, 2, 3][before] ?? 0;
    const last = (before + bytes.length) % 3 === 0 ? 0 : 1;
    const form = encoded.slice(skipped, encoded.length - last);
    return form.length < shortestForm ? [] : [form, form.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

const isMark = (text: string, at: number) => text[at] === "…" || text.startsWith("...", at);

const reverse = (text: string) => text.split("").reverse().join("");

/** What is left of a value after the mark of a cut and the rest of an escape. `reversed` looks backwards. */
function findAfterMarks(text: string, reversed: Finder, reach: number): Found[] {
  const marks = [...text.matchAll(/…|\.{3,}/g)];
  return marks.flatMap(({ index, 0: mark }, number) => {
    const from = index + mark.length;
    const to = Math.min(from + reach, marks[number + 1]?.index ?? text.length);
    const [rest = ""] = restOfEscape.exec(text.slice(from, from + 8)) ?? [];
    // The text stops behind the mark, as one that is read backwards does before it.
    const backwards = `${reverse(text.slice(from, to))}\0`;
    const begun = reversed(backwards, (_, at) => at >= backwards.length - 1 - rest.length).at(-1);
    return begun ? [{ from: to - begun.to, to: to - begun.from, at: begun.at }] : [];
  });
}
