import { listingHosts, listSkills, skillListings } from "../../../base/search/skillListing.ts";
import { decodePercent } from "../../../base/secrets/secrets.ts";
import { describeHidden, findHiddenOf, isText, quote, showValue, showValues } from "../../../base/text/text.ts";
import { isJsonObject, type Json, type Path } from "../../../base/types/json.ts";
import { frontMatterKeys, type SkillDocument } from "../../../base/types/skill.ts";
import { listPlainValues, type PlainValue } from "../../../input/parsing/yaml.ts";
import { injectionPatterns, maxSearched, readText } from "../language.ts";
import { defineRules, type Found, type SkillSubject } from "../rule.ts";

const format = "https://agentskills.io/specification";
const maxLength = { name: 64, description: 1024, compatibility: 500 } as const;
/** The maximum number of findings of hidden characters per file. */
const maxLines = 100;

export const skillFormatRules = defineRules<SkillSubject>(format, [
  {
    id: "skill-name",
    severity: "error",
    docs: `${format}#name-field`,
    why: "A host finds a skill by its name, and skips a package with an invalid name.",
    at: ["frontMatter", "name"],
    fix: "Use 1 to 64 lower-case letters and digits, with single hyphens between words.",
    find: ({ package: { document } }) => explainName(document.frontMatter.name),
  },
  {
    id: "skill-name-folder",
    docs: `${format}#name-field`,
    why: "Some hosts use the folder and some the name: where they differ, a skill loads under either.",
    at: ["frontMatter", "name"],
    fix: "Give both the same name.",
    find({ package: { folder, document }, isRepository }) {
      const { name } = document.frontMatter;
      if (typeof name !== "string" || name === folder || isRepository) return undefined;
      return `The name ${quote(name)} differs from that of the folder, ${quote(folder)}.`;
    },
  },
  {
    id: "skill-description-missing",
    severity: "error",
    docs: `${format}#description-field`,
    why: "The description is all that a model sees before it loads a skill; without one it never does.",
    at: ["frontMatter", "description"],
    fix: "Say what the skill does, when to use it, and what it must not be used for.",
    find({ package: { document } }) {
      const { description } = document.frontMatter;
      if (isText(description)) return undefined;
      if (description === undefined) return "The front matter has no description.";
      if (typeof description === "string") return "The description is blank.";
      return `The description is ${showValue(description)}, not a string.`;
    },
  },
  {
    id: "skill-key-length",
    severity: "error",
    docs: format,
    why: "Hosts reject or truncate a description of more than 1,024 characters, and a compatibility of more than 500.",
    fix: "Shorten it, and move details into the body.",
    *check({ package: { document } }) {
      for (const key of ["description", "compatibility"] as const) {
        // A YAML block ends with a line break, which is not part of the text.
        const { length } = [...readText(document.frontMatter[key]).slice(0, 100_000).trim()];
        if (length <= maxLength[key]) continue;
        const message = `The ${key} has ${length} characters; at most ${maxLength[key]} are allowed.`;
        yield { at: ["frontMatter", key], message };
      }
    },
  },
  {
    id: "skill-listing-budget",
    docs: "docs/lint-rules.md",
    why: "A host with a budget for its list of skills drops or cuts descriptions, and a model chooses by what is left.",
    at: ["frontMatter", "description"],
    fix: "Shorten the descriptions of these skills, or install fewer of them together.",
    find({ package: { name, description }, siblings }) {
      const losses = listingHosts.flatMap((host) => {
        const listed = listSkills([...siblings, { name, description }], host).find((skill) => skill.name === name);
        if (!listed || listed.shown === "whole") return [];
        const { version, budget } = skillListings[host];
        const how = listed.shown === "cut" ? `cut to ${listed.description.length} characters` : "without it";
        return [`${host} ${version} (${budget} characters for all) lists the skill ${how}`];
      });
      if (losses.length === 0) return undefined;
      return `The description does not fit beside ${siblings.length} other skills: ${losses.join("; ")}.`;
    },
  },
  {
    id: "skill-key-type",
    docs: `${format}#frontmatter`,
    why: "A host that expects another type in the front matter ignores the key, or skips the whole skill.",
    *check({ package: { document } }) {
      for (const { key, accepts, fix } of keyTypes) {
        const value = document.frontMatter[key];
        if (value === undefined || accepts(value)) continue;
        yield { at: ["frontMatter", key], message: `${key} is ${showValue(value)}.`, fix };
      }
    },
  },
  {
    id: "skill-plain-value",
    docs: "https://yaml.org/spec/1.2.2/#733-plain-style",
    why: "YAML drops or converts parts of text without quotes, and hosts show a model what is left.",
    fix: "Put the whole value in quotes.",
    *check({ package: { document }, files }) {
      const lines = (files.get("SKILL.md") ?? "").split(/\r\n?|\n/);
      // Between the delimiters, the second of which stands before the body.
      const front = /^\ufeff?---[ \t]*$/.test(lines[0] ?? "") ? lines.slice(1, Math.max(1, document.bodyLine - 2)) : [];
      const values = listPlainValues(front.join("\n"));
      if (!Array.isArray(values)) {
        const message = `${quote(front[values.invalidLine] ?? "")} is not valid YAML without quotes, and not every host reads it.`;
        yield { at: ["line", values.invalidLine + 2], message };
        return;
      }
      for (const value of values)
        for (const message of explainChanges(value)) yield { at: ["line", value.line + 2], message };
    },
  },
  {
    id: "skill-unknown-key",
    docs: `${format}#frontmatter`,
    why: "A key that the format does not define is read by one host at most, or it is misspelled.",
    fix: "Correct the spelling, put your own data under metadata, or keep what your host reads.",
    *check({ package: { document } }) {
      for (const key of Object.keys(document.frontMatter).filter((one) => !frontMatterKeys.has(one)))
        yield { at: ["frontMatter", key], message: `The skill format does not define the key ${quote(key)}.` };
    },
  },
  {
    id: "skill-reference-missing",
    severity: "error",
    docs: `${format}#file-references`,
    why: "A model that follows a reference to nothing makes up what the file would have said.",
    fix: "Add the file, or correct the path.",
    check: (subject) => findReferences(subject, { outside: false }),
  },
  {
    id: "skill-reference-outside",
    severity: "info",
    docs: `${format}#file-references`,
    why: "A package that is installed alone does not have the files around it.",
    fix: "Put the file into the package.",
    check: (subject) => findReferences(subject, { outside: true }),
  },
  {
    id: "skill-hidden-unicode",
    severity: "error",
    docs: "https://www.unicode.org/reports/tr36/",
    why: "A model reads characters that no reviewer sees, which is how instructions are smuggled into a skill.",
    ...findHiddenLines("message"),
  },
  {
    id: "skill-stray-unicode",
    docs: "https://www.unicode.org/reports/tr36/",
    why: "Marks without width come with copied text; words and commands that contain one are different ones.",
    ...findHiddenLines("stray"),
  },
  {
    id: "skill-injection-wording",
    docs: "https://owasp.org/www-project-mcp-top-10/",
    why: "Instructions against the user are the mark of skill poisoning; hosts and scanners block them.",
    fix: "Say what to do for the user's task.",
    *check(subject) {
      for (const { path, text } of listModelTexts(subject)) {
        // Replaces single characters, so that indices stay the same.
        const plain = text.replace(/\s/g, " ");
        for (const { pattern, does } of injectionPatterns) {
          const match = pattern.exec(plain);
          if (!match) continue;
          const line = text.slice(0, match.index).split("\n").length - 1;
          yield { at: locateLine(path, line), message: `The text ${does}: ${quote(match[0])}.` };
        }
      }
    },
  },
]);

