import { Composer, type CST, isMap, isScalar, LineCounter, Parser } from "yaml";
import { messageOf } from "../errors.ts";
import type { JsonObject } from "../types/json.ts";

/** Far above any real front matter; below it every reader here stays fast. */
const maxChars = 64 * 1024;
/** Deeper than any front matter, and shallow enough for what recurses over it. */
const maxDepth = 32;

type Places = Record<string, { line: number; column: number }>;

/**
 * The front matter of a `SKILL.md`, taken apart. `quoted` names the keys whose values had to be put in quotes to be read.
 * Lines count from 1 in the file.
 */
export type FrontMatter = {
  values: JsonObject;
  places: Places;
  quoted: readonly string[];
  body: string;
  bodyLine: number;
};

/** Why a `SKILL.md` cannot be loaded. */
export type Reason = { reason: string; line?: number };

const delimited = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/;

/**
 * Splits the text of a `SKILL.md` (line breaks: `\n`) and reads its front matter. Lenient as hosts are: what is no YAML
 * only because a plain value holds ": " is read as if that value stood in quotes.
 */
export function readFrontMatter(text: string): FrontMatter | Reason {
  if (!/^---[ \t]*(?:\n|$)/.test(text)) return { reason: 'it has no front matter: line 1 is not "---"', line: 1 };
  const found = delimited.exec(text);
  if (!found) return { reason: 'its front matter has no end: no second line is "---"', line: 1 };
  const [whole, yaml = ""] = found;
  if (yaml.length > maxChars) return { reason: "its front matter is longer than 64 KiB", line: 1 };
  const rest = { body: text.slice(whole.length), bodyLine: whole.split("\n").length };
  const read = readYaml(yaml);
  if (!("reason" in read)) return { ...read, ...rest, quoted: [] };
  const mended = quoteColons(yaml);
  const again = mended.quoted.length > 0 ? readYaml(mended.yaml) : read;
  return "reason" in again ? read : { ...again, ...rest, quoted: mended.quoted };
}

function readYaml(yaml: string): Pick<FrontMatter, "values" | "places"> | Reason {
  const lines = new LineCounter();
  // The file has one line before the YAML.
  const placeOf = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: line + 1, column: col };
  };
  const tokens = [...new Parser(lines.addNewLine).parse(yaml)];
  // Looked for before composing: the composer recurses, and an overflow there can abort the whole process.
  if (isDeep(tokens)) return { reason: `its front matter is nested more than ${maxDepth} levels deep`, line: 2 };
  // The composer's own search for equal keys is quadratic.
  const options = { prettyErrors: false, uniqueKeys: false, logLevel: "error" } as const;
  const [document, second] = [...new Composer(options).compose(tokens, true, yaml.length)];
  if (second) return { reason: "its front matter holds several YAML documents", line: 2 };
  const [error] = document?.errors ?? [];
  if (error)
    return { reason: `its front matter is not valid YAML: ${error.message}`, line: placeOf(error.pos[0]).line };
  const map = document?.contents;
  if (!map) return { values: {}, places: {} };
  if (!isMap(map)) return { reason: "its front matter is no list of `key: value`", line: 2 };
  const keys = map.items.flatMap(({ key }) => (isScalar(key) ? [{ key: String(key.value), at: key.range?.[0] }] : []));
  const places = new Map<string, { line: number; column: number }>();
  for (const { key, at } of keys) {
    const place = placeOf(at ?? 0);
    if (places.has(key)) return { reason: `its front matter gives \`${key}\` twice`, line: place.line };
    places.set(key, place);
  }
  try {
    return { values: JSON.parse(JSON.stringify(document.toJS())) as JsonObject, places: Object.fromEntries(places) };
  } catch (error) {
    return { reason: `its front matter is not plain data: ${messageOf(error)}`, line: 2 };
  }
}

function isDeep(tokens: readonly CST.Token[]): boolean {
  let level = tokens;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true;
    level = level.flatMap(innerTokens);
  }
  return false;
}

function innerTokens(token: CST.Token): CST.Token[] {
  if (token.type === "document") return token.value ? [token.value] : [];
  if (!("items" in token)) return [];
  return token.items.flatMap(({ key, value }) => [...(key ? [key] : []), ...(value ? [value] : [])]);
}

/** A key at the margin with the start of a plain value beside it. */
const plainEntry = /^([A-Za-z][\w-]*:[ \t]+)([^\s"'[{|>&*!#%@`].*)$/;

/** Puts every plain value at the margin that holds ": " (or ends in ":") in quotes, with the lines that continue it. */
function quoteColons(yaml: string): { yaml: string; quoted: string[] } {
  const lines = yaml.split("\n");
  const quoted: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const [, key = "", first] = plainEntry.exec(lines[at] ?? "") ?? [];
    if (first === undefined) continue;
    let end = at + 1;
    while (/^[ \t]/.test(lines[end] ?? "")) end++;
    const value = [first, ...lines.slice(at + 1, end)].join("\n").trimEnd();
    if (!/:(?:\s|$)/.test(value)) continue;
    lines.splice(at, end - at, ...`${key}"${value.replace(/[\\"]/g, "\\$&")}"`.split("\n"));
    quoted.push(key.slice(0, key.indexOf(":")));
  }
  return { yaml: lines.join("\n"), quoted };
}
