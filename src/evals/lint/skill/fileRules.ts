import type { Path, Rule, SkillSubject } from "../rule.ts";
import { injectionPatterns } from "../schema/injection.ts";
import { codeName, hiddenIn, hiddenRanges, maxSearched, quote } from "../schema/text.ts";

type SkillRule = Rule<SkillSubject>;

const missing: SkillRule = {
  id: "skill-reference-missing",
  severity: "error",
  why: "A model that follows a reference to nothing makes up what the file would have said.",
  docs: "https://agentskills.io/specification#file-references",
  clauses: ["a file that is referred to is in the package", "no reference leads out of the package"],
  *check({ package: { document }, files }) {
    const paths = new Set(files.keys());
    for (const path of files.keys())
      for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1))
        paths.add(path.slice(0, end));
    for (const reference of document.references) {
      const path = isFile(reference) ? normal(reference.target) : undefined;
      if (path === undefined || paths.has(path)) continue;
      const outside = /^(?:\.\.(?:\/|$)|\/|~|[A-Za-z]:)/.test(path);
      const at = ["line", reference.line];
      const target = quote(reference.target);
      yield outside
        ? { at, message: `The reference ${target} leads out of the package.`, fix: "Put the file into the package." }
        : { at, message: `The reference ${target} leads to no file of the package.`, fix: "Add it, or mend the path." };
    }
  },
};

const endings = /\.(?:md|mdx|txt|json|ya?ml|toml|csv|tsv|xml|html?|css|pdf|py|sh|js|mjs|ts|sql|png|jpe?g|svg)$/i;

/**
 * Whether a reference means a file: a link does unless it is a URL or a placeholder; a bare word in a list of references
 * only if it looks like a path.
 */
function isFile({ text, target }: { text: string; target: string }): boolean {
  if (target === "" || /^(?:#|[a-z][a-z0-9+.-]+:|\/\/)/i.test(target) || /[*{}<>$]|\.\.\./.test(target)) return false;
  if (!text.includes(target)) return true;
  return endings.test(target.replace(/[?#].*$/, "")) && (target.includes("/") || !/\.js$/i.test(target));
}

/** A target as a path from the folder of the package, without what stands behind # or ?. */
function normal(target: string): string {
  const path = decoded(target.replace(/[?#].*$/, ""));
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (part !== "." && (part !== "" || parts.length === 0)) parts.push(part);
  }
  return parts.join("/");
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const hidden: SkillRule = {
  id: "skill-hidden-unicode",
  severity: "error",
  why: "A model reads characters that no reviewer sees: this is how instructions are smuggled into a skill.",
  docs: "https://www.unicode.org/reports/tr36/",
  clauses: [...new Set(hiddenRanges.map(({ what }) => `no ${what}`))],
  *check(subject) {
    for (const { path, text } of readByModel(subject)) {
      let left = mostLines;
      const lines = text.replace(/^\ufeff/, "").split("\n");
      for (const [index, line] of lines.entries()) {
        const [first] = hiddenIn(line.endsWith("\r") ? line.slice(0, -1) : line);
        if (!first || left-- <= 0) continue;
        const what = hiddenRanges.find(({ from, to }) => first.code >= from && first.code <= to)?.what ?? "characters";
        const message = `The text holds hidden characters (${what}): ${codeName(first.code)}.`;
        yield { at: placeOf(path, index), message, fix: "Remove them, and find out how they came in." };
      }
    }
  },
};

const injection: SkillRule = {
  id: "skill-injection-wording",
  severity: "warning",
  why: "A skill that gives orders against its user is how skill poisoning looks; hosts and scanners block it.",
  docs: "https://owasp.org/www-project-mcp-top-10/",
  clauses: injectionPatterns.map(({ clause }) => clause),
  *check(subject) {
    for (const { path, text } of readByModel(subject)) {
      // One sign for one, so that an index is still that of the text.
      const plain = text.replace(/\s/g, " ");
      for (const { sees, does } of injectionPatterns) {
        const seen = sees.exec(plain);
        if (!seen) continue;
        const message = `The text ${does}: ${quote(seen[0])}.`;
        const line = text.slice(0, seen.index).split("\n").length - 1;
        yield { at: placeOf(path, line), message, fix: "Say what to do for the user's task." };
      }
    }
  },
};

const mostLines = 100;

/** The texts of a package that reach a model as they are: what is markdown. */
function* readByModel({ files }: SkillSubject): Iterable<{ path: string; text: string }> {
  let left = maxSearched;
  for (const [path, text] of files) {
    if (text === undefined || left <= 0 || !/\.mdx?$/i.test(path)) continue;
    yield { path, text: text.slice(0, left) };
    left -= text.length;
  }
}

/** `line` counts from 0. */
function placeOf(path: string, line: number): Path {
  return path === "SKILL.md" ? ["line", line + 1] : ["file", path];
}

/** The files of a package, and what is written in them. */
export const fileRules: readonly SkillRule[] = [missing, hidden, injection];
