// How text fills columns on a screen.

const zeroWidth = /\p{M}/u;
const doubleWidth =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;

/** The columns that a text of visible signs takes: marks none, East Asian wide signs and emoji two. */
export function columns(text: string): number {
  let width = 0;
  for (const sign of text) width += signWidth(sign);
  return width;
}

/** The text, shortened to `width` columns with `ellipsis` at its end where it is longer. */
export function cut(text: string, width: number, ellipsis: string): string {
  if (columns(text) <= width) return text;
  return head(text, Math.max(0, width - columns(ellipsis))) + ellipsis.slice(0, width);
}

/** The text in lines of at most `width` columns, broken at spaces, inside a word only where the word is longer. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && columns(line) + 1 + columns(word) <= width) {
      line += ` ${word}`;
      continue;
    }
    if (line !== "") lines.push(line);
    line = word;
    while (columns(line) > width) {
      const first = head(line, width) || line;
      lines.push(first);
      line = line.slice(first.length);
    }
  }
  return [...lines, line];
}

/** Column widths that fit into `total`: the widest gives way first, none below `least` unless all are. */
export function narrowed(natural: readonly number[], total: number, least: number): number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, width) => sum + width, 0) - total;
  for (; excess > 0; excess -= 1) {
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
  for (const sign of text) {
    left -= signWidth(sign);
    if (left < 0) break;
    taken += sign;
  }
  return taken;
}

function signWidth(sign: string): number {
  if (sign <= "~") return 1;
  if (zeroWidth.test(sign)) return 0;
  return doubleWidth.test(sign) ? 2 : 1;
}
