// How text is shown: as visible characters, in columns. Imports nothing: it is loaded with every command, even
// `--version`.

/** Invisible characters, and the first one of `##vso[`, `##[error]` and the like, which CI systems obey. */
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

/** Quotes a text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const zeroWidth = /\p{M}/u;
const doubleWidth =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;

/** The width of a text in columns: combining marks have none, East Asian wide characters and emoji two. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** Shortens a longer text to `width` columns, with `ellipsis` at its end. */
export function cut(text: string, width: number, ellipsis: string): string {
  if (displayWidth(text) <= width) return text;
  return head(text, Math.max(0, width - displayWidth(ellipsis))) + ellipsis.slice(0, width);
}

/** Shows names in `width` columns: cut in the middle, or where those that would look the same first differ. */
export function cutNames(names: Iterable<string>, width: number, ellipsis: string): Map<string, string> {
  const all = [...new Set(names)];
  const shown = new Map(all.map((name) => [name, cutMiddle(name, width, ellipsis)]));
  const separate = (among: readonly string[], known: number) => {
    for (const look of new Set(among.map((name) => shown.get(name)))) {
      const alike = among.filter((name) => shown.get(name) === look);
      const common = countCommon(alike);
      if (alike.length === 1 || common <= known) continue;
      for (const name of alike) shown.set(name, cutBefore(name, common, width, ellipsis));
      separate(alike, common);
    }
  };
  separate(all, -1);
  return shown;
}

/** The length of the longest common prefix. */
function countCommon([first = "", ...others]: readonly string[]): number {
  const [characters, among] = [[...first], others.map((name) => [...name])];
  const differs = characters.findIndex((character, at) => among.some((other) => other[at] !== character));
  return differs === -1 ? characters.length : differs;
}

/** Keeps the start of a name, and as much as fits from character `from` on. */
function cutBefore(name: string, from: number, width: number, ellipsis: string): string {
  const rest = [...name].slice(from).join("");
  const room = width - displayWidth(ellipsis);
  const begin = head(name, Math.max(Math.floor(room / 4), room - displayWidth(rest)));
  return begin + ellipsis + cut(rest, room - displayWidth(begin), ellipsis);
}

function cutMiddle(text: string, width: number, ellipsis: string): string {
  const room = width - displayWidth(ellipsis);
  if (displayWidth(text) <= width || room < 4) return cut(text, width, ellipsis);
  const end = [...head([...text].reverse().join(""), Math.floor(room / 2))].reverse().join("");
  return head(text, room - displayWidth(end)) + ellipsis + end;
}

/** Stands for a space that must not become a line break. */
export const glue = "\ue000";

/** Breaks a text into lines of at most `width` columns; words that are joined by `glue` stay in one line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && displayWidth(line) + 1 + displayWidth(word) <= width) {
      line += ` ${word}`;
      continue;
    }
    if (line !== "") lines.push(line);
    line = word;
    if (word.includes(glue)) continue;
    for (let first = head(line, width) || line; first.length < line.length; first = head(line, width) || line) {
      lines.push(first);
      line = line.slice(first.length);
    }
  }
  return [...lines, line];
}

/** Breaks a name into lines of at most `width` columns, behind `-`, `_`, `.` or `/` in the second half of a line. */
export function wrapName(name: string, width: number): string[] {
  const lines: string[] = [];
  let rest = name;
  for (let most = head(rest, width) || rest; most.length < rest.length; most = head(rest, width) || rest) {
    const end = Math.max(...["-", "_", ".", "/"].map((separator) => most.lastIndexOf(separator))) + 1;
    const line = end > most.length / 2 ? most.slice(0, end) : most;
    lines.push(line);
    rest = rest.slice(line.length);
  }
  return [...lines, rest];
}

/** Column widths that fit into `total`. The widest column is narrowed first, and none below `least`. */
export function narrowColumns(natural: readonly number[], total: number, least: number): number[] {
  const widths = [...natural];
  for (let excess = widths.reduce((sum, width) => sum + width, 0) - total; excess > 0; excess -= 1) {
    const widest = widths.indexOf(Math.max(...widths));
    const width = widths[widest];
    if (width === undefined || width <= least) break;
    widths[widest] = width - 1;
  }
  return widths;
}

function head(text: string, width: number): string {
  let taken = "";
  let left = width;
  for (const character of text) {
    left -= characterWidth(character);
    if (left < 0) break;
    taken += character;
  }
  return taken;
}

function characterWidth(character: string): number {
  if (character <= "~") return 1;
  if (zeroWidth.test(character)) return 0;
  return doubleWidth.test(character) ? 2 : 1;
}

/** Names this program in commands in backticks as the user started it, for example `npx evals`. */
export const nameCommands = (text: string, program = "evals") => text.replaceAll("`evals ", `\`${program} `);

/** A command in backticks can be copied only from one line. */
export const joinCommands = (text: string) => text.replace(/`[^`]+`/g, (part) => part.replaceAll(" ", glue));

/** Wraps the lines of a message, continued ones indented by two columns; excerpts (`12 | text`) stay as they are. */
export function wrapMessage(text: string, width: number): string {
  return joinCommands(text)
    .split("\n")
    .flatMap((line) => {
      const isFixed = line.length <= width || /^ *\d* \| /.test(line) || line.includes("\x1b");
      if (isFixed) return [line];
      const indent = /^ */.exec(line)?.[0] ?? "";
      const [first = "", ...rest] = wrap(line.slice(indent.length), width - indent.length);
      const below = wrap(rest.join(" "), width - indent.length - 2);
      return [indent + first, ...(rest.length > 0 ? below : []).map((one) => `${indent}  ${one}`)];
    })
    .join("\n")
    .replaceAll(glue, " ");
}
