import type { Place } from "../errors.ts";
import type { JsonObject } from "./json.ts";

/**
 * How a catalogue is shown to a model: a `Skill` tool `{ skill }` with the catalogue in the prompt, or
 * `<available_skills>` in the prompt, where a skill is loaded by reading its `SKILL.md`.
 */
export type SkillForm = "skill-tool" | "available-skills";

/** One line of a body, with its number in the file, from 1. */
export type SkillLine = { text: string; line: number };

/** `SKILL.md` taken apart. Every part of the body may be missing: loading is lenient, lint is strict. */
export type SkillDocument = {
  /** As the YAML has it, all keys. */
  frontMatter: JsonObject;
  /** Where each key of the front matter stands, and where its value does. */
  places: Readonly<Record<string, { line: number; column: number }>>;
  /** The markdown after the front matter, and the line of the file that it starts at. */
  body: string;
  bodyLine: number;
  title?: SkillLine;
  /** The first paragraph, or the section that says when the skill applies. */
  situation?: SkillLine;
  /** The numbered steps, in order; sub-steps belong to their step. */
  steps: readonly (SkillLine & { number: number })[];
  /** What must not be done: the list items of a section headed so. */
  never: readonly SkillLine[];
  /** Links to files, and the items of a section of references; `target` is a path or a URL as written. */
  references: readonly (SkillLine & { target: string })[];
};

/** A skill package that a host can load. */
export type SkillPackage = {
  /** By the front matter, else the folder. */
  name: string;
  folder: string;
  description: string;
  /** The real path of the folder: nothing outside of it is read. */
  dir: string;
  /** `SKILL.md`, as a message names it. */
  file: string;
  /** Where it was found: for all projects of a user, for one project, or in a folder that was named. */
  level: "user" | "project" | "named";
  document: SkillDocument;
  /** SHA-256 (hex) over the paths and contents of its files: what decides its behaviour. */
  hash: string;
};

/** What tests, tools and systems leave in a package. It does not decide how a skill behaves, and no host is given it. */
export const leftInPackages: ReadonlySet<string> = new Set([".git", ".DS_Store", "node_modules", "__pycache__"]);

/** A file that a case brings along, read already. */
export type EvalFile = { path: string; content: string };

/** One query of a package's eval files, in the one form that every known shape is read into. */
export type SkillEval = {
  id?: string;
  input: string;
  /** Whether the skill must load for it; true unless the file says otherwise. */
  triggers: boolean;
  /** Sentences for a judge; none: only the trigger can be measured. */
  expectedBehavior: readonly string[];
  files: readonly EvalFile[];
  place: Place;
};

/** The name of a skill in a toolset, a variants file, `avoid` and every report. */
export function skillEntryName(skill: string): string {
  return `skill:${skill}`;
}