const isString = (value: Json) => typeof value === "string";

/** Keys of the front matter beside name and description, and what hosts expect of their values. */
const keyTypes: readonly { key: string; accepts(value: Json): boolean; fix: string }[] = [
  { key: "license", accepts: isString, fix: "Name the license, or the file that contains it." },
  { key: "compatibility", accepts: isText, fix: "Say what the skill needs." },
  {
    key: "metadata",
    accepts: (value) => isJsonObject(value) && Object.values(value).every(isString),
    fix: "Make it a map of keys to strings, with values such as 1.0 in quotes.",
  },
  {
    key: "allowed-tools",
    accepts: (value) => [value ?? ""].flat().every(isString),
    fix: "Write names separated by spaces, or a list.",
  },
];

/** What parsers of YAML 1.1, such as PyYAML, read in text that is a string in YAML 1.2. */
const oldReadings = [
  { pattern: /^(?:yes|on)$/i, reading: "true" },
  { pattern: /^(?:no|off)$/i, reading: "false" },
  { pattern: /^\d{4}-\d\d?-\d\d?(?:$|[Tt ]+\d)/, reading: "a date" },
  { pattern: /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.\d*)?$/, reading: "a number in base 60" },
  { pattern: /^[-+]?\d[\d_]*_[\d_]*(?:\.\d*)?$/, reading: "a number" },
];

/**
 * What is lost or changed of a value without quotes. Elsewhere, a comment with a space after its "#" is meant as one.
 */
