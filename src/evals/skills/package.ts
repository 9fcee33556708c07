import { dirname, join } from "node:path";
import { messageOf, type Problem } from "../errors.ts";
import type { Json, JsonObject } from "../types/json.ts";
import type { SkillDocument, SkillPackage } from "../types/skill.ts";
import { structureOf } from "./body.ts";
import { readConfined } from "./confine.ts";
import { fingerprint } from "./files.ts";
import { type FrontMatter, type Reason, readFrontMatter } from "./frontMatter.ts";

/** The host reads it into a model's context; far below this size it no longer fits there. */
const maxSkillBytes = 1024 * 1024;

/** What the Agent Skills format knows. */
const knownKeys = new Set(["name", "description", "license", "compatibility", "metadata", "allowed-tools"]);

type Found = Pick<SkillPackage, "dir" | "folder" | "file" | "level">;

/** Reads the package in a folder; a reason when no host can load it. */
export function readPackage(found: Found): { skill: SkillPackage; warnings: Problem[] } | Reason {
  const read = readConfined(join(found.dir, "SKILL.md"), found.dir, maxSkillBytes);
  if ("reason" in read) return { reason: `SKILL.md cannot be loaded: ${read.reason}` };
  const parsed = parseSkill(read.text, found);
  if ("reason" in parsed) return parsed;
  try {
    const print = fingerprint(found.dir);
    if ("reason" in print) return print;
    const { warnings, ...parts } = parsed;
    return {
      skill: { ...found, ...parts, hash: print.hash },
      warnings: [...warnings, ...print.strays.map((stray) => strayLink(stray, found.file))],
    };
  } catch (error) {
    return { reason: `its files cannot be read: ${messageOf(error)}` };
  }
}

function strayLink({ path, reason }: { path: string; reason: string }, file: string): Problem {
  return {
    severity: "warning",
    message: `this link ${reason}: it is not followed`,
    hint: "Put the file into the package: a host that copies the package would lose it.",
    place: { file: join(dirname(file), path) },
  };
}

export type ParsedSkill = Pick<SkillPackage, "name" | "description" | "document"> & { warnings: Problem[] };

/**
 * Takes the text of a `SKILL.md` apart. Lenient to load: only what makes a host pass the skill over is a reason, all else
 * is a warning. Takes time linear in the text, and throws for no text.
 */
export function parseSkill(text: string, { folder, file }: Pick<Found, "folder" | "file">): ParsedSkill | Reason {
  const front = readFrontMatter(text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n"));
  if ("reason" in front) return front;
  const { values, places, body, bodyLine } = front;
  const name = textValue(values, "name") ?? folder;
  const description = textValue(values, "description");
  if (typeof name === "object") return { ...name, ...lineAt(front, "name") };
  if (description === undefined) return { reason: "it has no `description`", line: 1 };
  if (typeof description === "object") return { ...description, ...lineAt(front, "description") };
  const document: SkillDocument = { frontMatter: values, places, body, bodyLine, ...structureOf(body, bodyLine) };
  return { name, description, document, warnings: warningsOn(front, folder, file) };
}

/** Undefined when there is no text: hosts treat an empty value as none. */
function textValue(values: JsonObject, key: string): string | Reason | undefined {
  const value = Object.hasOwn(values, key) ? values[key] : undefined;
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value.trim() || undefined;
  return { reason: `its \`${key}\` is ${kindOf(value)}, not text: put it in quotes` };
}

function kindOf(value: Json): string {
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "a map" : `a ${typeof value}`;
}

function lineAt({ places }: FrontMatter, key: string): { line?: number } {
  const place = places[key];
  return place ? { line: place.line } : {};
}

function warningsOn(front: FrontMatter, folder: string, file: string): Problem[] {
  const { values, places, quoted } = front;
  const warning = (key: string, message: string, hint: string): Problem => {
    return { severity: "warning", message, hint, place: { file, ...(places[key] ?? { line: 1 }) } };
  };
  const keys = (list: readonly string[]) => list.map((key) => `\`${key}\``).join(", ");
  const name = textValue(values, "name");
  const extra = Object.keys(values).filter((key) => !knownKeys.has(key));
  return [
    ...quoted.slice(0, 1).map((key) => {
      const message = `the front matter is no valid YAML: ${keys(quoted)} holds ": " outside of quotes`;
      return warning(key, message, "It is read as if it stood in quotes; not every host does that. Put it in quotes.");
    }),
    ...(name === undefined
      ? [warning("name", `it has no \`name\`: the folder's is taken, ${folder}`, `Add \`name: ${folder}\`.`)]
      : []),
    ...(typeof name === "string" && name !== folder
      ? [warning("name", `the name "${name}" differs from its folder "${folder}"`, "Give both the same name.")]
      : []),
    ...extra.slice(0, 1).map((key) => {
      const message = `the front matter has keys that the Agent Skills format does not know: ${keys(extra)}`;
      return warning(key, message, "Only some hosts read them. Put your own data under `metadata`.");
    }),
  ];
}
