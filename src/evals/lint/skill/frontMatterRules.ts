import { isJsonObject, type Json } from "../../types/json.ts";
import type { Found, Rule, SkillSubject } from "../rule.ts";
import { list, quote, show } from "../schema/text.ts";

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
  if (typeof name !== "string") return `The name is ${show(name)}, not a text`;
  if (name === "") return "The name is empty";
  const named = `The name ${quote(name)}`;
  if (name.length > longest.name) return `${named} has ${name.length} characters; at most ${longest.name} are allowed`;
  const strange = [...new Set(name.replace(/[a-z0-9-]/g, ""))];
  if (strange.length > 0) return `${named} has characters that are not allowed: ${list(strange)}`;
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
      description === undefined ? "The front matter has no description." : `The description is ${show(description)}.`;
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
    const message = `The compatibility is ${show(compatibility)}.`;
    yield { at: ["frontMatter", "compatibility"], message, fix: "Say what the skill needs, or leave it out." };
  },
};

function* tooLong(value: Json | undefined, key: "description" | "compatibility"): Iterable<Found> {
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
    const wrong = (key: string, message: string, fix: string): Found => ({ at: ["frontMatter", key], message, fix });
    if (license !== undefined && typeof license !== "string")
      yield wrong("license", `The license is ${show(license)}.`, "Name the license, or the file that holds it.");
    if (metadata !== undefined && !isJsonObject(metadata))
      yield wrong("metadata", `metadata is ${show(metadata)}.`, "Make it a map of keys to texts.");
    const odd = isJsonObject(metadata)
      ? Object.entries(metadata).find(([, one]) => typeof one !== "string")
      : undefined;
    if (odd) yield wrong("metadata", `${quote(odd[0])} of metadata is ${show(odd[1])}.`, "Put its value in quotes.");
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
