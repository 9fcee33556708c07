import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

/** A fenced block. `file` is the path that its info string names, `notes` the HTML comments directly above it. */
export type Block = { line: number; lang: string; file?: string; text: string; notes: readonly string[] };

/** A Markdown page: its links, the anchors of its headings, its blocks, and the HTML comments outside of blocks. */
export type Page = {
  path: string;
  text: string;
  anchors: ReadonlySet<string>;
  links: readonly { line: number; target: string }[];
  blocks: readonly Block[];
  comments: readonly { line: number; text: string }[];
};

/** Generated from the rules, whose examples have tests of their own. */
export const generatedPage = "docs/lint-rules.md";

/** Every page that users and contributors read, by its path from the root of the repository. */
export const pagePaths: readonly string[] = [
  ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md"],
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `docs/${name}`),
];

export function readPage(path: string): Page {
  const text = readFileSync(join(root, path), "utf8");
  const blocks: Block[] = [];
  const links: { line: number; target: string }[] = [];
  const anchors = new Set<string>();
  const comments: { line: number; text: string }[] = [];
  let open: { fence: string; info: string; line: number; body: string[] } | undefined;
  let notes: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (open) {
      if (line !== open.fence) {
        open.body.push(line);
        continue;
      }
      const [lang = "", file] = open.info.split(" ");
      blocks.push({ line: open.line, lang, ...(file && { file }), text: open.body.join("\n"), notes });
      open = undefined;
      notes = [];
      continue;
    }
    const fence = /^(`{3,})(.*)$/.exec(line);
    if (fence) {
      open = { fence: fence[1] ?? "", info: fence[2] ?? "", line: index + 1, body: [] };
      continue;
    }
    const comment = /^<!-- (.*) -->$/.exec(line)?.[1];
    if (comment !== undefined) {
      comments.push({ line: index + 1, text: comment });
      notes.push(comment);
    } else if (line !== "") notes = [];
    const heading = /^#+ (.*)$/.exec(line)?.[1];
    if (heading !== undefined) anchors.add(anchorFor(heading, anchors));
    for (const [, target = ""] of line.replaceAll(/`[^`]*`/g, "").matchAll(/\]\(([^)\s]+)\)/g))
      links.push({ line: index + 1, target });
  }
  return { path, text, anchors, links, blocks, comments };
}

/** The anchor that GitHub gives a heading. */
function anchorFor(heading: string, taken: ReadonlySet<string>): string {
  const slug = heading
    .toLowerCase()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
  for (let n = 0; ; n++) {
    const candidate = n === 0 ? slug : `${slug}-${n}`;
    if (!taken.has(candidate)) return candidate;
  }
}