function* explainChanges({ key, written, value, comment, anchor }: PlainValue): Iterable<string> {
  if (/^#\S/.test(comment) || (key === "description" && comment !== ""))
    yield `YAML reads ${quote(comment)} as a comment, so the value of ${key} ends before it.`;
  if (anchor !== "") yield `YAML reads ${quote(`&${anchor}`)} as an anchor, so the value of ${key} begins after it.`;
  const old = typeof value === "string" ? oldReadings.find(({ pattern }) => pattern.test(written)) : undefined;
  if (old) yield `Some parsers of YAML read ${quote(written)} as ${old.reading}, others as text.`;
  if (typeof value === "number" && String(value) !== written)
    yield `YAML reads ${quote(written)} as the number ${value}.`;
}

function explainName(name: Json | undefined): string | undefined {
  if (name === undefined) return "The front matter has no name.";
  if (typeof name !== "string") return `The name is ${showValue(name)}, not a string.`;
  if (name === "") return "The name is empty.";
  const named = `The name ${quote(name)}`;
  if (name.length > maxLength.name)
    return `${named} has ${name.length} characters; at most ${maxLength.name} are allowed.`;
  const invalid = [...new Set(name.replace(/[a-z0-9-]/g, ""))];
  if (invalid.length > 0) return `${named} has characters that are not allowed: ${showValues(invalid)}.`;
  if (/^-|-$/.test(name)) return `${named} starts or ends with a hyphen.`;
  return name.includes("--") ? `${named} has two hyphens in a row.` : undefined;
}

const fileEndings = /\.(?:md|mdx|txt|json|ya?ml|toml|csv|tsv|xml|html?|css|pdf|py|sh|js|mjs|ts|sql|png|jpe?g|svg)$/i;

/** The specified folders of a package. A path that starts with one is in the package. */
const usualFolders = new Set(["references", "scripts", "assets"]);

const exampleItem = /^\W*(?:examples?|e\.g\.|for example)(?!\w)/i;

/**
 * Whether a reference is to a file of the package. A link is, unless it is a URL or a placeholder. A path that is only
 * mentioned in a list can belong to any project, so it must start with a folder of the package, and must not be the end
 * of the path of a file in another folder.
 */
function isFileReference({ text, target }: SkillReference, paths: ReadonlySet<string>): boolean {
  if (target === "" || /^(?:#|[a-z][a-z0-9+.-]+:|\/\/)/i.test(target) || /[*{}<>$]|\.\.\./.test(target)) return false;
  const named = normalizePath(target);
  const [folder = "", ...inside] = named.split("/");
  // .wiki/index.md is in the project of the user.
  if (/^\.\w/.test(folder) && !paths.has(folder)) return false;
  if (!text.includes(target)) return true;
  if (exampleItem.test(text) || !fileEndings.test(named)) return false;
  if ([...paths].some((path) => path.endsWith(`/${named}`))) return false;
  return inside.length > 0 && (folder === ".." || usualFolders.has(folder) || paths.has(folder));
}

type SkillReference = SkillDocument["references"][number];
/** The references to files that the package does not have: those that lead out of it, or the others. */
function* findReferences(subject: SkillSubject, { outside }: { outside: boolean }): Iterable<Found> {
  const {
    package: { document },
    files,
  } = subject;
  const paths = new Set(files.keys());
  for (const path of files.keys())
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) paths.add(path.slice(0, end));
  for (const one of document.references) {
    const path = isFileReference(one, paths) ? normalizePath(one.target) : undefined;
    if (path === undefined || paths.has(path) || leadsOut.test(path) !== outside) continue;
    const where = outside ? "out of the package" : "to no file of the package";
    yield { at: ["line", one.line], message: `The reference ${quote(one.target)} leads ${where}.` };
  }
}

const leadsOut = /^(?:\.\.(?:\/|$)|\/|~|[A-Za-z]:)/;

/** Converts a target to a path relative to the package, without query and fragment. */
function normalizePath(target: string): string {
  const path = decodePercent(target.replace(/[?#].*$/s, ""));
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (part !== "." && (part !== "" || parts.length === 0)) parts.push(part);
  }
  return parts.join("/");
}

/** The texts of a package that reach a model unchanged: its Markdown files. */
function* listModelTexts({ files }: SkillSubject): Iterable<{ path: string; text: string }> {
  let left = maxSearched;
  for (const [path, text] of files) {
    if (text === undefined || left <= 0 || !/\.mdx?$/i.test(path)) continue;
    yield { path, text: text.slice(0, left) };
    left -= text.length;
  }
}

/** `line` counts from 0. */
function locateLine(path: string, line: number): Path {
  return path === "SKILL.md" ? ["line", line + 1] : ["file", path];
}

/** A check of the lines of the Markdown files for hidden characters of one kind. */
function findHiddenLines(kind: "message" | "stray") {
  return {
    fix: "Remove them, and find out where they came from.",
    *check(subject: SkillSubject): Iterable<Found> {
      for (const { path, text } of listModelTexts(subject)) {
        let left = maxLines;
        const lines = text.replace(/^\ufeff/, "").split("\n");
        for (const [index, line] of lines.entries()) {
          // A zero-width space next to a fence is how Markdown is quoted in Markdown.
          const shown = line.replace(/\r$/, "").replace(/\u200b(?=`{3}|~{3})|(?<=`{3}|~{3})\u200b/g, "");
          const [first] = findHiddenOf(kind, shown);
          if (!first || left-- <= 0) continue;
          const message = `The text has hidden characters: ${describeHidden(first.code)}.`;
          yield { at: locateLine(path, index), message };
        }
      }
    },
  };
}
