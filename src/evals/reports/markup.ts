import { plain } from "./untrusted.ts";

/** A piece of HTML or XML that is already safe. Everything else is text and gets escaped. */
export class Markup {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

type Part = string | number | Markup | readonly Markup[];

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/**
 * The tag for HTML and XML: what is interpolated is text, made visible and escaped, unless it is `Markup`. Safe between
 * tags and inside quoted attributes.
 */
export function markup(pieces: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(pieces.map((piece, at) => (at === 0 ? piece : safe(parts[at - 1] ?? "") + piece)).join(""));
}

/** Text whose line breaks are kept. */
export function multiline(text: string): Markup {
  return new Markup(text.split(/\r?\n/).map(safe).join("\n"));
}

/** The pieces, or nothing, for a part that is there only where `when` holds. */
export function only(when: boolean, part: () => Markup): Markup {
  return when ? part() : new Markup("");
}

function safe(part: Part): string {
  if (part instanceof Markup) return part.source;
  if (typeof part === "object") return part.map(safe).join("");
  return plain(String(part)).replace(/[&<>"']/g, (sign) => entities[sign] ?? sign);
}
