/** An element of a parsed document; `text` is its own text with entities read. */
export type Element = { tag: string; attributes: Record<string, string>; children: Element[]; text: string };

const voids = new Set(["meta", "br", "hr", "link", "img", "input"]);
const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"' };

/**
 * A strict parser for the markup of reports: XML, and HTML with its void elements. Throws if it is not well formed: a bare
 * `<`, `&` or `>`, an unquoted or duplicate attribute, an unclosed tag, a control character.
 */
export function parse(source: string): Element {
  if (/[^\P{Cc}\n]|[\p{Cs}\ufffe\uffff]/u.test(source)) throw new Error("a character that XML forbids");
  const root: Element = { tag: "", attributes: {}, children: [], text: "" };
  const open = [root];
  const body = source.replace(/^<\?xml[^>]*\?>\n|^<!doctype html>\n/, "");
  // The style element holds raw text in HTML.
  const tokens = body.match(/<style>[^<]*<\/style>|<[^<>]*>|[^<>]+|[<>]/g) ?? [];
  for (const token of tokens) {
    const top = open.at(-1) ?? root;
    if (token.startsWith("<style>")) continue;
    if (token.startsWith("</")) {
      if (token !== `</${top.tag}>`) throw new Error(`${token} closes <${top.tag}>`);
      open.pop();
    } else if (token.startsWith("<")) {
      const element = elementOf(token);
      top.children.push(element);
      if (!token.endsWith("/>") && !voids.has(element.tag)) open.push(element);
    } else top.text += unescaped(token);
  }
  if (open.length !== 1) throw new Error(`<${open.at(-1)?.tag}> is not closed`);
  return root;
}

function elementOf(token: string): Element {
  const match = /^<([a-z][a-z0-9-]*)((?: [\w-]+="[^"<>]*")*)\/?>$/i.exec(token);
  if (!match) throw new Error(`not a tag: ${token}`);
  const attributes: Record<string, string> = {};
  for (const [, name = "", value = ""] of (match[2] ?? "").matchAll(/ ([\w-]+)="([^"]*)"/g)) {
    if (name in attributes) throw new Error(`${name} is given twice in ${token}`);
    attributes[name] = unescaped(value);
  }
  return { tag: match[1] ?? "", attributes, children: [], text: "" };
}

function unescaped(text: string): string {
  if (text.includes(">") || text.includes("<")) throw new Error(`bare bracket in ${text}`);
  return text.replace(/&([^;]*);?/g, (whole, name: string) => {
    const code = /^#(\d+)$/.exec(name)?.[1];
    const sign = !whole.endsWith(";") ? undefined : code ? String.fromCodePoint(Number(code)) : entities[name];
    if (sign === undefined) throw new Error(`not an entity: ${whole}`);
    return sign;
  });
}

/** All elements of that tag, in the order of the document. */
export function all(element: Element, tag: string): Element[] {
  return element.children.flatMap((child) => [...(child.tag === tag ? [child] : []), ...all(child, tag)]);
}
