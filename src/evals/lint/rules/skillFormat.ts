import type { Path } from "../../jsonSchema/paths.ts";
import { isJsonObject, type Json } from "../../types/json.ts";
import { findHidden, hiddenRanges, quote, showValue, showValues } from "../../types/quote.ts";
import type { Rule, SkillSubject, Violation } from "../rule.ts";
import { injectionPatterns, maxSearched } from "../text.ts";

type SkillRule = Rule<SkillSubject>;

const format = "https://agentskills.io/specification";
const known = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
const longest = { name: 64, description: 1024, compatibility: 500 } as const;

const nameRule: SkillRule = {
  id: "skill-name",
  severity: "error",
  why: "A host looks a skill up by its name, and passes over a package whose name it cannot take.",
  docs: `${format}#name-field`,
  clauses: [
    "there is a name, and it is a text",
    "1 to 64 characters",
    "only lower-case letters, digits and hyphens",
    "no hyphen at the start or the end",
    "no two hyphens in a row",
  ],
  *check(subject) {
    const { name } = subject.package.document.frontMatter;
    const wrong = name === undefined ? "The front matter has no name" : wrongName(name);
    if (wrong === undefined) return;
    const fix = "Take 1 to 64 lower-case letters and digits, with single hyphens between words.";
    yield { at: ["frontMatter", "name"], message: `${wrong}.`, fix };
  },
};

function wrongName(name: Json): string | undefined {
  if (typeof name !== "string") return `The name is ${showValue(name)}, not a text`;
  if (name === "") return "The name is empty";
  const named = `The name ${quote(name)}`;
  if (name.length > longest.name) return `${named} has ${name.length} characters; at most ${longest.name} are allowed`;
  const strange = [...new Set(name.replace(/[a-z0-9-]/g, ""))];
  if (strange.length > 0) return `${named} has characters that are not allowed: ${showValues(strange)}`;
  if (/^-|-$/.test(name)) return `${named} starts or ends with a hyphen`;
  return name.includes("--") ? `${named} has two hyphens in a row` : undefined;
}

const folderRule: SkillRule = {
  id: "skill-name-folder",
  severity: "error",
  why: "Some hosts go by the folder and some by the name: where they differ, a skill is loaded under either.",
  docs: `${format}#name-field`,
  clauses: ["the name is that of the folder"],
  *check({ package: { folder, document } }) {
    const { name } = document.frontMatter;
    if (typeof name !== "string" || name === folder) return;
    const message = `The name ${quote(name)} is not that of the folder, ${quote(folder)}.`;
    yield { at: ["frontMatter", "name"], message, fix: "Give both the same name." };
  },
};

const descriptionRule: SkillRule = {
  id: "skill-description-missing",
  severity: "error",
  why: "The description is all that a model sees before it loads a skill; without one it never does.",
  docs: `${format}#description-field`,
  clauses: ["there is a description", "it is a text", "it is not blank"],
  *check({ package: { document } }) {
    const { description } = document.frontMatter;
    if (typeof description === "string" && description.trim() !== "") return;
    const message =
      description === undefined
        ? "The front matter has no description."
        : `The description is ${showValue(description)}.`;
    const fix = "Say what the skill does, when to use it, and what it must not be used for.";
    yield { at: ["frontMatter", "description"], message, fix };
  },
};

const descriptionLengthRule: SkillRule = {
  id: "skill-description-length",
  severity: "error",
  why: "Hosts refuse or cut a description of more than 1,024 characters.",
  docs: `${format}#description-field`,
  clauses: ["at most 1,024 characters"],
  check: ({ package: { document } }) => tooLong(document.frontMatter.description, "description"),
};

const compatibilityRule: SkillRule = {
  id: "skill-compatibility-length",
  severity: "error",
  why: "Hosts that read it refuse a compatibility that is empty or has more than 500 characters.",
  docs: `${format}#compatibility-field`,
  clauses: ["a text that is not empty", "at most 500 characters"],
  *check({ package: { document } }) {
    const { compatibility } = document.frontMatter;
    if (compatibility === undefined) return;
    if (typeof compatibility === "string" && compatibility.trim() !== "") {
      yield* tooLong(compatibility, "compatibility");
      return;
    }
    const message = `The compatibility is ${showValue(compatibility)}.`;
    yield { at: ["frontMatter", "compatibility"], message, fix: "Say what the skill needs, or leave it out." };
  },
};

function* tooLong(value: Json | undefined, key: "description" | "compatibility"): Iterable<Violation> {
  const most = longest[key];
  const length = typeof value === "string" ? [...value.slice(0, 100_000)].length : 0;
  if (length <= most) return;
  const message = `The ${key} has ${length} characters; at most ${most} are allowed.`;
  yield { at: ["frontMatter", key], message, fix: "Shorten it, and move details into the body." };
}

const keyTypeRule: SkillRule = {
  id: "skill-key-type",
  severity: "warning",
  why: "A host that expects another type in the front matter passes over the key, or over the whole skill.",
  docs: `${format}#frontmatter`,
  clauses: ["license is a text", "metadata is a map of texts", "allowed-tools is a text or a list of texts"],
  *check({ package: { document } }) {
    const { license, metadata, "allowed-tools": tools } = document.frontMatter;
    const wrong = (key: string, message: string, fix: string): Violation => ({
      at: ["frontMatter", key],
      message,
      fix,
    });
    if (license !== undefined && typeof license !== "string")
      yield wrong("license", `The license is ${showValue(license)}.`, "Name the license, or the file that holds it.");
    if (metadata !== undefined && !isJsonObject(metadata))
      yield wrong("metadata", `metadata is ${showValue(metadata)}.`, "Make it a map of keys to texts.");
    const odd = isJsonObject(metadata)
      ? Object.entries(metadata).find(([, one]) => typeof one !== "string")
      : undefined;
    if (odd)
      yield wrong("metadata", `${quote(odd[0])} of metadata is ${showValue(odd[1])}.`, "Put its value in quotes.");
    const names = Array.isArray(tools) ? tools : [tools ?? ""];
    if (names.some((name) => typeof name !== "string"))
      yield wrong("allowed-tools", "allowed-tools holds what is no text.", "Give names between spaces, or a list.");
  },
};

const unknownKeyRule: SkillRule = {
  id: "skill-unknown-key",
  severity: "warning",
  why: "A key that the format does not know is read by one host at most, or it is a slip of the pen.",
  docs: `${format}#frontmatter`,
  clauses: ["only name, description, license, compatibility, metadata and allowed-tools"],
  *check({ package: { document } }) {
    for (const key of Object.keys(document.frontMatter).filter((one) => !known.includes(one))) {
      const message = `The format of skills does not know the key ${quote(key)}.`;
      yield { at: ["frontMatter", key], message, fix: "Put your own data under metadata, or mend its spelling." };
    }
  },
};

/** What the front matter of a `SKILL.md` must hold. */
export const frontMatterRules: readonly SkillRule[] = [
  nameRule,
  folderRule,
  descriptionRule,
  descriptionLengthRule,
  compatibilityRule,
  keyTypeRule,
  unknownKeyRule,
];

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
        const [first] = findHidden(line.endsWith("\r") ? line.slice(0, -1) : line);
        if (!first || left-- <= 0) continue;
        const what = hiddenRanges.find(({ from, to }) => first.code >= from && first.code <= to)?.what ?? "characters";
        const message = `The text holds hidden characters (${what}): U+${first.code.toString(16).toUpperCase().padStart(4, "0")}.`;
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
