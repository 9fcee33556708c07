import { parseWords } from "../collections.ts";
import type { Location } from "./errors.ts";
import type { JsonObject } from "./json.ts";

/** How a catalog is shown: a `Skill` tool and a catalog, or `<available_skills>` and reading `SKILL.md`. */
export type SkillForm = "skill-tool" | "available-skills";

/** The keys that the Agent Skills format defines for the front matter. */
export const frontMatterKeys = parseWords("name description license compatibility metadata allowed-tools");

/** One line of a body, with its number in the file, from 1. */
export type SkillLine = { text: string; line: number };

/** A parsed `SKILL.md`. Every part of the body may be missing: loading is lenient, lint is strict. */
export type SkillDocument = {
  /** All keys of the YAML. */
  frontMatter: JsonObject;
  /** The place of each key of the front matter. */
  locations: Readonly<Record<string, { line: number; column: number }>>;
  /** The markdown after the front matter, and its first line in the file. */
  body: string;
  bodyLine: number;
  title?: SkillLine;
  /** The first paragraph, or the section that says when the skill applies. */
  situation?: SkillLine;
  /** The numbered steps, in order; sub-steps belong to their step. */
  steps: readonly (SkillLine & { number: number })[];
  /** The list items of sections about what must not be done. */
  never: readonly SkillLine[];
  /** Links to files, and the items of a section of references; `target` is a path or a URL as written. */
  references: readonly (SkillLine & { target: string })[];
};

export type SkillPackage = {
  /** The name in the front matter, or that of the folder. */
  name: string;
  folder: string;
  description: string;
  /** The real path of the folder. Nothing outside of it is read. */
  dir: string;
  /** `SKILL.md`, as a message names it. */
  file: string;
  /** Where it was found: in the folders of the user, of the project, of a plugin, or in a folder that was named. */
  level: "user" | "project" | "plugin" | "named";
  document: SkillDocument;
  /** SHA-256 (hex) over the paths and contents of the files that affect its behavior. */
  hash: string;
};

/** A folder to search: one of a host, for a user, a project or a plugin (with its name), or one that was named. */
export type SkillRoot = { dir: string; level: SkillPackage["level"]; plugin?: string };

/** Files of tools and systems in a package. They do not change how a skill behaves, and no host is given them. */
export const leftInPackages: ReadonlySet<string> = new Set([".git", ".DS_Store", "node_modules", "__pycache__"]);

/** The content of a file that belongs to a case. */
export type EvalFile = { path: string; content: string };

/** One query of a package's eval files, whatever their shape. */
export type SkillEval = {
  id?: string;
  input: string;
  /** Whether the skill must load for it; true by default. */
  triggers: boolean;
  /** What it is for when a better wording is searched for. */
  split?: "train" | "held-out";
  /** Sentences for a judge; without any, only loading can be measured. */
  expectedBehavior: readonly string[];
  /** Set for a draft that nobody reviewed: the file lists its id as `unreviewed`. */
  unreviewed?: true;
  files: readonly EvalFile[];
  /** Why it cannot be asked as it is written, as a sentence. */
  unusable?: string;
  location: Location;
};

/** The name of a skill in a toolset, a variants file, `avoid` and every report. */
export function skillEntryName(skill: string): string {
  return `skill:${skill}`;
}

/** A relative path with `/`, without `.` and `..`; undefined if it is absolute or leads out of its start. */
export function toInnerPath(written: string): string | undefined {
  if (/^(?:[/\\]|[A-Za-z]:)/.test(written) || written.includes("\0")) return undefined;
  const parts: string[] = [];
  for (const part of written.split(/[/\\]/)) {
    if (part === ".." && parts.pop() === undefined) return undefined;
    if (part !== ".." && part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/") || ".";
}

const maxNameBytes = 255;

/** Why no file can have this path beside files with the others, as the end of a sentence; undefined when one can. */
export function whyNoFile(path: string, others: Iterable<string>): string | undefined {
  if (path === ".") return "is the folder itself";
  if (path.split("/").some((name) => Buffer.byteLength(name) > maxNameBytes))
    return `has a name of more than ${maxNameBytes} bytes`;
  for (const other of others) {
    if (other.startsWith(`${path}/`)) return `is a folder, because "${other}" is in it`;
    if (path.startsWith(`${other}/`)) return `is in "${other}", which is a file`;
  }
  return undefined;
}
